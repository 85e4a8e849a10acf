// NAME
//
//	awp-store - keep everything of a home that must not be lost
//
// # DESCRIPTION
//
// awp-store is the only opener of awp.db. It holds the log, the outbox, threads, peers,
// files sent and received, grants, and the identity key, and it judges: what is acknowledged,
// what is a duplicate, who is admitted and may do what, which peers should be connected. It is started by awp
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
// but auth transcripts whose own hello carries its key, and grants that its user gives. Lines of peers reach it bounded,
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
	"net"

	"github.com/awp-suite/awp/internal/startcmd"
	"github.com/awp-suite/awp/internal/storecmd"
	"github.com/awp-suite/awp/ipc"
)

func main() {
	startcmd.Main("awp-store", ipc.StoreSocket, func(ctx context.Context, s startcmd.Start, l net.Listener) error {
		return storecmd.Run(ctx, storecmd.Config{Home: s.Home, Settings: s.Settings, Log: s.Log}, l)
	})
}
