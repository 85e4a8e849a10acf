package store

import "github.com/awp-suite/awp"

// hears reports whether notify would push a line to a peer.
func (g *registry) hears(key awp.Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.peers[key]
	return l != nil && l.resumed
}

// notify pushes a line that is not worth a place in the outbox to a peer, if it is
// connected and has resumed.
func (g *registry) notify(key awp.Key, line []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.peers[key]; l != nil && l.resumed {
		g.out(l, Push{Lines: [][]byte{line}, Control: true})
	}
}
