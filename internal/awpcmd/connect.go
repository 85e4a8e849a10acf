package awpcmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// progressAfter is how long a person waits before they are told for what.
const progressAfter = time.Second

func connectCommand(a *app) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use: "connect [flags] <address|peer>",
		Long: `Connect to a peer. The address is what the other side's up or listen printed: tc…,
tcp:HOST:PORT or unix:/path. A peer met before may be named instead. The daemon keeps the
connection and brings it up again while there is unfinished business.`,
		Example: `awp connect tcp:10.0.0.5:7000
			awp connect builder --timeout 10s`,
		Args:              positionals(1, 1),
		ValidArgsFunction: a.completePeer,
	}
	c.Flags().DurationVar(&timeout, "timeout", wire.ConnectTimeout, "give up after this long: `DURATION`")
	c.RunE = func(c *cobra.Command, args []string) error {
		if timeout < time.Millisecond {
			return usagef("--timeout must be a millisecond or more")
		}
		params := ipc.ConnectParams{Timeout: timeout.Milliseconds()}
		if addr, err := wire.ParseAddr(args[0]); err == nil {
			params.Addr = addr.String()
		} else {
			peer, err := ask(c.Context(), a, ipc.Resolve, ipc.ResolveParams{Who: args[0]})
			if err != nil {
				return notAddress(args[0], err)
			}
			params.Peer = peer.Key
		}
		result, err := a.connect(c.Context(), params, args[0])
		if err != nil {
			return err
		}
		peer, err := ask(c.Context(), a, ipc.Resolve, ipc.ResolveParams{Who: result.Peer.String()})
		if err != nil {
			return err
		}
		return a.printConnected(result, peer)
	}
	return c
}

func (a *app) printConnected(result ipc.ConnectResult, peer awp.Peer) error {
	if a.json {
		return a.printJSON(peer)
	}
	label := render.Line(peer.Label())
	if result.Already {
		return a.printf("already connected to %s (%s)\n", label, peer.Key.Short())
	}
	about := ""
	if peer.About != "" && !render.DefaultAbout(peer.About) {
		about = "  about: " + render.Line(peer.About) + "\n"
	}
	return a.printf("connected to %s (%s) via %s\n%s", label, peer.Key, render.Line(result.Via), about)
}

// notAddress explains "no such peer" about what may have been meant for an address.
func notAddress(who string, err error) error {
	e, ok := errors.AsType[*awp.Error](err)
	if !ok || e.Code != awp.NotFound {
		return err
	}
	if bad := misspelled(who); bad != nil {
		return bad
	}
	if e.Hint != "" {
		return err
	}
	return &awp.Error{Code: e.Code, Message: e.Message, Hint: "an address is tc…, tcp:HOST:PORT or unix:/path; awp peers lists the peers", Cause: err}
}

// connect has awp-wire connect, and tells a person at a terminal when that takes time. An
// error names what was tried.
func (a *app) connect(ctx context.Context, params ipc.ConnectParams, to string) (ipc.ConnectResult, error) {
	conn, err := a.ensure(ctx, ipc.WireSocket)
	if err != nil {
		return ipc.ConnectResult{}, err
	}
	if isTerminal(a.stderr) {
		patience := time.AfterFunc(progressAfter, func() {
			a.note("awp %s: connecting to %s, for at most %s", a.name, render.Line(render.Clip(to, 40)),
				render.Duration(time.Duration(params.Timeout)*time.Millisecond))
		})
		defer patience.Stop()
	}
	result, err := ipc.Connect.Call(ctx, conn, params)
	return result, unconnected(to, err)
}

// unconnected is an error of connecting that says to what.
func unconnected(to string, err error) error {
	e, ok := errors.AsType[*awp.Error](err)
	if !ok {
		return err
	}
	hint := e.Hint
	if hint == "" && e.Code == awp.Unreachable {
		hint = "is the other side up? awp status there says where it listens"
	}
	if hint == "" && e.Code == awp.Denied {
		hint = "awp status shows your key; the other side lets it in with awp up --allow KEY, or by a grant"
	}
	return &awp.Error{Code: e.Code, Message: shownAddress(to) + ": " + e.Message, Hint: hint, Cause: err}
}

// reach turns the peer of a command that sends into one the store knows: an address is
// connected to first.
func (a *app) reach(ctx context.Context, who string) (string, error) {
	addr, err := wire.ParseAddr(who)
	if err != nil { // then it names a peer
		if misspelled(who) == nil {
			return who, nil
		}
		_, err := ask(ctx, a, ipc.Resolve, ipc.ResolveParams{Who: who})
		return who, notAddress(who, err)
	}
	result, err := a.connect(ctx, ipc.ConnectParams{Addr: addr.String(), Timeout: wire.ConnectTimeout.Milliseconds()}, who)
	if err != nil {
		return "", err
	}
	return result.Peer.String(), nil
}
