package awpcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

// How long up and listen wait for a tailcat address. A first start has to find a relay.
const (
	tailcatFor   = 45 * time.Second
	tailcatEvery = 250 * time.Millisecond
)

func upCommand(a *app) *cobra.Command {
	var flags config.Flags
	c := &cobra.Command{
		Use: "up [flags]",
		Long: `Start the daemon in the background if it is not running, wait for its address, and
print who this agent is and the address to share. The name, the line about it and the
harness are remembered. Only a start takes the flags: if the daemon runs already, awp down,
then this command again.

An address is a secret: who has it can knock. Share it like a password.`,
		Example: `awp up --name claude-code@laptop --about "Refactoring the auth middleware"
			awp up --listen tcp:10.0.0.5:7000`,
		Args: positionals(0, 0),
	}
	f := c.Flags()
	f.StringVar(&flags.Name, "name", "", "`NAME` to present to peers, such as claude-code@myhost (remembered)")
	f.StringVar(&flags.About, "about", "", "`TEXT` for peers: what you are working on (remembered)")
	f.StringVar(&flags.Harness, "harness", "", "`ID` of the harness: claude, opencode, codex, cursor, gemini, copilot, grok or pi (remembered)")
	f.BoolVar(&flags.Presence, "presence", false, "publish signed presence")
	f.StringSliceVar(&flags.ShareWith, "share-with", nil, "mirror conversations to these hosts: `KEY,…` (remembered)")
	f.StringArrayVar(&flags.Listen, "listen", nil, "listen on this `ADDR`: tailcat, tcp:HOST:PORT or unix:/path (repeatable; none: do not listen)")
	f.StringVar(&flags.Accept, "accept", "", "admission `POLICY`: any (default) or allowlist")
	f.StringArrayVar(&flags.Allow, "allow", nil, "`KEY` to admit under the allowlist policy (repeatable)")
	f.StringArrayVar(&flags.Trust, "trust", nil, "issuer `KEY` whose grants to honor (repeatable)")
	a.completeFlags(c, "harness", "accept")
	c.RunE = func(c *cobra.Command, _ []string) error {
		home, err := a.homeDir()
		if err != nil {
			return err
		}
		if err := flags.Check(); err != nil { // also if the daemon runs, and nobody else would
			return err
		}
		status, started, err := a.up(c.Context(), home, flags)
		if err != nil {
			return err
		}
		if late := given(c, "name", "about", "harness", "presence", "share-with", "listen", "accept", "allow", "trust"); !started && late != "" {
			a.note("note: the daemon was running already and does not take %s; awp down, then this command again", late)
		}
		if a.json {
			if err := a.printJSON(status); err != nil {
				return err
			}
			return nowhere(status)
		}
		for _, w := range status.Warnings {
			a.note("note: %s", render.Line(w))
		}
		if err := a.write(render.Up(nil, status)); err != nil {
			return err
		}
		return nowhere(status)
	}
	return c
}

// nowhere is the exit of an up that is to listen and can nowhere: a script would take
// success for an address.
func nowhere(s awp.Status) error {
	if len(s.ListenErrors) > 0 && len(s.Addresses) == 0 && !s.TailcatEnabled {
		return exit(exitError)
	}
	return nil
}

// up starts the daemon, if none runs, and returns its status. A daemon that is about to
// end, because its supervisor was killed, may still answer first; the next one is to have
// the flags all the same.
func (a *app) up(ctx context.Context, home string, flags config.Flags) (status awp.Status, started bool, err error) {
	for range 3 {
		var conn *ipc.Conn
		began := time.Now()
		conn, started, err = a.daemon.Ensure(ctx, home, ipc.StoreSocket, flags)
		if awp.CodeOf(err) == awp.Unreachable && time.Since(began) < time.Second {
			continue // what it found ended meanwhile; a start that takes too long is not tried again
		}
		if err != nil {
			return status, false, err
		}
		if status, err = addressed(ctx, conn); !ipc.Lost(err) {
			break
		}
	}
	return status, started, err
}

// given lists which of the flags were set.
func given(c *cobra.Command, names ...string) string {
	var set []string
	for _, name := range names {
		if c.Flags().Changed(name) {
			set = append(set, "--"+name)
		}
	}
	return strings.Join(set, ", ")
}

// addressed returns the status once its tailcat address is there, will not come, or took
// too long.
func addressed(ctx context.Context, conn *ipc.Conn) (awp.Status, error) {
	deadline := time.Now().Add(tailcatFor)
	for {
		status, err := ipc.Status.Call(ctx, conn, ipc.None{})
		starting := status.TailcatEnabled && status.Tailcat == "" && status.TailcatError == ""
		if err != nil || !starting || time.Now().After(deadline) {
			return status, err
		}
		if err := sleep(ctx, tailcatEvery); err != nil {
			return status, err
		}
	}
}
