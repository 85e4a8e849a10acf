package store

import (
	"sync"

	"github.com/awp-suite/awp"
)

// whose remembers which peer a thread is with, for replies that do not say: to ask the
// database is a good part of what a send costs. Only threads with one peer are in it.
type whose struct {
	mu    sync.Mutex
	peers map[awp.ThreadID]awp.Key
	era   int // counts changes: what was read before one must not be kept after it
}

// maxWhose bounds it; past that it starts anew.
const maxWhose = 10000

// get returns the peer, if it is known, and the era to hand to put.
func (w *whose) get(th awp.ThreadID) (key awp.Key, known bool, era int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, known = w.peers[th]
	return key, known, w.era
}

// put keeps what was read in an era.
func (w *whose) put(th awp.ThreadID, key awp.Key, era int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if era != w.era {
		return
	}
	if w.peers == nil || len(w.peers) >= maxWhose {
		w.peers = make(map[awp.ThreadID]awp.Key)
	}
	w.peers[th] = key
}

// changed forgets a thread: one of that id has appeared.
func (w *whose) changed(th awp.ThreadID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.peers, th)
	w.era++
}
