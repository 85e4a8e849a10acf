package store

import "github.com/awp-suite/awp"

// A link may end while its admission waits for the committer. The registry knows whose it
// would be, so that its end is put behind the admission, in the same lane (turns.go).

// ask notes that the admission of a link is under way, and returns the era.
func (g *registry) ask(id uint64, peer awp.Key) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asking[id] = peer
	return g.era
}

// asked notes that it is over: the link was added, or never will be.
func (g *registry) asked(id uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asking, id)
}

// ended forgets a link and returns it, or whose it would be if its admission is under way.
func (g *registry) ended(id uint64) (l *link, asking awp.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l = g.forget(id); l == nil {
		asking = g.asking[id]
	}
	return l, asking
}
