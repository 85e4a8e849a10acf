package awpcmd

import (
	"github.com/spf13/cobra"

	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

func aliasCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "alias [flags] <peer> <nickname>",
		Long: `Give a peer a local nickname, usable anywhere a peer is expected. An empty nickname takes
it away.`,
		Example: `awp alias claude-code@sprite-7f3a builder
			awp alias builder ''`,
		Args:              positionals(2, 2),
		ValidArgsFunction: a.completePeer,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		peer, err := ask(c.Context(), a, ipc.Alias, ipc.AliasParams{Who: args[0], Alias: args[1]})
		if err != nil || !a.json {
			return err
		}
		return a.printJSON(peer)
	}
	return c
}

func byeCommand(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "bye [flags] <peer>",
		Long: `Close the connection to a peer gracefully. Nobody reconnects to it until you send it
something new or connect.`,
		Example: `awp bye builder
			awp bye builder --reason "all done"`,
		Args:              positionals(1, 1),
		ValidArgsFunction: a.completePeer,
	}
	c.Flags().StringVar(&reason, "reason", "done", "the `REASON` to give")
	c.RunE = func(c *cobra.Command, args []string) error {
		peer, err := ask(c.Context(), a, ipc.Resolve, ipc.ResolveParams{Who: args[0]})
		if err != nil {
			return err
		}
		conn, err := a.ensure(c.Context(), ipc.WireSocket)
		if err != nil {
			return err
		}
		if _, err := ipc.Bye.Call(c.Context(), conn, ipc.ByeParams{Peer: peer.Key, Reason: reason}); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(struct {
				Peer   string `json:"peer"`
				Reason string `json:"reason"`
			}{peer.Key.String(), reason})
		}
		return a.printf("said bye to %s\n", render.Line(args[0]))
	}
	return c
}
