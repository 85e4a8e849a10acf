package awpcmd

import (
	"context"
	"errors"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

// shown is what read and wait print as JSON.
type shown struct {
	Events   []awp.Event `json:"events"`
	Cursor   int64       `json:"cursor"`
	TimedOut bool        `json:"timed_out,omitzero"`
	Matched  bool        `json:"matched,omitzero"`
	Thread   *awp.Thread `json:"thread,omitzero"`
}

// newShown returns what to print of events, those in marked being read once they are.
func newShown(events, marked []awp.Event, r ipc.ReadResult) shown {
	if th := r.Thread; th != nil {
		for _, e := range marked {
			if e.Unread && e.Dir == awp.In && e.Peer == th.Peer && e.Th == th.Th { // notices count apart
				th.Unread = max(0, th.Unread-1)
			}
		}
	}
	return shown{Events: events, Cursor: r.Cursor, TimedOut: r.TimedOut, Matched: r.Matched, Thread: r.Thread}
}

// gather makes a call that streams events, and returns them all.
func gather[P any](ctx context.Context, c *ipc.Conn, m ipc.Stream[P, awp.Event, ipc.ReadResult], params P) ([]awp.Event, ipc.ReadResult, error) {
	events := []awp.Event{}
	result, err := m.Call(ctx, c, params, func(e awp.Event) error {
		events = append(events, e)
		return nil
	})
	return events, result, err
}

// read gathers events of the log, over a restart of awp-store if there is one: nothing is
// shown before all of them are there.
func (a *app) read(ctx context.Context, params ipc.ReadParams) (events []awp.Event, result ipc.ReadResult, err error) {
	home, err := a.homeDir()
	if err != nil {
		return nil, result, err
	}
	err = a.daemon.Retry(ctx, home, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) (err error) {
		events, result, err = gather(ctx, c, ipc.Read, params)
		return err
	})
	return events, result, err
}

// printer renders events for people. Without a banner the thread is known.
func printer(banner bool) *render.Printer {
	return &render.Printer{Zone: time.Local, Banner: banner}
}

// appendEvents renders events one after the other.
func appendEvents(b []byte, p *render.Printer, events []awp.Event) []byte {
	for _, e := range events {
		b = p.Append(b, e)
	}
	return b
}

// showAndMark runs show and then marks the events as read: in this order, so that what
// could not be shown stays unread. A reader that left early, such as head, had the whole
// of it in its hands.
func (a *app) showAndMark(ctx context.Context, events []awp.Event, show func() error) error {
	outlivePipe()
	if err := show(); err != nil && !errors.Is(err, errGone) {
		return err
	}
	return mark(events, func(p ipc.MarkParams) error { // to mark twice is to mark once
		_, err := repeat(ctx, a, ipc.Mark, p)
		return err
	})
}

// mark marks those of the events that are unread.
func mark(events []awp.Event, call func(ipc.MarkParams) error) error {
	var seqs []int64
	for _, e := range events {
		if e.Unread {
			seqs = append(seqs, e.Seq)
		}
	}
	for len(seqs) > 0 {
		n := min(len(seqs), ipc.MaxMark)
		if err := call(ipc.MarkParams{Seqs: seqs[:n]}); err != nil {
			return err
		}
		seqs = seqs[n:]
	}
	return nil
}
