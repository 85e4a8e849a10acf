package wirecmd

import (
	"math"
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

// shortLine is what a link that has nothing handed over may always add, in bytes: who has
// much to say must not keep others silent until there is room. A thousand links add half
// of the budget at most.
const shortLine = 16 << 10

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

// overdraw takes n bytes whether they are there or not.
func (b *budget) overdraw(n int) {
	b.mu.Lock()
	b.free -= n
	b.mu.Unlock()
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

// booking is a connection's part of the budget.
type booking struct {
	of *budget

	mu    sync.Mutex
	bytes int
}

// take is take of the budget, and always takes a short line that is the only one.
func (b *booking) take(n int, who *mailbox) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes == 0 && n <= shortLine {
		b.of.overdraw(n)
	} else if !b.of.take(n, who) {
		return false
	}
	b.bytes += n
	return true
}

// give gives n bytes back, or what there is.
func (b *booking) give(n int) {
	b.mu.Lock()
	n = min(n, b.bytes)
	b.bytes -= n
	b.mu.Unlock()
	b.of.give(n)
}

// giveAll gives back all.
func (b *booking) giveAll() { b.give(math.MaxInt) }

// credit is window to return. It is kept back, as package ipc allows, until something goes
// the same way.
type credit struct {
	mu sync.Mutex
	n  ipc.Credit
}

// add adds to it, and returns all if it must not be kept back any longer.
func (c *credit) add(lines, bytes int) (due ipc.Credit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n.Lines += lines
	c.n.Bytes += bytes
	if c.n.Lines < ipc.HeldLines && c.n.Bytes < ipc.HeldBytes {
		return due
	}
	due, c.n = c.n, due
	return due
}

// take returns all.
func (c *credit) take() (all ipc.Credit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.n = c.n, all
	return all
}
