package wirecmd

import (
	"sync"

	"github.com/awp-suite/awp/internal/link"
)

// mailbox is how other goroutines tell a connection's own what happened. Nobody who posts
// waits. It is bounded because each of its senders is: the writer reports its end once,
// a bye waits for its answer, and returned window and written lines are only counted.
type mailbox struct {
	wake chan struct{} // holds one token while there is something to see

	mu           sync.Mutex
	events       []link.Event
	lines, bytes int        // of window returned
	wrote        link.Wrote // since it was looked at
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post leaves an event.
func (b *mailbox) post(ev link.Event) {
	b.mu.Lock()
	b.events = append(b.events, ev)
	b.mu.Unlock()
	b.nudge()
}

// took leaves returned window.
func (b *mailbox) took(lines, bytes int) {
	b.mu.Lock()
	b.lines += lines
	b.bytes += bytes
	b.mu.Unlock()
	b.nudge()
}

// written leaves what was written of the outbox.
func (b *mailbox) written(lines, bytes int) {
	b.mu.Lock()
	b.wrote.Lines += lines
	b.wrote.Bytes += bytes
	b.mu.Unlock()
	b.nudge()
}

// nudge makes the owner look.
func (b *mailbox) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (b *mailbox) take() (events []link.Event, lines, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, lines, bytes = b.events, b.lines, b.bytes
	if b.wrote.Lines > 0 {
		events = append([]link.Event{b.wrote}, events...)
	}
	b.events, b.lines, b.bytes, b.wrote = nil, 0, 0, link.Wrote{}
	return events, lines, bytes
}
