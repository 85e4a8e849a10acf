package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// A peer that has thousands of lines waiting delays another's one line, and this home's own
// call, by less than two batches; its own lines stay in order.
func TestTurns(t *testing.T) {
	for name, flooders := range map[string]int{"one peer floods": 1, "many peers flood": 40} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Settings{})
			w := h.store.w
			hold, held := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(hold) })
			defer release()                                                                    // a failing test must not hang
			go w.do(context.Background(), func(*tx) error { close(held); <-hold; return nil }) //nolint:errcheck // it holds the committer
			<-held
			var order []int // by flooder; -1: the quiet peer, -2: the home
			per := make([][]int, flooders)
			took := func(who, n int) op {
				return op{whose: testKey(who), size: 300, apply: func(*tx) error {
					if order = append(order, who); who >= 0 {
						per[who] = append(per[who], n)
					}
					return nil
				}}
			}
			const lines = 4000
			for n := range lines {
				who := n % flooders
				w.submit(took(who, n))
			}
			quiet, own := took(-1, 0), took(-2, 0)
			own.whose = awp.Key{}
			w.submit(quiet)
			w.submit(own)
			release()
			if err := w.pass(context.Background(), false); err != nil {
				t.Fatal(err)
			}
			if len(order) != lines+2 {
				t.Fatalf("%d of %d changes were made", len(order), lines+2)
			}
			for what, who := range map[string]int{"the quiet peer": -1, "the home's own call": -2} {
				if at := slices.Index(order, who); at >= 2*batchOps {
					t.Errorf("%s waited for %d changes of others", what, at)
				}
			}
			for who, ns := range per {
				if !slices.IsSorted(ns) {
					t.Errorf("the lines of flooder %d lost their order", who)
				}
			}
		})
	}
}

// Long lines count by their bytes: who sends chunks has fewer of them in a round.
func TestTurnsCountBytes(t *testing.T) {
	var ts turns
	for range 20 {
		ts.add(op{whose: testKey(1), size: 300 << 10})
	}
	for range 20 {
		ts.add(op{whose: testKey(2), size: 300})
	}
	small := 0
	for _, o := range ts.cut() {
		if o.whose == testKey(2) {
			small++
		}
	}
	if small != 20 {
		t.Errorf("%d of 20 short lines went with the first batch", small)
	}
	for ts.n > 0 {
		if len(ts.cut()) == 0 {
			t.Fatal("an empty batch with changes waiting")
		}
	}
	if len(ts.peers) != 0 || ts.first != nil || ts.last != nil {
		t.Error("empty lanes stayed")
	}
}

func testKey(n int) (k awp.Key) {
	k[0], k[1], k[31] = byte(n), byte(n>>8), 1
	return k
}

// An admission says what was seen, so it must not overtake lines that the same peer's older
// link brought.
func TestAdmissionWaitsForThePeersOwnLines(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	hold, held := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	go h.store.w.do(context.Background(), func(*tx) error { close(held); <-hold; return nil }) //nolint:errcheck // it holds the committer
	<-held
	var last awp.MessageID
	var lines [][]byte
	for range 200 {
		line := p.text("t", rand.Text())
		env, err := wire.ParseEnvelope(line)
		if err != nil {
			t.Fatal(err)
		}
		last = env.ID
		lines = append(lines, line)
	}
	h.store.In(p.link, lines)
	h.store.Down(p.link, "replaced")
	done := make(chan Admitted)
	go func() { done <- p.admit("ann") }()
	h.until("the admission under way", func() bool {
		h.store.links.mu.Lock()
		defer h.store.links.mu.Unlock()
		return len(h.store.links.asking) > 0
	})
	release()
	if got := (<-done).Seen["t"]; got != last {
		t.Errorf("admitted with seen %q, want %q", got, last)
	}
}

// Thousands of tiny files cost a batch a few syncs, and leave room for others in the next.
func TestTinyFiles(t *testing.T) {
	h := newHost(t, Settings{})
	p, q := h.stranger("ann"), h.stranger("bob")
	var mu sync.Mutex
	dirs := 0
	done := make(chan int, 1)
	hold, held := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	go h.store.w.do(context.Background(), func(*tx) error { close(held); <-hold; return nil }) //nolint:errcheck // it holds the committer
	<-held
	h.store.files.onSync = func(string) { mu.Lock(); dirs++; mu.Unlock() } // the committer waits
	const files = 200
	for i := range files {
		ref := fmt.Sprintf("b%d", i)
		h.store.In(p.link, [][]byte{p.msg("t", wire.Part{K: wire.PartBlob, Ref: ref, Name: "x", Size: 1}), p.chunk("t", ref, 0, true, "x")})
	}
	h.store.In(q.link, [][]byte{q.text("t", "hello")})
	h.store.w.submit(op{whose: q.id.Key, apply: func(*tx) error { return nil }, done: func(error) {
		mu.Lock()
		done <- dirs
		mu.Unlock()
	}})
	release()
	if n := <-done; n > 2*batchFiles {
		t.Errorf("%d directories were synced before the quiet peer's turn", n)
	}
	if err := h.store.w.pass(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if dirs > files*3/2 { // each file has one of its own
		t.Errorf("%d directories were synced for %d files", dirs, files)
	}
	blobs, err := h.store.Blobs(context.Background(), "")
	if err != nil || len(blobs) != files {
		t.Fatalf("%d files, %v", len(blobs), err)
	}
	for _, b := range blobs {
		if b.Status != awp.BlobComplete {
			t.Errorf("file %s is %s", b.Ref, b.Status)
		}
	}
}

// A batch touches few files, whoever sends them; a change that touches more goes alone.
func TestBatchBoundsFiles(t *testing.T) {
	var ts turns
	for i := range 200 {
		ts.add(op{whose: testKey(1 + i%3), files: 1})
	}
	ts.add(op{whose: testKey(9), files: 10 * batchFiles})
	for ts.n > 0 {
		files, most := 0, batchFiles
		ops := ts.cut()
		for _, o := range ops {
			if files += o.files; len(ops) == 1 {
				most = o.files
			}
		}
		if files > most {
			t.Errorf("a batch touches %d files, bound %d", files, most)
		}
	}
}

// The end of a link waits behind its admission, however many batches that takes.
func TestEndWaitsForTheAdmission(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	h.store.Down(p.link, "test")
	hold, held := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	go h.store.w.do(context.Background(), func(*tx) error { close(held); <-hold; return nil }) //nolint:errcheck // it holds the committer
	<-held
	for range 10 {
		h.store.w.submit(op{whose: p.id.Key, size: batchBytes, apply: func(*tx) error { return nil }})
	}
	waiting := func() int {
		h.store.w.mu.Lock()
		defer h.store.w.mu.Unlock()
		return h.store.w.turns.n
	}
	before := waiting()
	done := make(chan bool)
	go func() { p.admit("ann"); close(done) }()
	h.until("the admission queued", func() bool { return waiting() > before })
	h.store.Down(h.links, "gone")
	release()
	<-done
	if err := h.store.w.pass(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	if h.store.links.connected(p.id.Key) {
		t.Error("the link is up")
	}
}
