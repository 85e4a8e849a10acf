package tailcat

import (
	"context"
	"errors"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
	"github.com/tailscale/tailcat"
)

// The self-probe: a client of our own that knocks at our own address, through the relay
// and back, which is what a peer's first packet does. Nothing in version 0.6.0 tells
// whether the server's relay connection is there, and a server that started proves
// nothing: a peer that dials too early waits a second for its lost packet.
const (
	probeFor   = 10 * time.Second       // before we say that the relay does not answer
	knockFirst = 100 * time.Millisecond // for an answer; doubles
	knockMax   = time.Second
	recheck    = 5 * time.Minute // without any sign of trouble
)

// watch reports whether the relay carries us, until ctx ends. The server itself keeps
// dialing its relay, every few seconds: only what we say of it is at stake here.
func (n *Node) watch(ctx context.Context, addr string, report func(string, error)) {
	reached := ""
	wait := wire.ListenRetryMin
	for {
		err := n.probe(ctx, addr)
		if ctx.Err() != nil {
			return
		}
		next := recheck
		if err == nil {
			reached, wait = addr, wire.ListenRetryMin
		} else {
			next, wait = wait, min(2*wait, wire.ListenRetryMax)
		}
		report(reached, err)
		if !pause(ctx, next, n.look) {
			return
		}
	}
}

// probe knocks until the server answers through the relay.
func (n *Node) probe(ctx context.Context, addr string) error {
	k, err := n.keys()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	c := &tailcat.Client{Server: tailcat.Addr(addr), Key: k.clientKey("probe", k.Key.Public()), Logf: n.logf}
	defer n.end(c)
	for patience := knockFirst; ; patience = min(2*patience, knockMax) {
		knock, done := context.WithTimeout(ctx, patience)
		_, err := c.Ping(knock)
		done()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return &awp.Error{
				Code:    awp.Unreachable,
				Message: "the relay does not answer",
				Hint:    "it is tried again by itself; is there a network?",
				Cause:   err,
			}
		case !errors.Is(err, context.DeadlineExceeded):
			return &awp.Error{Code: awp.Internal, Message: "tailcat cannot reach itself: " + scrub(err.Error()), Cause: err}
		}
	}
}
