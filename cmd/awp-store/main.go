// NAME
//
//	awp-store - keep everything of a home that must not be lost
//
// # DESCRIPTION
//
// awp-store is the only opener of awp.db. It holds the log, the outbox, threads, peers,
// files sent and received, and the identity key, and it judges: what is acknowledged, what
// is a duplicate, who is admitted, which peers should be connected. It is started by awp
// daemon or by systemd, never by hand.
//
// # SOCKETS
//
// awp.sock, the control socket, by activation under that name. It serves the programs
// that people and agents use, and awp-wire, which brings peers' lines and takes ours.
//
// # STATE
//
// In the home (AWP_HOME): awp.db, identity.json, blobs/, store.lock. It reads config.json,
// and the files that its callers ask it to send.
//
// # SECURITY
//
// Opens no network socket and starts no program. Serves only its own user. Signs nothing
// but auth transcripts whose own hello carries its key. Lines of peers reach it bounded,
// and it believes none of their numbers and names.
//
// # FAILURE
//
// Killed at any moment it loses nothing and doubles nothing: what it said was stored is
// in a synced transaction, and what it had not said will be asked again. With a full
// disk, a damaged or a newer database it says so and ends, or refuses the change.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/activation"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/lifeline"
	"github.com/awp-suite/awp/internal/storecmd"
	"github.com/awp-suite/awp/ipc"
)

func main() {
	ctx, stop := signal.NotifyContext(lifeline.Watch(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		os.Stderr.WriteString("awp-store: " + err.Error() + "\n")
		if hint := awp.HintOf(err); hint != "" {
			os.Stderr.WriteString("awp: hint: " + hint + "\n")
		}
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	home, err := config.Home("", os.Getenv)
	if err != nil {
		return err
	}
	set, err := config.Load(home, os.Getenv)
	if err != nil {
		return err
	}
	l, err := activation.Listener("awp-store", ipc.StoreSocket)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("program", "awp-store")
	activation.Ready()
	defer activation.Stopping()
	return storecmd.Run(ctx, storecmd.Config{Home: home, Settings: set, Log: log}, l)
}
