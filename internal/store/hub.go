package store

import (
	"slices"
	"sync"

	"github.com/awp-suite/awp"
)

// hub tells those who wait that there is something to look at. It carries no data: what
// they find, they find in the database. A hint that comes twice costs a look.
type hub struct {
	mu      sync.Mutex
	grew    chan struct{} // closed, and replaced, when the log grew
	onAcks  map[ackKey][]chan struct{}
	arrived map[ackKey]bool // acks that came and whose commit is still to be
}

// ackKey names a line of ours that a peer acknowledges.
type ackKey struct {
	peer awp.Key
	id   awp.MessageID
}

func (h *hub) init() {
	h.grew = make(chan struct{})
	h.onAcks = make(map[ackKey][]chan struct{})
	h.arrived = make(map[ackKey]bool)
}

// next returns a channel that is closed when the log grows after this call.
func (h *hub) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.grew
}

func (h *hub) changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.grew)
	h.grew = make(chan struct{})
}

// onAck returns a channel that is closed when the line is acknowledged, and a function
// that gives the channel up.
func (h *hub) onAck(k ackKey) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan struct{})
	if h.arrived[k] {
		close(ch)
		return ch, func() {}
	}
	h.onAcks[k] = append(h.onAcks[k], ch)
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.onAcks[k] = slices.DeleteFunc(h.onAcks[k], func(other chan struct{}) bool { return other == ch })
		if len(h.onAcks[k]) == 0 {
			delete(h.onAcks, k)
		}
	}
}

// arrive tells of an ack that has come. It is as true before our own commit as after it:
// the peer has the line on its disk.
func (h *hub) arrive(k ackKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived[k] = true
	h.wake(k)
}

// settle forgets an ack that arrived: the database tells of it from now on, or its commit
// failed and it will come again.
func (h *hub) settle(k ackKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.arrived, k)
}

// acked tells of lines that left the outbox.
func (h *hub) acked(keys []ackKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range keys {
		h.wake(k)
	}
}

func (h *hub) wake(k ackKey) {
	for _, ch := range h.onAcks[k] {
		close(ch)
	}
	delete(h.onAcks, k)
}
