package store

import (
	"context"
	"sync"
	"testing"
)

// A link that ends while its admission is under way, or whose wire does, must not come up
// afterwards: nobody would ever take it down.
func TestLinkThatEndsBeforeItsAdmission(t *testing.T) {
	for name, end := range map[string]func(h *host, id uint64){
		"link down": func(h *host, id uint64) { h.store.Down(id, "gone") },
		"wire gone": func(h *host, _ uint64) { h.store.DropWire() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Settings{})
			p := h.stranger("ann")
			h.store.Down(p.link, "test")
			id := h.links + 1
			barrier := func() { h.store.w.pass(context.Background(), false) } //nolint:errcheck // it cannot fail
			barrier()
			hold := make(chan struct{})
			release := sync.OnceFunc(func() { close(hold) })
			defer release() // a failing test must not hang
			held := make(chan struct{})
			go h.store.w.do(context.Background(), func(*tx) error { close(held); <-hold; return nil }) //nolint:errcheck // it holds the committer
			<-held
			done := make(chan bool)
			go func() { p.admit("ann"); close(done) }()
			h.until("the admission under way", func() bool {
				h.store.w.mu.Lock()
				defer h.store.w.mu.Unlock()
				return h.store.w.turns.n > 0
			})
			end(h, id)
			release()
			<-done
			barrier()
			if h.store.links.connected(p.id.Key) {
				t.Error("the link is up")
			}
		})
	}
}
