package awpcmd

import (
	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
)

func listenCommand(a *app) *cobra.Command {
	var t tailing
	var text bool
	c := &cobra.Command{
		Use: "listen [flags]",
		Long: `Make sure the daemon is listening, print the address, then write every inbound message to
stdout as one JSON object a line until killed. The first line is {"event":"listening",…}.
The daemon keeps running when listen ends.`,
		Example: `awp listen
			awp listen --mark | while read -r line; do handle "$line"; done`,
		Args: positionals(0, 0),
	}
	f := c.Flags()
	f.BoolVar(&t.mark, "mark", false, "mark streamed messages as read")
	f.BoolVar(&text, "text", false, "print for people, not JSON lines")
	c.RunE = func(c *cobra.Command, _ []string) error {
		conn, err := a.store(c.Context())
		if err != nil {
			return err
		}
		status, err := addressed(c.Context(), conn)
		conn.Close()
		if err != nil {
			return err
		}
		a.noteAddress(status)
		if text && !a.json {
			return a.follow(c.Context(), t, printer(true), func() error {
				return a.printf("listening as %s (%s)\naddress %s\n", render.Line(status.Name), status.Key, render.Line(render.Address(status)))
			})
		}
		return a.follow(c.Context(), t, nil, func() error { return a.printLine(newListening(status)) })
	}
	return c
}

// listening is the first line of listen.
type listening struct {
	Event     string   `json:"event"`
	Address   string   `json:"address"`
	Addresses []string `json:"addresses"`
	Key       awp.Key  `json:"key"`
	Name      string   `json:"name"`
}

func newListening(s awp.Status) listening {
	return listening{Event: "listening", Address: render.Address(s), Addresses: s.Addresses, Key: s.Key, Name: s.Name}
}
