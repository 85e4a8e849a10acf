package wirecmd

import (
	"context"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// connect serves [ipc.Connect].
func (d *daemon) connect(ctx context.Context, p ipc.ConnectParams) (ipc.ConnectResult, error) {
	timeout := wire.ConnectTimeout
	if p.Timeout > 0 {
		timeout = time.Duration(p.Timeout) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := d.current(ctx)
	if err != nil {
		return ipc.ConnectResult{}, err
	}
	if p.Addr != "" {
		return s.connectAddr(ctx, p.Addr)
	}
	if p.Peer.IsZero() {
		return ipc.ConnectResult{}, &awp.Error{Code: awp.Invalid, Message: "neither an address nor a peer to connect to"}
	}
	return s.connectPeer(ctx, p.Peer)
}

// connectAddr dials an address that a person named. Whoever answers there is meant: the
// address may have changed hands, and the result says whose it is.
func (s *session) connectAddr(ctx context.Context, addr string) (ipc.ConnectResult, error) {
	a, err := wire.ParseAddr(addr)
	if err != nil {
		return ipc.ConnectResult{}, &awp.Error{Code: awp.Invalid, Message: "not an address", Hint: "addresses are tc…, tcp:HOST:PORT or unix:/path", Cause: err}
	}
	known, err := ipc.LinkPeer.Call(ctx, s.conn, ipc.LinkPeerParams{Addr: a.String()})
	if err != nil && awp.CodeOf(err) != awp.NotFound {
		return ipc.ConnectResult{}, err
	}
	if c := s.standing(ctx, known.Peer); c != nil {
		return ipc.ConnectResult{Peer: c.who, Via: c.via, Already: true}, nil
	}
	c, err := s.reach(ctx, a.String(), awp.Key{})
	if err != nil {
		if !known.Peer.IsZero() {
			s.dialer.report(known.Peer, a.String(), err)
		}
		return ipc.ConnectResult{}, err
	}
	s.dialer.report(c.who, a.String(), nil)
	return ipc.ConnectResult{Peer: c.who, Via: c.via}, nil
}

// connectPeer tries the addresses that awp-store knows of a peer.
func (s *session) connectPeer(ctx context.Context, key awp.Key) (ipc.ConnectResult, error) {
	known, err := ipc.LinkPeer.Call(ctx, s.conn, ipc.LinkPeerParams{Peer: key})
	if err != nil {
		return ipc.ConnectResult{}, err
	}
	if c := s.standing(ctx, key); c != nil {
		return ipc.ConnectResult{Peer: key, Via: c.via, Already: true}, nil
	}
	err = &awp.Error{Code: awp.Invalid, Message: "no address of this peer is known", Hint: "connect to its address: awp connect ADDRESS"}
	for _, at := range known.Addrs {
		var c *connection
		c, err = s.reach(ctx, at.Addr, key)
		s.dialer.report(key, at.Addr, err)
		if err == nil {
			return ipc.ConnectResult{Peer: key, Via: c.via}, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return ipc.ConnectResult{}, err
}

// standing returns the link of a peer, if there is one that the peer accepted.
func (s *session) standing(ctx context.Context, key awp.Key) *connection {
	c := s.linked(key)
	if c == nil {
		return nil
	}
	select {
	case <-c.up:
		return c
	case <-c.done:
	case <-ctx.Done():
	}
	return nil
}

// bye serves [ipc.Bye]. The peer is parked on disk before it is told anything.
func (d *daemon) bye(ctx context.Context, p ipc.ByeParams) (ipc.None, error) {
	ctx, cancel := context.WithTimeout(ctx, wire.ConnectTimeout)
	defer cancel()
	s, err := d.current(ctx)
	if err != nil {
		return ipc.None{}, err
	}
	c := s.linked(p.Peer)
	s.dialer.post(p.Peer, link.Unwanted{})
	if _, err := ipc.LinkBye.Call(ctx, s.conn, ipc.LinkByeParams{Peer: p.Peer, Reason: p.Reason}); err != nil {
		return ipc.None{}, err
	}
	if c == nil {
		return ipc.None{}, &awp.Error{Code: awp.Unreachable, Message: "not connected; it will not be dialed until there is something new for it"}
	}
	c.box.post(link.AskBye{Reason: p.Reason})
	select {
	case <-c.done:
		return ipc.None{}, nil
	case <-ctx.Done():
		return ipc.None{}, ctx.Err()
	}
}
