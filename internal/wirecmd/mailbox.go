package wirecmd

import (
	"sync"
	"time"

	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
)

// mailbox is how other goroutines tell a connection's own what happened. Nobody who posts
// waits. It is bounded because each of its senders is: the writer reports its end once,
// a bye waits for its answer, and returned window and written lines are only counted.
//
// The owner looks before all it does. It is woken for what cannot wait: not for window that
// it does not need, and for a few written lines only after a while.
type mailbox struct {
	wake chan struct{} // holds one token while the owner should look
	late *time.Timer   // makes it look after lateTime

	mu      sync.Mutex
	events  []link.Event
	took    ipc.Credit // window returned
	wanting bool       // the owner waits for that
	wrote   link.Wrote // since it was looked at
}

// Written lines are told at once if they are so many, else after a while: all that depends
// on it is how soon silence is tested, which takes seconds.
const (
	lateTime  = 100 * time.Millisecond
	lateLines = 64
	lateBytes = 64 << 10
)

func newMailbox() *mailbox {
	b := &mailbox{wake: make(chan struct{}, 1)}
	b.late = time.AfterFunc(lateTime, b.nudge)
	b.late.Stop()
	return b
}

// post leaves an event.
func (b *mailbox) post(ev link.Event) {
	b.mu.Lock()
	b.events = append(b.events, ev)
	b.mu.Unlock()
	b.nudge()
}

// credit leaves returned window.
func (b *mailbox) credit(c ipc.Credit) {
	b.mu.Lock()
	b.took.Lines += c.Lines
	b.took.Bytes += c.Bytes
	wanting := b.wanting
	b.wanting = false
	b.mu.Unlock()
	if wanting {
		b.nudge()
	}
}

// want has the owner woken when window returns, if none did since it looked.
func (b *mailbox) want() {
	b.mu.Lock()
	b.wanting = b.took.Lines == 0
	some := !b.wanting
	b.mu.Unlock()
	if some {
		b.nudge()
	}
}

// written leaves what was written of the outbox.
func (b *mailbox) written(lines, bytes int) {
	b.mu.Lock()
	if b.wrote.Lines == 0 {
		b.wrote.At = time.Now()
		b.late.Reset(lateTime)
	}
	b.wrote.Lines += lines
	b.wrote.Bytes += bytes
	many := b.wrote.Lines >= lateLines || b.wrote.Bytes >= lateBytes
	b.mu.Unlock()
	if many {
		b.nudge()
	}
}

// nudge makes the owner look.
func (b *mailbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (b *mailbox) take() (events []link.Event, took ipc.Credit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, took = b.events, b.took
	if b.wrote.Lines > 0 {
		events = append([]link.Event{b.wrote}, events...)
		b.late.Stop()
	}
	b.events, b.took, b.wrote = nil, ipc.Credit{}, link.Wrote{}
	return events, took
}
