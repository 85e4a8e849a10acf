package awpcmd

import (
	"context"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

const (
	waitDefault = 5 * time.Minute
	waitMax     = 24 * time.Hour

	// waitAbsence is how long a wait goes on without a daemon: somebody may be about to
	// start the next one.
	waitAbsence = 10 * time.Second
)

func waitCommand(a *app) *cobra.Command {
	var params ipc.WaitParams
	var thread, states string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "wait [flags]",
		Long: `Block until unread messages arrive, print them and mark them read. Notices (a peer said
bye, a file is complete) are printed with whatever ends the wait but do not end it.

With --state, wait until the peer's state of --thread is one of the given ones. A message
or state in that thread ends the wait too, so that a question can be answered before
waiting again; the last line says where the state stands.

Exit status: 0 when something arrived, 2 on timeout. Keep --timeout below the limit of
the tool that runs awp; many allow about 2 minutes.`,
		Example: `awp wait --timeout 90s
			awp wait --thread thr_9k2abcd --state done,failed --timeout 10m`,
		Args: positionals(0, 0),
	}
	f := c.Flags()
	f.StringVarP(&thread, "thread", "t", "", "only this `THREAD`")
	f.StringVarP(&params.Who, "peer", "p", "", "only this `PEER`")
	f.StringVar(&states, "state", "", "wait for the peer's state of --thread to be in this `LIST`, such as done,failed")
	f.DurationVar(&timeout, "timeout", waitDefault, "give up after this `DURATION`; 0 looks once")
	a.completeFlags(c, "thread", "peer", "state")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, name := range []string{"thread", "peer", "state"} {
			if err := notEmpty(c, name); err != nil {
				return err
			}
		}
		params.Thread = awp.ThreadID(thread)
		for s := range strings.SplitSeq(states, ",") {
			if s = strings.TrimSpace(s); s != "" {
				params.States = append(params.States, s)
			}
		}
		if len(params.States) > 0 && thread == "" {
			return &awp.Error{Code: awp.Invalid, Message: "--state needs --thread: a state is one of a thread", Hint: "awp threads lists them"}
		}
		if timeout > waitMax {
			return &awp.Error{Code: awp.Invalid, Message: "--timeout is at most 24h"}
		}
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		err := a.wait(ctx, params, max(0, timeout))
		if ctx.Err() != nil {
			return exit(exitInterrupted)
		}
		return err
	}
	return c
}

func (a *app) wait(ctx context.Context, params ipc.WaitParams, timeout time.Duration) error {
	events, result, err := a.await(ctx, params, timeout)
	if err != nil {
		return err
	}
	err = a.showAndMark(ctx, events, func() error {
		if a.json {
			return a.printJSON(newShown(events, events, result))
		}
		p := printer(params.Thread == "")
		p.Subject = params.Thread != ""
		b := appendEvents(nil, p, events)
		switch {
		case result.TimedOut:
			b = append(b, "nothing new after "+render.Duration(timeout)+"\n"...)
		case len(params.States) > 0 && result.Thread != nil:
			b = render.Standing(b, *result.Thread, result.Matched)
		}
		return a.write(b)
	})
	if err == nil && result.TimedOut {
		return exit(exitTimeout)
	}
	return err
}

// await waits, over a restart of awp-store if there is one: nothing is marked before it
// is shown, so a wait can be begun again. A daemon that somebody stops during the wait
// stays down; one that was killed is started again.
func (a *app) await(ctx context.Context, params ipc.WaitParams, timeout time.Duration) ([]awp.Event, ipc.ReadResult, error) {
	deadline := time.Now().Add(timeout)
	conn, err := a.store(ctx)
	for {
		if err != nil {
			return nil, ipc.ReadResult{}, err
		}
		params.Timeout = max(0, time.Until(deadline)).Milliseconds()
		var events []awp.Event
		var result ipc.ReadResult
		events, result, err = gather(ctx, conn, ipc.Wait, params)
		conn.Close()
		if err == nil {
			return events, result, nil
		}
		if ipc.Lost(err) && ctx.Err() == nil {
			conn, err = a.reattach(ctx, waitAbsence)
			if err != nil && ctx.Err() == nil && a.killed() {
				conn, err = a.store(ctx)
			}
		}
	}
}
