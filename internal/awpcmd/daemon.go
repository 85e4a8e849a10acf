package awpcmd

import (
	"github.com/spf13/cobra"

	"github.com/awp-suite/awp/internal/config"
)

func daemonCommand(a *app) *cobra.Command {
	var flags config.Flags
	c := &cobra.Command{
		Use: "daemon [flags]",
		Long: `Run the daemon in the foreground. Other commands start it on demand; run it yourself under
a service manager, or to watch its log.`,
		Example: `awp daemon --listen tailcat --listen tcp:0.0.0.0:7000
			awp daemon --no-tailcat --listen unix:/tmp/b.sock --trace`,
		Args: positionals(0, 0),
	}
	f := c.Flags()
	f.StringVar(&flags.Name, "name", "", "`NAME` sent in hello (default awp@HOSTNAME)")
	f.StringVar(&flags.About, "about", "", "free `TEXT` sent in hello")
	f.StringVar(&flags.Harness, "harness", "", "`ID` of the harness: claude, opencode, codex, cursor, gemini, copilot, grok or pi (remembered)")
	f.StringArrayVar(&flags.Listen, "listen", nil, "listen on this `ADDR`: tailcat, tcp:HOST:PORT or unix:/path (repeatable; default from config, else tailcat)")
	f.BoolVar(&flags.NoTailcat, "no-tailcat", false, "do not listen on tailcat")
	f.StringVar(&flags.Advertise, "advertise", "", "`ADDR` sent in hello for the peer to dial back (none to disable)")
	f.StringVar(&flags.Accept, "accept", "", "admission `POLICY`: any (default) or allowlist")
	f.StringArrayVar(&flags.Allow, "allow", nil, "`KEY` to admit under the allowlist policy (repeatable)")
	f.StringArrayVar(&flags.Trust, "trust", nil, "issuer `KEY` whose grants to honor (repeatable)")
	f.StringSliceVar(&flags.Serve, "serve", nil, "`LIST` of capabilities to fulfil for granted peers: exec, fs:read, fs:write")
	f.StringVar(&flags.Root, "root", "", "`DIR` that fs:read and fs:write are confined to and exec runs in")
	f.BoolVar(&flags.Presence, "presence", false, "publish signed presence")
	f.BoolVar(&flags.Trace, "trace", false, "log every protocol line")
	f.BoolVar(&flags.Verbose, "verbose", false, "include tailcat's own logs")
	a.completeFlags(c, "harness", "accept")
	c.RunE = func(c *cobra.Command, _ []string) error {
		home, err := a.homeDir()
		if err != nil {
			return err
		}
		return a.daemon.Run(c.Context(), home, flags, nil)
	}
	return c
}

func downCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "down [flags]",
		Long:    `Stop the daemon. Queued messages stay on disk and go out after the next start.`,
		Example: `awp down`,
		Args:    positionals(0, 0),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		home, err := a.homeDir()
		if err != nil {
			return err
		}
		stopped, err := a.daemon.Down(c.Context(), home)
		switch {
		case err != nil:
			return err
		case a.json:
			return a.printJSON(struct {
				Running bool `json:"running"`
				Stopped bool `json:"stopped"`
			}{false, stopped})
		case !stopped:
			return a.printf("awp daemon is not running\n")
		}
		return a.printf("awp daemon stopped\n")
	}
	return c
}
