package wirecmd

import (
	"context"
	"errors"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// carry drives the link until it is down.
func (c *connection) carry() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var armed time.Time
	for {
		c.open()
		c.judge()
		c.handOver()
		at := c.machine.WakeAt()
		if c.machine.State() == link.Down {
			return
		}
		if !at.Equal(armed) {
			armed = at
			timer.Reset(time.Until(at))
		}
		full := c.in.full
		if c.batch != nil {
			full = nil // held: the window must open first
		}
		select {
		case c.batch = <-full:
		case <-c.box.wake:
		case <-timer.C:
			armed = time.Time{}
			c.step(link.Heard{At: c.in.lastRead()})
			c.step(link.Tick{})
		case <-c.ctx.Done():
			c.reason = c.abortReason()
			return
		}
	}
}

// judge steps the machine through the batch as far as the window goes.
func (c *connection) judge() {
	for c.batch != nil {
		b := c.batch
		switch {
		case b.next < len(b.lines):
			l := b.lines[b.next]
			took, ok := c.room(l)
			if !ok {
				if !c.held {
					c.held = true
					c.step(link.Held{})
				}
				c.box.want()
				return
			}
			if c.held {
				c.held = false
				c.step(link.Freed{})
			}
			b.next++
			if c.out.trace != nil {
				c.trace("in", l.raw)
			}
			before := c.window.bytes
			c.step(link.Line{Envelope: l.env, Raw: l.raw})
			if c.window.bytes == before {
				c.booked.give(took) // the machine did not forward it
			}
		case b.bad != nil:
			bad := b.bad
			b.bad = nil
			c.step(link.BadLine{Code: bad.Code, Detail: bad.Detail})
		case b.ended != "":
			c.step(link.Ended{Reason: b.ended})
			c.recycle()
		default:
			c.recycle()
		}
	}
}

// room reports whether l may be judged now: it needs window if it will be handed over.
// What it takes of the shared budget is given back when awp-store took the line.
func (c *connection) room(l line) (took int, ok bool) {
	if link.Own(l.env.T) && l.env.T != wire.TypeResume || c.machine.Discards() {
		return 0, true
	}
	n := len(l.raw)
	return n, c.window.fits(n) && c.booked.take(n, c.box)
}

// recycle hands the batch back to the reader. What is to be handed over refers to it.
func (c *connection) recycle() {
	c.handOver()
	b := c.batch
	c.batch = nil
	b.reset()
	c.in.free <- b // never full: it holds as many as there are
}

// handOver sends what was gathered to awp-store.
func (c *connection) handOver() {
	if len(c.forward) == 0 {
		return
	}
	failpoint.Hit("wire/after-read")
	ipc.LinkIn.Send(c.s.conn, ipc.InParams{Link: c.number, Written: c.written.take()}, c.forward...) //nolint:errcheck // the session's end is heard of elsewhere
	clear(c.forward)
	c.forward = c.forward[:0]
}

// open looks at the mailbox.
func (c *connection) open() {
	events, took := c.box.take()
	c.window.lines -= took.Lines
	c.window.bytes -= took.Bytes
	for _, ev := range events {
		c.step(ev)
	}
}

// step feeds the machine and does what it asks.
func (c *connection) step(ev link.Event) {
	var fx []link.Effect
	c.machine, fx = c.machine.Step(time.Now(), ev)
	for _, f := range fx {
		c.do(ev, f)
	}
	if c.machine.State() == link.Draining {
		c.draining.Store(true)
	}
}

func (c *connection) do(ev link.Event, f link.Effect) {
	switch f := f.(type) {
	case link.Forward:
		raw := ev.(link.Line).Raw
		c.forward = append(c.forward, raw)
		c.window.lines++
		c.window.bytes += len(raw)
	case link.Resume:
		c.handOver()
		var lines [][]byte
		if f.Raw != nil {
			lines = [][]byte{f.Raw}
			c.window.lines++
			c.window.bytes += len(f.Raw)
		}
		ipc.LinkResume.Send(c.s.conn, ipc.LinkRef{Link: c.number}, lines...) //nolint:errcheck // see handOver
	case link.Established:
		if c.settled.CompareAndSwap(false, true) {
			close(c.up)
			c.s.established(c)
		}
	case link.Ping:
		id := c.control(wire.Ping{Envelope: wire.Envelope{T: wire.TypePing}})
		c.step(link.PingSent{ID: id})
	case link.Pong:
		c.control(wire.Pong{Envelope: wire.Envelope{T: wire.TypePong, Re: f.Re}})
	case link.RTT:
		ipc.LinkRTT.Send(c.s.conn, ipc.RTTParams{Link: c.number, RTT: max(1, f.Took.Milliseconds())}) //nolint:errcheck // see handOver
	case link.Park:
		c.park(f.Reason)
	case link.Last:
		c.handOver()
		c.finish(f)
	case link.Close:
		c.reason, c.denied = f.Reason, f.Denied
	}
}

// finish writes the last line.
func (c *connection) finish(f link.Last) {
	var raw []byte
	if f.Line != nil {
		var err error
		if raw, err = wire.Encode(stamp(f.Line, c.s.d.ids.Next())); err != nil {
			c.s.d.log.Error("cannot encode a line of our own", "err", err)
		}
	}
	c.out.finish(raw, f.HalfClose)
}

// park lets awp-store note the peer's bye. The note is waited for elsewhere, so that the
// link's clock goes on.
func (c *connection) park(reason string) {
	c.s.dialer.post(c.who, link.Unwanted{})
	c.tasks.Go(func() {
		_, err := ipc.LinkBye.Call(c.ctx, c.s.conn, ipc.LinkByeParams{Peer: c.who, Reason: reason, FromPeer: true})
		if err != nil && c.ctx.Err() == nil {
			c.s.d.log.Warn("awp-store did not note a bye", "link", c.number, "err", err)
		}
		c.box.post(link.Parked{})
	})
}

// errTimedOut ends connections whose caller stopped waiting.
var errTimedOut = &awp.Error{Code: awp.Unreachable, Message: "timed out"}

// abortReason says why somebody else ended the connection.
func (c *connection) abortReason() string {
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errTimedOut):
		return errTimedOut.Message
	case errors.Is(cause, errNoRoom):
		return errNoRoom.Message
	}
	return ""
}
