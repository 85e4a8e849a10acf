package awpcmd

import (
	"cmp"
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

// followAbsence is how long following goes on without a daemon. Somebody stopped it; the
// moment is for the calls of its sockets that are being refused while it closes.
const followAbsence = time.Second

// follower prints events as they come, over restarts of awp-store.
type follower struct {
	a *app
	t tailing
	p *render.Printer // nil: a JSON line each

	begun    func() error // called once nothing can be missed, then nil
	after    int64        // the last event that was printed, or what the stream began beyond
	unmarked []awp.Event  // printed, to be marked
}

// follow prints events as they come, until it is interrupted, nobody reads any more or
// the daemon is stopped. p renders them; nil prints a JSON line each. begun, when not
// nil, is called once nothing can be missed.
func (a *app) follow(ctx context.Context, t tailing, p *render.Printer, begun func() error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	conn, err := a.store(ctx)
	if err != nil {
		return err
	}
	outlivePipe()
	f := &follower{a: a, t: t, p: p, begun: begun}
	for {
		err = f.stream(ctx, conn)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !ipc.Lost(err) {
			return err
		}
		conn.Close()
		conn, err = a.reattach(ctx, followAbsence)
		switch {
		case ctx.Err() != nil:
			return nil
		case awp.CodeOf(err) == awp.Unreachable:
			return &awp.Error{Code: awp.Unreachable, Message: "the daemon was stopped", Hint: "awp up starts it; then run this again: what comes meanwhile stays unread", Cause: err}
		case err != nil:
			return err
		}
	}
}

// stream follows on one connection, from where the last one ended.
func (f *follower) stream(ctx context.Context, conn *ipc.Conn) error {
	marks := conn
	if f.t.mark { // on a connection of its own: what reads a stream must not wait for an answer on it
		var err error
		if marks, err = f.a.attach(ctx); err != nil {
			return err
		}
		defer marks.Close()
		if err := f.mark(ctx, marks); err != nil {
			return err
		}
	}
	params := ipc.SubscribeParams{Who: f.t.who, Thread: f.t.thread, All: f.t.all, After: f.after}
	_, err := ipc.Subscribe.Call(ctx, conn, params, func(e awp.Event) error {
		if e.Type == "" {
			return f.begin(e)
		}
		if err := f.print(e); err != nil {
			return err
		}
		f.after = e.Seq
		if !f.t.mark {
			return nil
		}
		f.unmarked = append(f.unmarked, e)
		return f.mark(ctx, marks)
	})
	return err
}

// begin takes note of where the stream begins: it may end before its first event.
func (f *follower) begin(e awp.Event) error {
	f.after = cmp.Or(e.Seq, ipc.FromStart)
	if f.begun == nil {
		return nil
	}
	begun := f.begun
	f.begun = nil
	return begun()
}

func (f *follower) print(e awp.Event) error {
	if f.p == nil || f.a.json {
		return f.a.printLine(e)
	}
	return f.a.write(f.p.Append(nil, e))
}

// mark marks what was printed as read. What an ended connection leaves is marked later.
func (f *follower) mark(ctx context.Context, conn *ipc.Conn) error {
	err := mark(f.unmarked, func(p ipc.MarkParams) error {
		_, err := ipc.Mark.Call(ctx, conn, p)
		return err
	})
	if err != nil {
		return err
	}
	f.unmarked = nil
	return nil
}
