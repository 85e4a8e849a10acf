// NAME
//
//	awp-conform - hold a peer to the protocol
//
// SYNOPSIS
//
//	awp-conform [flags] ADDR
//	awp-conform [flags] --listen ADDR [--run CMD]
//
// # DESCRIPTION
//
// awp-conform plays a peer, a good one and hostile ones, and says where the peer at ADDR
// departs from PROTOCOL.md. It is started by awp conform, which opens no network itself.
//
// # SOCKETS
//
// Dials ADDR, a unix or tcp address, once or more a scenario; with --listen it listens
// there and takes one connection.
//
// # STATE
//
// None. Its key is made for the run and forgotten.
//
// # SECURITY
//
// Parses strangers' bytes, so it opens no home, no database and no identity. Lines are
// bounded and quoted before they are printed. Plain TCP goes to private addresses only,
// unless AWP_ALLOW_PLAINTEXT=1. Starts only the commands of --run and --send, by /bin/sh.
//
// # FAILURE
//
// Exit code 0: every scenario passed or was skipped; 1: one failed, or there was an error;
// 2: a usage error. Every wait and every scenario is bounded in time. The peer keeps the
// threads that were sent to it: point it at a home made for the purpose.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/awp-suite/awp/internal/conformcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(conformcmd.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
