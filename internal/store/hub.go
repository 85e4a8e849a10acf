package store

import "sync"

// hub tells those who wait that there is something to look at. It carries no data: what
// they find, they find in the database. A hint that comes twice costs a look.
type hub struct {
	mu     sync.Mutex
	grew   chan struct{}             // closed, and replaced, when the log grew
	onAcks map[int64][]chan struct{} // by sequence number of a line in the outbox
}

func (h *hub) init() {
	h.grew = make(chan struct{})
	h.onAcks = make(map[int64][]chan struct{})
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
func (h *hub) onAck(seq int64) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan struct{})
	h.onAcks[seq] = append(h.onAcks[seq], ch)
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		rest := h.onAcks[seq][:0]
		for _, other := range h.onAcks[seq] {
			if other != ch {
				rest = append(rest, other)
			}
		}
		if h.onAcks[seq] = rest; len(rest) == 0 {
			delete(h.onAcks, seq)
		}
	}
}

func (h *hub) acked(seqs []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.onAcks) == 0 {
		return
	}
	for _, seq := range seqs {
		for _, ch := range h.onAcks[seq] {
			close(ch)
		}
		delete(h.onAcks, seq)
	}
}
