package awpcmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp/conformance/schema"
)

// conformCommand hands over to awp-conform, which stands beside awp: awp opens no network.
func conformCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "conform [flags] ADDR | --listen ADDR [--run CMD]",
		Long: `Hold the peer at ADDR, any AWP v0 peer, to the protocol: play good and hostile
peers, and say where it departs. The exit code is 1 when a scenario fails. The peer keeps
the threads that are sent to it: use a home made for the purpose.`,
		Example: `awp conform unix:/tmp/peer.sock
			awp conform --scenario dedup --trace tcp:127.0.0.1:7000
			awp conform --listen tcp:127.0.0.1:0 --run 'awp --home /tmp/peer connect {addr}'
			awp conform --list`,
		Args: positionals(0, 1),
	}
	f := c.Flags()
	f.StringSlice("scenario", nil, "run only the scenario `NAME`; may be repeated")
	f.String("listen", "", "wait for the peer at `ADDR` instead of dialing it")
	f.String("run", "", "with --listen: a shell `CMD` that makes the peer dial {addr}")
	f.String("send", "", "a shell `CMD` that makes the peer send {text} to the key {key}")
	f.Bool("list", false, "list the scenarios and end")
	f.Bool("trace", false, "show every line on stderr")
	f.Duration("step", 0, "how long to wait for each answer (default 15s)")
	c.RunE = func(c *cobra.Command, args []string) error {
		listen, _ := f.GetString("listen")
		run, _ := f.GetString("run")
		listing, _ := f.GetBool("list")
		if !listing && (len(args) == 0) == (listen == "") || run != "" && listen == "" {
			return usagef("needs either an address or --listen ADDR [--run CMD]")
		}
		var pass []string
		names, _ := f.GetStringSlice("scenario")
		for _, name := range names {
			pass = append(pass, "--scenario="+name)
		}
		for _, name := range []string{"listen", "run", "send", "list", "trace", "step", "json"} {
			if fl := f.Lookup(name); fl != nil && fl.Changed {
				pass = append(pass, "--"+name+"="+fl.Value.String())
			}
		}
		if a.json && !f.Changed("json") {
			pass = append(pass, "--json")
		}
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find awp-conform: %w", err)
		}
		cmd := exec.CommandContext(c.Context(), filepath.Join(filepath.Dir(self), "awp-conform"), append(append(pass, "--"), args...)...)
		cmd.Stdout, cmd.Stderr = a.stdout, a.stderr
		err = cmd.Run()
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit(max(ended.ExitCode(), exitError))
		}
		if err != nil {
			return fmt.Errorf("start awp-conform: %w", err)
		}
		return nil
	}
	return c
}

func schemaCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "schema [flags]",
		Long:    `Print the JSON Schema (2020-12) of every line of the protocol, made from the types that the suite itself uses.`,
		Example: `awp schema`,
		Args:    positionals(0, 0),
	}
	c.RunE = func(*cobra.Command, []string) error {
		text, err := schema.Text()
		if err != nil {
			return err
		}
		return a.write(append(text, '\n'))
	}
	return c
}
