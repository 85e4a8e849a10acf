package awpcmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

// threadsShown is how many threads a person gets who does not say how many.
const threadsShown = 500

func threadsCommand(a *app) *cobra.Command {
	var params ipc.ThreadsParams
	var wide bool
	var last int
	c := &cobra.Command{
		Use: "threads [flags]",
		Long: `List threads, most recently active first, with each side's state and how long it has
been in it: working 2h, next to working 5s, may be a session that died. The latest 500 are
listed, and with --json all, unless --last says how many.`,
		Example: `awp threads --open
			awp threads --peer builder --wide`,
		Args: positionals(0, 0),
	}
	f := c.Flags()
	f.BoolVar(&params.Open, "open", false, "only threads that neither side called done, failed or closed")
	f.StringVarP(&params.Who, "peer", "p", "", "only this `PEER`")
	f.BoolVar(&wide, "wide", false, "print subjects in full")
	f.IntVarP(&last, "last", "n", 0, "the latest `N` threads; 0: all, but for people 500")
	a.completeFlags(c, "peer")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := notEmpty(c, "peer"); err != nil {
			return err
		}
		if last < 0 {
			return usagef("--last must not be negative")
		}
		if params.Last = last; last == 0 && !a.json && !c.Flags().Changed("last") {
			params.Last = threadsShown + 1 // one more tells whether there are others
		}
		threads, err := list(c.Context(), a, ipc.Threads, params)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(threads)
		}
		if params.Last == threadsShown+1 && len(threads) == params.Last {
			threads = threads[:threadsShown]
			a.note("note: the latest %d threads; --last 0 lists all", threadsShown)
		}
		return a.write(render.Threads(nil, threads, wide, time.Now()))
	}
	return c
}

func peersCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "peers [flags]",
		Long: `List known peers: how the connection stands, queued messages, open threads, unread
messages, and the capabilities they hold on you.`,
		Example: `awp peers
			awp peers --json`,
		Args: positionals(0, 0),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		peers, err := list(c.Context(), a, ipc.Peers, ipc.None{})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(peers)
		}
		return a.write(render.Peers(nil, peers))
	}
	return c
}

func blobsCommand(a *app) *cobra.Command {
	var params ipc.BlobsParams
	var wide bool
	c := &cobra.Command{
		Use: "blobs [flags]",
		Long: `List files sent and received, newest first, with local paths. A sent file is queued until
the peer acknowledges the message that carries it, then sent; or expired, when the peer
did not in time. A received one is pending while its data arrives, received when it waits
for its message, then complete. Either may be refused.`,
		Example: `awp blobs --peer builder
			awp blobs --json`,
		Args: positionals(0, 0),
	}
	c.Flags().StringVarP(&params.Who, "peer", "p", "", "only this `PEER`")
	c.Flags().BoolVar(&wide, "wide", false, "print names in full")
	a.completeFlags(c, "peer")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := notEmpty(c, "peer"); err != nil {
			return err
		}
		blobs, err := list(c.Context(), a, ipc.Blobs, params)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(blobs)
		}
		return a.write(render.Blobs(nil, blobs, wide))
	}
	return c
}
