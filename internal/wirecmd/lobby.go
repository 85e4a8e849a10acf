package wirecmd

import (
	"slices"
	"sync"

	"github.com/awp-suite/awp"
)

// lobby is where strangers wait: connections whose peer did not prove a key yet. When it
// is full, whoever has been in it longest goes. A handshake takes moments, so that is
// somebody who says nothing, and silent callers cannot keep others out.
type lobby struct {
	mu      sync.Mutex
	waiting []*connection // longest first
}

var errCrowded = &awp.Error{Code: awp.Busy, Message: "too many handshakes at a time"}

// enter lets c in, and returns who has to go for that; nil: nobody.
func (l *lobby) enter(c *connection) (out *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == maxHandshakes {
		out = l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
	}
	l.waiting = append(l.waiting, c)
	return out
}

// leave lets c out, if it is in.
func (l *lobby) leave(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, c); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}
