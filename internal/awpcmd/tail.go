package awpcmd

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

// tailMost bounds what tail --once prints.
const tailMost = 1000

// tailing is what the flags of tail say.
type tailing struct {
	who    string
	thread awp.ThreadID
	all    bool
	mark   bool
}

func tailCommand(a *app) *cobra.Command {
	var t tailing
	var thread string
	var once bool
	c := &cobra.Command{
		Use: "tail [flags]",
		Long: `Print inbound messages. With --once, print the unread ones, mark them read and exit: what
an agent does at natural checkpoints of its work. Otherwise follow new messages until
interrupted. --all adds what you sent and what happened to connections; with --once, from
the earliest unread message on.`,
		Example: `awp tail --once
			awp tail --peer builder --mark`,
		Args: positionals(0, 0),
	}
	f := c.Flags()
	f.BoolVar(&once, "once", false, "print unread messages and exit")
	f.BoolVar(&t.all, "all", false, "include sent messages and connection events")
	f.BoolVar(&t.mark, "mark", false, "when following, mark printed messages read")
	f.StringVarP(&t.who, "peer", "p", "", "only this `PEER`")
	f.StringVarP(&thread, "thread", "t", "", "only this `THREAD`")
	a.completeFlags(c, "peer", "thread")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, name := range []string{"thread", "peer"} {
			if err := notEmpty(c, name); err != nil {
				return err
			}
		}
		t.thread = awp.ThreadID(thread)
		if once {
			return a.tailOnce(c.Context(), t)
		}
		p := printer(t.thread == "")
		p.Subject = t.thread != ""
		return a.follow(c.Context(), t, p, nil)
	}
	return c
}

func (a *app) tailOnce(ctx context.Context, t tailing) error {
	params := ipc.ReadParams{Who: t.who, Thread: t.thread, Last: tailMost, Unread: true}
	events, _, err := a.read(ctx, params)
	if err != nil {
		return err
	}
	if t.all && len(events) > 0 {
		if events, err = a.amid(ctx, params, events); err != nil {
			return err
		}
	}
	return a.showAndMark(ctx, events, func() error {
		switch {
		case a.json:
			return a.printLines(events)
		case len(events) == 0:
			return a.printf("no unread messages\n")
		}
		p := printer(t.thread == "")
		p.Subject = t.thread != ""
		return a.write(appendEvents(nil, p, events))
	})
}

// amid returns the unread events together with what we sent and what the home noted
// since the first of them.
func (a *app) amid(ctx context.Context, params ipc.ReadParams, unread []awp.Event) ([]awp.Event, error) {
	params.Unread = false
	events, _, err := a.read(ctx, params)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(unread)
	for _, e := range events {
		if e.Seq > unread[0].Seq && !e.Unread && e.Dir != awp.In {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b awp.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}

func (a *app) printLines(events []awp.Event) error {
	for _, e := range events {
		if err := a.printLine(e); err != nil {
			return err
		}
	}
	return nil
}
