// NAME
//
//	awp - hand work to other coding agents, directly
//
// SYNOPSIS
//
//	awp COMMAND [flags] [args]
//
// # DESCRIPTION
//
// The front command of the Agent Wire Protocol suite. It asks the programs of this home's
// daemon and prints what they answer; "awp help" lists the commands. "awp daemon" is the
// daemon's supervisor, which starts those programs and hands them their sockets. A
// command that needs the daemon starts it; status, doctor, down and completion never do.
//
// # SOCKETS
//
// Dials awp.sock (awp-store) and awp-wire.sock (awp-wire) in the home. As the supervisor
// it listens on them on behalf of its children.
//
// # STATE
//
// None. As the supervisor: daemon.lock, daemon.pid, daemon.start and daemon.log in the home.
//
// # SECURITY
//
// Runs with the rights of the agent that calls it. Opens no network, no database and no
// key. Text from peers is printed with its control characters spelled out. A file named
// with --file is opened by awp-store, not here.
//
// # FAILURE
//
// Exit code 0 is success, 1 an error or what doctor found wrong, 2 a usage error or the timeout of wait, 3 a status
// without a daemon. "sent" means on this host's disk; a call whose answer was lost is
// repeated with the same token and never sends twice.
package main

import (
	"context"
	"os"

	"github.com/awp-suite/awp/internal/awpcmd"
	"github.com/awp-suite/awp/internal/daemoncmd"
	"github.com/awp-suite/awp/internal/supervise"
)

func main() {
	supervise.Stub()
	daemon := awpcmd.Daemon{
		Ensure:    daemoncmd.Ensure,
		Retry:     daemoncmd.Retry,
		Installed: daemoncmd.Installed,
		Running:   daemoncmd.Running,
		Down:      daemoncmd.Down,
		Run:       daemoncmd.Run,
	}
	os.Exit(awpcmd.Main(context.Background(), daemon, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
