package awpcmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/awp-suite/awp/internal/render"
)

// app is one run of the command.
type app struct {
	daemon         Daemon
	stdin          io.Reader
	stdout, stderr io.Writer

	name    string         // of the command, once known
	command *cobra.Command // likewise
	home    string         // --home
	json    bool           // --json

	// dashed is an argument that looks like a flag of two dashes and was taken for a peer.
	dashed string
}

// entry is a command of the table.
type entry struct {
	name, short string
	peer        bool // its first positional is a peer
	build       func(*app) *cobra.Command
}

// group is a heading of the usage and the commands under it.
type group struct {
	title   string
	entries []entry
}

// groups returns every command. It is a function so that nothing is built at start.
func groups() []group {
	return []group{
		{"getting connected", []entry{
			{name: "up", short: "start the daemon and print the address to share", build: upCommand},
			{name: "listen", short: "print the address, then stream inbound messages as JSON lines", build: listenCommand},
			{name: "connect", short: "connect to a peer by address or name", peer: true, build: connectCommand},
			{name: "address", short: "print the address to share", build: addressCommand},
			{name: "status", short: "show this agent, its addresses and its peers", build: statusCommand},
			{name: "doctor", short: "look for what is wrong, and say how to mend it", build: doctorCommand},
			{name: "down", short: "stop the daemon; queued messages stay on disk", build: downCommand},
		}},
		{"messaging", []entry{
			{name: "send", short: "send a message, with text, code, data and files", peer: true, build: sendCommand},
			{name: "state", short: "tell the peer your state of a thread", peer: true, build: stateCommand},
			{name: "tail", short: "print unread messages, or follow new ones", build: tailCommand},
			{name: "wait", short: "block until unread messages arrive", build: waitCommand},
			{name: "read", short: "show a conversation, both directions", build: readCommand},
		}},
		{"looking around", []entry{
			{name: "threads", short: "list threads and both sides' states", build: threadsCommand},
			{name: "peers", short: "list known peers", build: peersCommand},
			{name: "blobs", short: "list files sent and received", build: blobsCommand},
			{name: "alias", short: "give a peer a local nickname", peer: true, build: aliasCommand},
			{name: "bye", short: "close the connection to a peer gracefully", peer: true, build: byeCommand},
		}},
		{"permissions", []entry{
			{name: "grant", short: "give a peer capabilities for a time", peer: true, build: grantCommand},
			{name: "grants", short: "list grants issued, held and presented", build: grantsCommand},
			{name: "revoke", short: "stop honoring a grant", build: revokeCommand},
			{name: "introduce", short: "tell a peer the key and address of another", peer: true, build: introduceCommand},
		}},
		{"the rest", []entry{
			{name: "daemon", short: "run the daemon in the foreground", build: daemonCommand},
			{name: "conform", short: "hold a peer to the protocol, scenario by scenario", build: conformCommand},
			{name: "schema", short: "print the JSON Schema of the protocol's lines", build: schemaCommand},
			{name: "completion", short: "print a shell's completion script", build: completionCommand},
			{name: "version", short: "print the release and the protocol version", build: versionCommand},
		}},
	}
}

func find(name string) (entry, bool) {
	for _, g := range groups() {
		for _, e := range g.entries {
			if e.name == name {
				return e, true
			}
		}
	}
	return entry{}, false
}

// Main runs the command that args, without the program's name, ask for, and returns its
// exit code.
func Main(ctx context.Context, d Daemon, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Every connection ends with this context, so nobody needs to close one: a close
	// waits for its goroutines, which a command about to end can do without.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &app{daemon: d, stdin: stdin, stdout: stdout, stderr: stderr}
	return a.report(a.run(ctx, args))
}

func (a *app) run(ctx context.Context, args []string) error {
	name, args, err := splitName(args)
	if err != nil {
		return err
	}
	switch name {
	case "":
		return a.write(appendUsage(nil))
	case "help":
		if len(args) == 0 || strings.HasPrefix(args[0], "-") {
			return a.write(appendUsage(nil))
		}
		name, args = args[0], []string{"--help"}
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return a.complete(ctx, name, args)
	}
	e, ok := find(name)
	if !ok {
		return usagef("unknown command %q", name)
	}
	c := a.build(e)
	a.bind(c.Flags())
	a.name, a.command = name, c
	if e.peer {
		args, a.dashed = liftKeyPrefixes(c.Flags(), args)
	}
	c.SetArgs(args)
	return c.ExecuteContext(ctx)
}

// splitName finds the command's name, which only flags that every command has may
// precede; they are handed on to it.
func splitName(args []string) (name string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--home":
			i++
		case arg == "--json", strings.HasPrefix(arg, "--home="):
		case arg == "-h", arg == "--help":
			return "", nil, nil
		case arg == "--version":
			return "version", append(args[:i:i], args[i+1:]...), nil
		case strings.HasPrefix(arg, "-"):
			return "", nil, usagef("unknown flag %s before the command", arg)
		default:
			return arg, append(args[:i:i], args[i+1:]...), nil
		}
	}
	return "", nil, nil
}

// bind defines the flags that every command has.
func (a *app) bind(flags *pflag.FlagSet) {
	flags.StringVar(&a.home, "home", "", "the awp home, a `DIR` (default $AWP_HOME, else ~/.awp)")
	flags.BoolVar(&a.json, "json", false, "print JSON for programs")
	flags.BoolP("help", "h", false, "show this help")
}

// checkHome refuses --home with nothing behind it, as an unset variable of a script makes
// it: the home would be the user's own.
func checkHome(c *cobra.Command, _ []string) error { return notEmpty(c, "home") }

// build makes e's command speak through a.
func (a *app) build(e entry) *cobra.Command {
	c := e.build(a)
	c.Short = e.short
	c.SilenceErrors, c.SilenceUsage = true, true
	c.DisableFlagsInUseLine = true
	c.PreRunE = checkHome
	c.SetIn(a.stdin)
	c.SetOut(a.stdout)
	c.SetErr(a.stderr)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err.Error()} })
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		a.write(appendHelp(nil, c)) //nolint:errcheck // the help was all there was to say
	})
	return c
}

// tree builds every command under one root. Only completion needs it.
func (a *app) tree() *cobra.Command {
	root := &cobra.Command{Use: "awp", Short: "agents hand each other work, directly", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.bind(root.PersistentFlags())
	for _, g := range groups() {
		for _, e := range g.entries {
			root.AddCommand(a.build(e))
		}
	}
	return root
}

// positionals returns a check of how many positionals there are.
func positionals(least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case most == 0 && len(args) > 0:
			return usagef("takes no arguments, got %q", args[0])
		case len(args) < least:
			return usagef("needs %s, got %d", atLeast(least, most), len(args))
		case len(args) > most:
			return usagef("takes at most %s, got %d", render.Count(most, "argument", "arguments"), len(args))
		}
		return nil
	}
}

func atLeast(least, most int) string {
	switch {
	case least == most && least == 1:
		return "an argument"
	case least == most:
		return fmt.Sprintf("%d arguments", least)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}
