package wirecmd

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// dialer drives the dialling loops of all peers. It decides nothing.
type dialer struct {
	s     *session
	slots chan struct{} // one a running attempt
	wake  chan struct{} // a wait may have changed

	mu    sync.Mutex
	loops map[awp.Key]*loop
}

type loop struct {
	rules  link.Loop
	cancel context.CancelFunc // of the running attempt
}

func newDialer(s *session) *dialer {
	return &dialer{s: s, slots: make(chan struct{}, maxDials), wake: make(chan struct{}, 1), loops: make(map[awp.Key]*loop)}
}

// post tells a peer's loop what happened. It does not wait.
func (d *dialer) post(peer awp.Key, ev link.LoopEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.loops[peer]
	if l == nil {
		l = &loop{rules: link.NewLoop(rand.Float64)}
		d.loops[peer] = l
	}
	d.step(peer, l, ev)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// hurry tells every loop that the network came back.
func (d *dialer) hurry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for peer, l := range d.loops {
		d.step(peer, l, link.Hurry{})
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// step runs with d.mu held; what it does takes no time.
func (d *dialer) step(peer awp.Key, l *loop, ev link.LoopEvent) {
	var fx []link.LoopEffect
	l.rules, fx = l.rules.Step(time.Now(), ev)
	for _, f := range fx {
		switch f := f.(type) {
		case link.Dial:
			ctx, cancel := context.WithCancel(d.s.ctx)
			l.cancel = cancel
			d.s.spawn(func() {
				defer cancel()
				d.attempt(ctx, peer, f.Target.Addr)
			})
		case link.Stop:
			l.cancel()
		case link.Report:
			ipc.LinkDial.Send(d.s.conn, ipc.DialParams{Peer: peer, Dialing: f.Dialing}) //nolint:errcheck // see handOver
		}
	}
	if l.rules.Forgettable() {
		delete(d.loops, peer)
	}
}

// run wakes the loops whose waits are over.
func (d *dialer) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if next := d.wakeDue(); !next.IsZero() {
			timer.Reset(time.Until(next))
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-d.wake:
		case <-d.s.ctx.Done():
			return
		}
	}
}

// wakeDue wakes who is due, and returns when the next one will be; zero: nobody waits.
func (d *dialer) wakeDue() (next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for peer, l := range d.loops {
		if at := l.rules.WakeAt(); !at.IsZero() && !now.Before(at) {
			d.step(peer, l, link.Woke{})
		}
		if at := l.rules.WakeAt(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// attempt tries one address for a loop, and says what came of it.
func (d *dialer) attempt(ctx context.Context, peer awp.Key, addr string) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		d.post(peer, link.Tried{})
		return
	}
	select {
	case <-d.s.ready:
	case <-ctx.Done():
		d.post(peer, link.Tried{})
		return
	}
	_, err := d.s.reach(ctx, addr, peer)
	if ctx.Err() == nil {
		d.report(peer, addr, err)
	}
	d.post(peer, link.Tried{OK: err == nil})
}

// report tells awp-store of an attempt.
func (d *dialer) report(peer awp.Key, addr string, err error) {
	p := ipc.DialParams{Peer: peer, Addr: addr, Dialing: d.running(peer) && err != nil}
	if err != nil {
		p.Error = err.Error()
	}
	ipc.LinkDial.Send(d.s.conn, p) //nolint:errcheck // see handOver
}

// running reports whether a peer's loop is about to have it dialed.
func (d *dialer) running(peer awp.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.loops[peer]
	return l != nil && l.rules.State() != link.Idle && l.rules.State() != link.Linked
}

// reach dials addr and waits until the peer there accepted us. expect, unless zero, is
// who must answer; a link that this peer gets meanwhile is as good. It gives up with ctx,
// and after each step's own time.
func (s *session) reach(ctx context.Context, addr string, expect awp.Key) (*connection, error) {
	a, err := wire.ParseAddr(addr)
	if err != nil {
		return nil, &awp.Error{Code: awp.Invalid, Message: "not an address", Hint: "addresses are tc…, tcp:HOST:PORT or unix:/path", Cause: err}
	}
	dialCtx, cancel := context.WithTimeout(ctx, wire.DialTimeout)
	defer cancel()
	nc, err := s.d.dial(dialCtx, a)
	if err != nil {
		return nil, err
	}
	// The peer may have reached us while we dialed. Before a word is said, dropping this
	// connection is free.
	if c := s.standing(ctx, expect); c != nil {
		nc.Close()
		return c, nil
	}
	c := newConnection(s, nc, a.String())
	c.outbound, c.expect = true, expect
	if !s.spawn(c.run) {
		nc.Close()
		return nil, errLostStore
	}
	select {
	case <-c.up:
		return c, nil
	case <-c.done:
		if other := s.instead(ctx, c); other != nil {
			return other, nil
		}
		return nil, c.failure()
	case <-ctx.Done():
		if !c.settled.CompareAndSwap(false, true) {
			return c, nil // it was accepted just now, and a live link stays
		}
		c.cancel(errTimedOut) // the session waits for its end, we need not
		return nil, errTimedOut
	}
}

// tieBreakGrace is how long the connection that a tie-break chose may still take to be
// admitted on this side, after the other side closed the one that we dialed.
const tieBreakGrace = 2 * time.Second

// instead returns the link that the peer of a failed connection has all the same, because
// both sides dialed at once.
func (s *session) instead(ctx context.Context, c *connection) *connection {
	who := c.who
	if who.IsZero() || c.denied {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tieBreakGrace)
	defer cancel()
	for {
		s.mu.Lock()
		admitted := s.admitted
		s.mu.Unlock()
		if other := s.standing(ctx, who); other != nil {
			return other
		}
		select {
		case <-admitted:
		case <-ctx.Done():
			return nil
		}
	}
}

var errLostStore = &awp.Error{Code: awp.Unreachable, Message: "awp-store went away", Hint: "try again"}

// failure words the end of a connection for whoever dialed.
func (c *connection) failure() error {
	code := awp.Unreachable
	if c.denied {
		code = awp.Denied
	}
	return &awp.Error{Code: code, Message: c.reason}
}
