package wirecmd

import "github.com/awp-suite/awp"

// errNoRoom ends the link of a stranger that another peer gets the place of.
var errNoRoom = &awp.Error{Code: awp.Busy, Message: "too many links; it had been idle longest"}

// room takes c among the links. When there are maxLinks, the stranger that has been silent
// longest has to go: links that the home has no use for must not shut the door on a peer
// that it knows. It reports false when all are of known peers. Whose link goes is not yet
// gone, so that for a moment there are more.
func (s *session) room(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links)-s.leaving >= maxLinks {
		out := s.idlest()
		if out == nil {
			return false
		}
		out.evicted = true
		s.leaving++
		out.cancel(errNoRoom)
	}
	s.links[c.number] = c
	return true
}

// idlest returns the stranger's link on which nothing came for longest. s.mu is held.
func (s *session) idlest() (out *connection) {
	for _, c := range s.links {
		if c.peer == nil || c.evicted || c.known.Load() {
			continue // being admitted, on its way out, or known
		}
		if out == nil || c.in.lastRead().Before(out.in.lastRead()) {
			out = c
		}
	}
	return out
}
