package awpcmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// appendUsage appends the overview of all commands.
func appendUsage(b []byte) []byte {
	b = append(b, "usage: awp COMMAND [flags] [args]\n\nAgents on different machines hand each other work, directly.\n"...)
	for _, g := range groups() {
		b = fmt.Appendf(b, "\n%s:\n", g.title)
		for _, e := range g.entries {
			b = fmt.Appendf(b, "  %-11s %s\n", e.name, e.short)
		}
	}
	return append(b, `
Every command takes --home DIR (default $AWP_HOME, else ~/.awp), --json and --help.
A peer is named by its name, an alias, a key or 4 or more characters of it, or an address.
Commands that need the daemon start it; status, doctor and down do not.
"awp help COMMAND" has the details.
`...)
}

// appendHelp appends all there is to know about one command. It is plain code where
// cobra has a template: a template engine in the binary costs every start of it.
func appendHelp(b []byte, c *cobra.Command) []byte {
	b = append(b, strings.TrimSpace(c.Long)...)
	b = append(b, "\n\n"...)
	b = appendSynopsis(b, c)
	b = append(b, "\nflags:\n"...)
	b = append(b, c.Flags().FlagUsages()...)
	if c.Example != "" {
		b = append(b, "\nexamples:\n"...)
		for line := range strings.Lines(strings.TrimSpace(c.Example)) {
			b = append(b, "  "+strings.TrimSpace(line)+"\n"...)
		}
	}
	return b
}

func appendSynopsis(b []byte, c *cobra.Command) []byte {
	return append(b, "usage: awp "+c.Use+"\n"...)
}

// shortUsage follows the report of a command line that makes no sense.
func (a *app) shortUsage() {
	if a.command == nil {
		a.note("awp: hint: awp help lists the commands")
		return
	}
	fmt.Fprintf(a.stderr, "%sawp: hint: awp help %s\n", appendSynopsis(nil, a.command), a.name)
}
