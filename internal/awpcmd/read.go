package awpcmd

import (
	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

func readCommand(a *app) *cobra.Command {
	params := ipc.ReadParams{Last: 50}
	var noMark bool
	c := &cobra.Command{
		Use: "read [flags] [<thread>]",
		Long: `Show a conversation, both directions, oldest first: one thread, one peer, or everything
recent. What is shown is marked as read, also when the output goes through grep or head.`,
		Example: `awp read thr_9k2abcd
			awp read --peer builder -n 200
			awp read --no-mark --json`,
		Args:              positionals(0, 1),
		ValidArgsFunction: a.completeThread,
	}
	f := c.Flags()
	f.IntVarP(&params.Last, "last", "n", params.Last, "show the last `N` records")
	f.StringVarP(&params.Who, "peer", "p", "", "only this `PEER`")
	f.BoolVar(&noMark, "no-mark", false, "leave what is shown unread")
	a.completeFlags(c, "peer")
	c.RunE = func(c *cobra.Command, args []string) error {
		if params.Last < 1 {
			return usagef("-n must be 1 or more")
		}
		if err := notEmpty(c, "peer"); err != nil {
			return err
		}
		if len(args) == 1 {
			if args[0] == "" {
				return usagef("the thread is empty")
			}
			params.Thread = awp.ThreadID(args[0])
		}
		events, result, err := a.read(c.Context(), params)
		if err != nil {
			return err
		}
		marked := events
		if noMark {
			marked = nil
		}
		return a.showAndMark(c.Context(), marked, func() error {
			if a.json {
				return a.printJSON(newShown(events, marked, result))
			}
			return a.write(appendConversation(nil, events, result.Thread))
		})
	}
	return c
}

func appendConversation(b []byte, events []awp.Event, thread *awp.Thread) []byte {
	if thread != nil {
		b = append(render.Thread(b, *thread), '\n')
	}
	if len(events) == 0 {
		return append(b, "nothing yet\n"...)
	}
	return appendEvents(b, printer(thread == nil), events)
}
