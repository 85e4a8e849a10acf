package suite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

// The named points. Each program is killed at each of them, on both sides, while both
// sides send; most is how often the point is passed before, at most.
var points = []struct {
	name string
	most int
}{
	{"wire/after-read", 30},   // the wire has lines of the peer, the store does not
	{"wire/before-write", 30}, // the store pushed lines, nothing is written
	{"wire/after-write", 30},  // written, the store does not know
	{"wire/admitted", 1},      // the store admitted a link, the wire does not know
	{"store/before-commit", 30},
	{"store/committed", 30},    // durable, nobody knows: neither peer nor caller
	{"store/before-reply", 10}, // the caller of send does not know
	{"store/staged", 3},        // a file to send is copied, its message not queued
	{"store/chunk-written", 8}, // a part of a file is written, not synced
	{"store/promoted", 3},      // a whole file has its final name, not committed
}

func TestKillAtPoints(t *testing.T) {
	for _, p := range points {
		t.Run(strings.ReplaceAll(p.name, "/", " "), func(t *testing.T) {
			t.Parallel()
			rng := newRand(t)
			a, b := newPair(t, nil)
			k := startTalk(t, rng, a, b, 2)
			for range rounds(4) {
				for i, h := range []*home{a, b} {
					h.arm(p.name, 1+rng.IntN(p.most))
					if p.name == "wire/admitted" { // it takes a new link
						[]*home{b, a}[i].kill("awp-wire")
					}
					eventually(t, 60*time.Second, h.fired)
				}
			}
			k.finish(settleWithin)
			k.exact()
		})
	}
}

// A store that dies around the commit of a message is asked again, with the same token:
// awp send succeeds, and there is one message.
func TestSendSurvivesTheStore(t *testing.T) {
	for _, point := range []string{"store/staged", "store/before-commit", "store/committed", "store/before-reply"} {
		t.Run(strings.TrimPrefix(point, "store/"), func(t *testing.T) {
			t.Parallel()
			a, b := newPair(t, nil)
			join(t, a, b)
			for range rounds(3) {
				a.arm(point, 1)
				sent := get[awp.Sent](a, "send", "bob", "once", "--file", filepath.Join(a.dir, "config.json"), "--wait-ack", "30s")
				check(t, a.fired())
				if !sent.Acked {
					t.Errorf("not acknowledged: %+v", sent)
				}
			}
			a.ok("down")
			b.ok("down")
			for _, r := range []record{a.read(), b.read()} {
				n := 0
				for _, e := range r.events {
					if e.Type == "msg" {
						n++
					}
				}
				if n != rounds(3) {
					t.Errorf("%s has %d messages, %d were sent", r.h.name, n, rounds(3))
				}
				if len(r.blobs) != n {
					t.Errorf("%s has %d files, %d were sent", r.h.name, len(r.blobs), n)
				}
				r.sound(t)
			}
		})
	}
}

// A state that is reported twice with one token is reported once.
func TestStateSurvivesTheStore(t *testing.T) {
	t.Parallel()
	a := newHome(t, "alice", nil)
	key := newHome(t, "bob", nil).key()
	sent := get[awp.Sent](a, "send", "--to", key.String(), "hello")
	for range rounds(3) {
		a.arm("store/before-reply", 1)
		a.ok("state", string(sent.Th), "working")
		check(t, a.fired())
	}
	st, err := call(a, ipc.Status, ipc.None{})
	check(t, err)
	if st.Outbox != 1+rounds(3) {
		t.Errorf("%d lines in the outbox, want %d", st.Outbox, 1+rounds(3))
	}
}
