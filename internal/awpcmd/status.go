package awpcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

// statusWithin bounds how long status waits. The daemon may be stopped, or its disk hang;
// to say so is what status is for.
const statusWithin = 10 * time.Second

func statusCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "status [flags]",
		Long: `Show this agent's identity, its addresses and its peers, with unread messages and
notices counted apart. It does not start the daemon: when none runs, the exit code is 3.`,
		Example: `awp status
			awp status --json`,
		Args: positionals(0, 0),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		status, err := a.status(c.Context())
		switch {
		case awp.CodeOf(err) == awp.Unreachable:
			return a.notRunning()
		case err != nil:
			return err
		case a.json:
			return a.printJSON(status)
		}
		return a.write(render.Status(nil, status, time.Now()))
	}
	return c
}

// status asks a daemon that runs, over a restart of awp-store if there is one. The error
// of no daemon is code unreachable.
func (a *app) status(ctx context.Context) (status awp.Status, err error) {
	within, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	for {
		var conn *ipc.Conn
		if conn, err = a.attach(within); err == nil {
			status, err = ipc.Status.Call(within, conn, ipc.None{})
		}
		if !ipc.Lost(err) || sleep(within, reattachFirst) != nil {
			break
		}
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		home, _ := a.homeDir()
		return status, &awp.Error{
			Code:    awp.Busy,
			Message: fmt.Sprintf("the daemon runs but does not answer within %v", statusWithin),
			Hint:    "read " + filepath.Join(home, "daemon.log") + "; then: awp down",
			Cause:   err,
		}
	}
	return status, err
}

func (a *app) notRunning() error {
	var err error
	if a.json {
		err = a.printJSON(struct {
			Running bool `json:"running"`
		}{})
	} else {
		err = a.printf("awp daemon is not running; awp up starts it\n")
	}
	if err != nil {
		return err
	}
	return exit(exitNotRunning)
}
