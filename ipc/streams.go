package ipc

import (
	"sync"
	"time"
)

// maxHeld bounds the bytes of stream items that wait for their readers, on all connections
// of a server together: one waits on maxStreamed, but hundreds may be stuck at a time.
const maxHeld = 64 << 20

// streams counts what a server's streams hold. When it is too much, the connection that
// took nothing for longest ends with ErrSlow: whoever reads it again finds all it missed
// in the log. It may be called with a connection's lock held, and takes none itself.
type streams struct {
	mu    sync.Mutex
	total int
	held  map[*Conn]*holding
}

type holding struct {
	bytes int
	moved time.Time // when it last had less than before, or began
}

// set says how much c holds now, and returns whose connection has to end; nil: nobody's.
func (s *streams) set(c *Conn, bytes int, now time.Time) (stuck *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[c]
	switch {
	case bytes == 0:
		if h != nil {
			s.drop(c, h)
		}
		return nil
	case h == nil:
		h = &holding{moved: now}
		if s.held == nil {
			s.held = make(map[*Conn]*holding)
		}
		s.held[c] = h
	case bytes < h.bytes:
		h.moved = now
	}
	s.total += bytes - h.bytes
	h.bytes = bytes
	if s.total <= maxHeld {
		return nil
	}
	for other, o := range s.held {
		if stuck == nil || o.moved.Before(s.held[stuck].moved) {
			stuck = other
		}
	}
	s.drop(stuck, s.held[stuck])
	return stuck
}

func (s *streams) drop(c *Conn, h *holding) {
	s.total -= h.bytes
	delete(s.held, c)
}

// account tells the server's streams what c holds. c.mu is held.
func (c *Conn) account() {
	if c.streams == nil || !c.streaming {
		return
	}
	bytes := 0
	if !c.closing {
		bytes = len(c.pending) + c.writing + c.waiting
	}
	switch stuck := c.streams.set(c, bytes, time.Now()); stuck {
	case nil:
	case c:
		c.fail(ErrSlow)
	default:
		go stuck.Fail(ErrSlow) // its lock is not ours to wait for
	}
}
