// NAME
//
//	awp-relay - a relay of your own for tailcat addresses
//
// # SYNOPSIS
//
//	awp-relay --host relay.example.net [--listen :8443] [--stun :3478] [--state DIR] [--json]
//
// # DESCRIPTION
//
// Homes that listen on tailcat meet through a relay, which a tailcat address names. The
// relay passes on the first packets of every tunnel, and all of them where two networks
// allow no direct path. By default it is one of a public list; awp-relay is one that you
// run yourself, for a network without internet, for tests, or because you would rather
// not depend on others. It is Tailscale's DERP server with a STUN responder, and needs
// no account, no domain and no certificate authority.
//
// Start it on a machine that every home can reach. It prints what to put into config.json
// of each home that shall be reached through it; homes that only dial need nothing, since
// the address they dial says it all. See doc/guides/own-relay.md.
//
// An address names the relay's host, both ports and its certificate. Keep all of them:
// a relay that comes back elsewhere, or with another certificate, makes every address
// that names it dead.
//
// # SOCKETS
//
// --listen, TCP, for TLS connections; --stun, UDP, for STUN. Open both in the firewall.
//
// # STATE
//
// relay.pem in --state (default $XDG_STATE_HOME/awp-relay, else ~/.local/state/awp-relay):
// the certificate and its key, mode 0600. Back it up.
//
// # SECURITY
//
// It cannot read what homes say: tunnels end in the homes, and their addresses hold a
// secret that the relay never sees. It does see which homes talk to each other, from
// where, when and how much. It can drop or delay packets, and so cut homes off that have
// no direct path. It lets anybody use it who reaches its ports; a firewall says who that
// is. Homes know it by its certificate alone, so the file is worth guarding.
//
// # FAILURE
//
// It keeps nothing of what passes through. Killed and started again it serves as before;
// tunnels that ran through it pause meanwhile, direct ones do not notice, and nothing
// that AWP queued is lost. SIGTERM closes it.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/relaycmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := relaycmd.Parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = relaycmd.Run(ctx, cfg, os.Stdout, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	}
	if err == nil {
		return
	}
	os.Stderr.WriteString("awp-relay: " + err.Error() + "\n")
	if hint := awp.HintOf(err); hint != "" {
		os.Stderr.WriteString("awp-relay: hint: " + hint + "\n")
	}
	stop()
	os.Exit(1)
}
