package wirecmd

import (
	"sync"

	"github.com/awp-suite/awp/ipc"
)

// window counts what of one link was handed to awp-store and is not judged yet. Its
// connection's goroutine owns it.
type window struct{ lines, bytes int }

// fits reports whether a line of n bytes may follow. One line always fits.
func (w window) fits(n int) bool {
	return w.lines == 0 || w.lines < ipc.WindowLines && w.bytes+n <= ipc.WindowBytes
}

// budgetBytes bounds what all links together may have handed over and not yet judged: a
// stalled awp-store must not make a thousand windows wait in memory. It is well under
// what ipc takes for a connection that is not read.
const budgetBytes = 32 << 20

// budget is shared by the links of a session.
type budget struct {
	mu      sync.Mutex
	free    int
	waiting []*mailbox // told when there is room again
}

// take takes n bytes, or notes who waits for them. A line always fits the whole budget.
func (b *budget) take(n int, who *mailbox) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free < n {
		b.waiting = append(b.waiting, who)
		return false
	}
	b.free -= n
	return true
}

// give returns n bytes and wakes whoever waits.
func (b *budget) give(n int) {
	b.mu.Lock()
	b.free += n
	woken := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	for _, box := range woken {
		box.nudge()
	}
}
