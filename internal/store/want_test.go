package store

import (
	"context"
	"testing"
	"time"

	"github.com/awp-suite/awp/wire"
)

// asked has the store look again, and returns what it asks of awp-wire: a want, or none.
func (h *host) asked() (w Want, wanted bool) {
	h.t.Helper()
	h.store.w.pass(context.Background(), false) //nolint:errcheck // what is under way is over then
	h.mu.Lock()
	h.wants = nil
	unwants := h.unwants
	h.mu.Unlock()
	h.store.WantAll()
	h.until("a word to awp-wire", func() bool { return len(h.wants) > 0 || h.unwants > unwants })
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.wants) == 0 {
		return w, false
	}
	return h.wants[len(h.wants)-1], true
}

// A link is kept up for a day after the last message, whatever became of the thread; but
// not to a peer that said bye.
func TestWarmLinks(t *testing.T) {
	now := newClock(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC))
	h := newHost(t, Settings{Now: now.time})
	p := h.stranger("ann")
	p.send(p.text("thr_1", "hello"), p.encode(wire.State{Envelope: p.env(wire.TypeState, "thr_1"), State: "closed"}))
	h.store.Down(p.link, "test")

	if w, wanted := h.asked(); !wanted || w.Waiting || w.New {
		t.Errorf("an hour ago: %+v, %v", w, wanted)
	}
	now.step(keepWarm + time.Minute)
	if w, wanted := h.asked(); wanted {
		t.Errorf("a day ago, and closed: %+v", w)
	}
	p.connect("ann")
	p.send(p.text("thr_1", "again"))
	h.store.Down(p.link, "test")
	if _, wanted := h.asked(); !wanted {
		t.Error("not wanted after a new message")
	}
	parked := make(chan error, 1)
	h.store.Bye(p.id.Key, "done", true, func(err error) { parked <- err })
	if err := <-parked; err != nil {
		t.Fatal(err)
	}
	if w, wanted := h.asked(); wanted {
		t.Errorf("parked: %+v", w)
	}
}

// A peer whose link went with awp-wire may not know that its end is dead: it is dialed at
// once, once.
func TestLinksLostWithTheWire(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.text("thr_1", "hello"))
	h.store.DropWire()
	if _, err := h.store.Claim(h); err != nil {
		t.Fatal(err)
	}
	h.store.WantAll()
	h.until("a want that does not wait", func() bool { return len(h.wants) > 0 && h.wants[0].New })
	if w, wanted := h.asked(); !wanted || w.New {
		t.Errorf("then: %+v, %v", w, wanted)
	}
}
