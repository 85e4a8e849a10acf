package wirecmd

import (
	"context"
	"time"

	"github.com/awp-suite/awp/internal/handshake"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// greet drives the handshake and leaves c.machine as what follows it: a link, what is
// left of a connection that was told an err, or nothing. It reports whether there is a
// link.
func (c *connection) greet() bool {
	now := time.Now()
	hello, err := c.hello(now)
	if err != nil {
		c.reason = err.Error()
		return false
	}
	m := handshake.New(now, handshake.Config{Own: c.s.hello.Key, Hello: hello, Expect: c.expect})
	ctx, cancel := context.WithDeadline(c.ctx, m.Deadline())
	defer cancel()
	c.out.pushControl(hello)
	for {
		events := []handshake.Event{c.nextGreeting(ctx)}
		for len(events) > 0 {
			var fx []handshake.Effect
			m, fx = m.Step(time.Now(), events[0])
			events = events[1:]
			for _, f := range fx {
				if ev := c.doGreeting(ctx, f); ev != nil {
					events = append(events, ev)
				}
			}
		}
		switch m.State() {
		case handshake.Done:
			c.machine = link.New(time.Now(), c.s.d.cfg.Settings.PingInterval)
			return true
		case handshake.Failed:
			return false
		}
	}
}

// hello writes our hello line.
func (c *connection) hello(now time.Time) ([]byte, error) {
	h := c.s.hello
	return wire.Encode(wire.Hello{
		Envelope: wire.Envelope{T: wire.TypeHello, ID: c.s.d.ids.Next(), TS: wire.Stamp(now)},
		V:        wire.Version,
		Key:      h.Key.String(),
		Name:     h.Name,
		Nonce:    wire.NewNonce(nil),
		Caps:     h.Caps,
		About:    h.About,
		Addr:     c.s.d.advertised(),
	})
}

// nextGreeting waits for a line, or for what ends the wait.
func (c *connection) nextGreeting(ctx context.Context) handshake.Event {
	for {
		if c.batch == nil {
			select {
			case c.batch = <-c.in.full:
			case <-ctx.Done():
				if c.ctx.Err() == nil {
					return handshake.Tick{} // the deadline passed
				}
				return handshake.Lost{Reason: c.abortReason()}
			}
		}
		b := c.batch
		switch {
		case b.next < len(b.lines):
			l := b.lines[b.next]
			b.next++
			if c.out.trace != nil {
				c.trace("in", l.raw)
			}
			return handshake.Line{Raw: l.raw}
		case b.bad != nil:
			bad := b.bad
			b.bad = nil
			return handshake.BadLine{Code: bad.Code, Detail: bad.Detail}
		case b.ended != "":
			return handshake.Lost{Reason: b.ended}
		}
		c.recycle()
	}
}

// doGreeting does what the machine asks, and returns what came of it.
func (c *connection) doGreeting(ctx context.Context, f handshake.Effect) handshake.Event {
	switch f := f.(type) {
	case handshake.Send:
		c.control(f.Line)
	case handshake.Sign:
		r, err := c.s.sign(ctx, f.Ours, f.Theirs)
		if err != nil {
			return handshake.Lost{Reason: "awp-store did not sign: " + err.Error()}
		}
		return handshake.Signed{Sig: r.Sig, Grants: r.Grants}
	case handshake.Admit:
		return c.s.admit(ctx, c, f.Peer)
	case handshake.Fail:
		c.reason, c.denied = f.Reason, f.Denied
		if f.Flush {
			c.machine = link.NewBroken(time.Now(), f.Reason)
			c.out.finish(nil, true)
		}
	}
	return nil
}

// sign has awp-store sign an auth transcript. However short ctx is, the hello lines count
// as asked until the answer is there: what waits in the connection to a stalled awp-store
// is bounded, whatever becomes of those who asked.
func (s *session) sign(ctx context.Context, ours, theirs []byte) (ipc.SignResult, error) {
	if err := s.asking(ctx); err != nil {
		return ipc.SignResult{}, err
	}
	defer s.answered()
	return ipc.IdentitySign.Call(s.ctx, s.conn, ipc.None{}, ours, theirs)
}

// asking waits until a hello line may be handed to awp-store. answered must follow.
func (s *session) asking(ctx context.Context) error {
	select {
	case s.asks <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) answered() { <-s.asks }
