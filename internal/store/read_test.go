package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

func (h *host) wait(f Filter, limit time.Duration, states ...string) (Result, []string) {
	h.t.Helper()
	var list []string
	res, err := h.store.Wait(context.Background(), f, states, limit, func(e awp.Event) error {
		list = append(list, describe(e))
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return res, list
}

func (h *host) markAll() {
	h.t.Helper()
	var seqs []int64
	if _, err := h.store.ReadUnread(context.Background(), Filter{}, 1000, func(e awp.Event) error { seqs = append(seqs, e.Seq); return nil }); err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.Mark(context.Background(), append(seqs, seqs...)); err != nil { // twice does no harm
		h.t.Fatal(err)
	}
}

// A notice does not end a wait, is handed over with what does, and with a timeout.
func TestNoticesDoNotEndAWait(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	said := make(chan error, 1)
	h.store.Bye(p.id.Key, "done", true, func(err error) { said <- err })
	if err := <-said; err != nil {
		t.Fatal(err)
	}
	res, list := h.wait(Filter{}, time.Millisecond)
	if !res.TimedOut {
		t.Error("a notice ended the wait")
	}
	equal(t, list, []string{"(bye)"})
	st, err := h.store.Status(context.Background())
	if err != nil || st.Unread != 0 || st.Notices != 1 {
		t.Errorf("unread %d, notices %d, %v", st.Unread, st.Notices, err)
	}
	p.send(p.text("t1", "hello"))
	res, list = h.wait(Filter{}, time.Minute)
	if res.TimedOut {
		t.Error("timed out over an unread message")
	}
	equal(t, list, []string{"(bye)", "hello"})
	h.markAll()
	if st, _ := h.store.Status(context.Background()); st.Unread != 0 || st.Notices != 0 {
		t.Errorf("after reading: unread %d, notices %d", st.Unread, st.Notices)
	}
}

func TestWaitForAState(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("t1", "question"))
	res, list := h.wait(Filter{Thread: "t1"}, time.Minute, "done")
	if res.Matched || res.TimedOut || res.Thread.TheirState != "open" {
		t.Errorf("%+v", res)
	}
	equal(t, list, []string{"question"})
	h.markAll()
	done := make(chan Result)
	go func() {
		res, _ := h.wait(Filter{Thread: "t1"}, time.Minute, "done", "failed")
		done <- res
	}()
	p.send(p.text("t2", "other thread"))
	p.send(p.encode(wire.State{Envelope: p.env(wire.TypeState, "t1"), State: "failed", Note: "no disk"}))
	if res := <-done; !res.Matched || res.Thread.TheirNote != "no disk" {
		t.Errorf("%+v", res)
	}
	h.markAll()
	if res, _ := h.wait(Filter{Thread: "t1"}, time.Minute, "failed"); !res.Matched { // it is there already
		t.Errorf("%+v", res)
	}
	if _, err := h.store.Wait(context.Background(), Filter{}, []string{"done"}, 0, nil); awp.CodeOf(err) != awp.Invalid {
		t.Errorf("a state without a thread: %v", err)
	}
}

func TestWaitEndsWithItsCaller(t *testing.T) {
	h := newHost(t, Settings{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.store.Wait(ctx, Filter{}, nil, time.Hour, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFollow(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("t1", "before"))
	stop := errors.New("stop")
	for _, all := range []bool{false, true} {
		begun, got := make(chan bool, 1), make(chan []string, 1)
		go func() {
			var list []string
			err := h.store.Follow(context.Background(), Filter{}, all, 0, func(e awp.Event) error {
				if e.Type == "" {
					begun <- true
					return nil
				}
				if list = append(list, describe(e)); list[len(list)-1] == "last" {
					return stop
				}
				return nil
			})
			if !errors.Is(err, stop) {
				t.Error(err)
			}
			got <- list
		}()
		<-begun
		p.send(p.text("t1", "one"))
		if _, err := h.store.Send(context.Background(), Message{Token: token(), Thread: "t1", Parts: []Part{{Kind: wire.PartText, Text: "ours"}}}); err != nil {
			t.Fatal(err)
		}
		p.send(p.text("t1", "last"))
		want := []string{"one", "last"}
		if all {
			want = []string{"one", "ours", "last"}
		}
		equal(t, <-got, want)
	}
}

// Who follows on from the last event it had gets each of them once, whether it comes back
// to the same store or to the next one.
func TestFollowOn(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	// next returns the number that following after an event begins beyond, and the first
	// of what comes then.
	next := func(after int64) (begun int64, e awp.Event) {
		t.Helper()
		stop := errors.New("stop")
		err := h.store.Follow(context.Background(), Filter{}, false, after, func(got awp.Event) error {
			if got.Type == "" {
				begun = got.Seq
				return nil
			}
			e = got
			return stop
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		return begun, e
	}
	p.send(p.text("t1", "one"))
	p.send(p.text("t1", "two"))
	_, one := next(-1)
	begun, two := next(one.Seq)
	if describe(one) != "one" || describe(two) != "two" || begun != one.Seq {
		t.Errorf("from the start %q, then %q beyond %d, want beyond %d", describe(one), describe(two), begun, one.Seq)
	}
	// A number that this log never gave out, as after a backup was put back: from now on.
	got := make(chan awp.Event)
	begins := make(chan int64, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go h.store.Follow(ctx, Filter{}, false, 1<<40, func(e awp.Event) error { //nolint:errcheck // it ends with the test
		if e.Type == "" {
			begins <- e.Seq
			return nil
		}
		select {
		case got <- e:
		case <-ctx.Done():
		}
		return nil
	})
	if begun := <-begins; begun != two.Seq {
		t.Errorf("begins beyond %d, want the end, %d", begun, two.Seq)
	}
	p.send(p.text("t1", "three"))
	if e := <-got; describe(e) != "three" {
		t.Errorf("got %q, want three", describe(e))
	}
}

func TestReadTheLatest(t *testing.T) {
	h := newHost(t, Settings{})
	ann, bob := h.stranger("ann"), h.stranger("bob")
	for _, text := range []string{"1", "2", "3"} {
		ann.send(ann.text("t1", text))
		bob.send(bob.text("t2", "b"+text))
	}
	read := func(f Filter, last int) (list []string) {
		if _, err := h.store.Read(context.Background(), f, last, func(e awp.Event) error {
			if e.Dir != awp.Sys {
				list = append(list, describe(e))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	equal(t, read(Filter{Thread: "t1"}, 2), []string{"2", "3"})
	equal(t, read(Filter{Who: "bob"}, 50), []string{"b1", "b2", "b3"})
	equal(t, read(Filter{}, 3), []string{"b2", "3", "b3"})
	if _, err := h.store.Read(context.Background(), Filter{Thread: "t3"}, 1, nil); awp.CodeOf(err) != awp.NotFound {
		t.Errorf("unknown thread: %v", err)
	}
	if _, err := h.store.Read(context.Background(), Filter{Who: "bob", Thread: "t1"}, 1, nil); awp.CodeOf(err) != awp.NotFound {
		t.Errorf("a thread of another peer: %v", err)
	}
}

func TestNamingPeers(t *testing.T) {
	h := newHost(t, Settings{})
	ann, bob, other := h.stranger("ann"), h.stranger("bob"), h.stranger("bob")
	find := func(who string) (awp.Key, awp.Code) {
		key, err := h.store.Find(who)
		return key, awp.CodeOf(err)
	}
	body := ann.id.Key.String()[len(awp.KeyPrefix):]
	for who, want := range map[string]awp.Key{
		"ann": ann.id.Key, ann.id.Key.String(): ann.id.Key, body[:6]: ann.id.Key, awp.KeyPrefix + body[:6]: ann.id.Key,
	} {
		if key, code := find(who); key != want {
			t.Errorf("Find(%q): %s", who, code)
		}
	}
	for who, want := range map[string]awp.Code{"bob": awp.Ambiguous, "": awp.NotFound, "nobody": awp.NotFound, body[:3]: awp.NotFound} {
		if _, code := find(who); code != want {
			t.Errorf("Find(%q): %q, want %q", who, code, want)
		}
	}
	if _, err := h.store.SetAlias(context.Background(), bob.id.Key.String(), "bob"); err != nil {
		t.Fatal(err)
	}
	if key, code := find("bob"); key != bob.id.Key { // an alias goes before a name
		t.Errorf("alias: %s", code)
	}
	if _, err := h.store.SetAlias(context.Background(), other.id.Key.String(), "bob"); awp.CodeOf(err) != awp.Ambiguous {
		t.Errorf("an alias twice: %v", err)
	}
	// Nobody is found under another's key by calling himself so.
	h.stranger(body[:10])
	h.stranger(body[:6])
	if key, code := find(body[:10]); key != ann.id.Key {
		t.Errorf("a short key that is also a name: %s", code)
	}
	if _, code := find(body[:6]); code != awp.Ambiguous {
		t.Errorf("a prefix that is also a name: %q", code)
	}
	// The same thread id with two peers is two threads.
	ann.send(ann.text("t1", "a"))
	other.send(other.text("t1", "b"))
	if _, err := h.store.Addressee("", "t1"); awp.CodeOf(err) != awp.Ambiguous {
		t.Errorf("a thread with two peers: %v", err)
	}
	if key, err := h.store.Addressee("ann", "t1"); key != ann.id.Key {
		t.Errorf("named: %v", err)
	}
}
