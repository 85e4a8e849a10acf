package awpcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// sending is what the flags of send say.
type sending struct {
	subject, thread, to, re string
	content                 content
	waitAck                 time.Duration
}

func sendCommand(a *app) *cobra.Command {
	var s sending
	c := &cobra.Command{
		Use: "send [flags] [<peer>] [<text>...]",
		Long: `Send a message. Without --thread it starts a new thread, whose subject is by default the
first line of the text. With --thread the peer can be left out. Text - is read from stdin.

Sending does not fail because the peer is away: the message is on this disk when send
returns, and goes out when the peer is back. A message, its text, code and data together,
fits in a line of 1 MiB; send more as a file. Parts go in this order: text, code, data,
files.`,
		Example: `awp send builder --subject "Run the integration suite" "Run make integration and send me the failures."
			awp send --thread thr_9k2abcd -f build.log "Full build log"
			git diff | awp send --thread thr_9k2abcd -
			awp send builder --data '{"branch":"main"}' --wait-ack 30s "Are you there?"`,
	}
	f := c.Flags()
	f.StringVarP(&s.subject, "subject", "s", "", "`SUBJECT` of a new thread, or of one without; it reads like a task's title")
	f.StringVarP(&s.thread, "thread", "t", "", "`THREAD` to reply in")
	f.StringVar(&s.to, "to", "", "`PEER`, instead of the first argument")
	f.StringVar(&s.re, "re", "", "`ID` of the message this replies to")
	f.StringArrayVar(&s.content.code, "code", nil, "send the contents of `FILE` as a code part (repeatable)")
	f.StringVar(&s.content.lang, "lang", "", "`LANGUAGE` of the code parts (default: by file extension)")
	f.StringArrayVar(&s.content.data, "data", nil, "send `JSON` as a data part (repeatable)")
	f.StringVar(&s.content.mime, "mime", "", "mime `TYPE` of the data parts (default application/json)")
	f.StringArrayVarP(&s.content.files, "file", "f", nil, "attach `FILE` (repeatable)")
	f.DurationVar(&s.waitAck, "wait-ack", 0, "wait this `DURATION` for the peer's ack (default 1s while it is connected; 0: do not wait)")
	a.completeFlags(c, "thread", "to")
	c.ValidArgsFunction = a.completePeer
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range []string{"thread", "to", "re"} {
			if err := notEmpty(c, name); err != nil {
				return err
			}
		}
		who, text, err := a.recipient(c.Context(), s, args)
		if err != nil {
			return err
		}
		if s.content.text, err = a.text(text); err != nil {
			return err
		}
		parts, err := s.content.parts()
		if err != nil {
			return err
		}
		params := ipc.SendParams{
			Token:   newToken(),
			Thread:  awp.ThreadID(s.thread),
			Subject: s.subject,
			Re:      awp.MessageID(s.re),
			Parts:   parts,
		}
		if c.Flags().Changed("wait-ack") {
			ms := max(0, (s.waitAck + time.Millisecond - 1).Milliseconds())
			params.WaitAck = &ms
		}
		if params.Who, err = a.reach(c.Context(), who); err != nil {
			return err
		}
		sent, err := repeat(c.Context(), a, ipc.Send, params)
		if err != nil {
			return err
		}
		if s.thread != "" && s.subject != "" && !a.json {
			a.noteSubject(c.Context(), sent, s.subject)
		}
		return a.printSent(sent)
	}
	return c
}

// noteSubject tells the sender that the thread has another subject already, and keeps it.
func (a *app) noteSubject(ctx context.Context, sent ipc.SendResult, subject string) {
	conn, err := a.store(ctx)
	if err != nil {
		return // the message is sent, and that is what counts
	}
	_, r, err := gather(ctx, conn, ipc.Read, ipc.ReadParams{Who: sent.Peer.String(), Thread: sent.Th, Last: 1})
	if err == nil && r.Thread != nil && r.Thread.Subject != subject {
		a.note("note: --subject has no effect: the subject of the thread is \"%s\"", render.Line(r.Thread.Subject))
	}
}

// newToken returns a token for one call; see package ipc.
func newToken() string { return string(wire.NewIDs(nil, nil).Next()) }

// notEmpty refuses a flag that was given without anything in it: a script's variable was
// empty, and what it meant is not what leaving the flag out means.
func notEmpty(c *cobra.Command, name string) error {
	if f := c.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
		return &awp.Error{Code: awp.Invalid, Message: "--" + name + " is empty", Hint: "leave the flag out, or give it a value"}
	}
	return nil
}

// recipient tells the peer from the text among the positionals.
func (a *app) recipient(ctx context.Context, s sending, args []string) (who string, text []string, err error) {
	switch {
	case s.to != "":
		return s.to, args, nil
	case s.thread == "" && len(args) == 0:
		return "", nil, usagef("to whom? name a peer, or a thread with --thread")
	case s.thread == "":
		return args[0], args[1:], nil
	case len(args) > 0 && args[0] == a.dashed: // text would not look like that
		return a.dashed, args[1:], nil
	case len(args) < 2: // one word is text: the thread says to whom
		return "", args, nil
	}
	if _, err := wire.ParseAddr(args[0]); err == nil {
		return args[0], args[1:], nil
	}
	switch _, err := ask(ctx, a, ipc.Resolve, ipc.ResolveParams{Who: args[0]}); awp.CodeOf(err) {
	case "":
		return args[0], args[1:], nil
	case awp.NotFound, awp.Invalid: // no peer is called that
		return "", args, nil
	default:
		return "", nil, err
	}
}

// noteUnread tells, before the result, that the sender has not read all that the peer
// wrote in the thread.
func (a *app) noteUnread(sent ipc.SendResult) {
	if sent.Unread == 0 {
		return
	}
	a.note("note: %d unread from %s in this thread (%s): awp read %s", sent.Unread, render.Line(sent.Label),
		render.Ago(sent.UnreadSince, time.Now()), render.Arg(string(sent.Th)))
}

func (a *app) printSent(sent ipc.SendResult) error {
	if a.json {
		return a.printJSON(sent.Sent)
	}
	a.noteUnread(sent)
	return a.printf("sent %s to %s in %s (%s)\n", sent.ID, render.Line(sent.Label), render.Line(string(sent.Th)), delivery(sent))
}

// delivery says how far a message got. It never says more than is known: "delivered"
// means that the peer has it on its disk.
func delivery(sent ipc.SendResult) string {
	switch {
	case sent.Acked:
		return "delivered"
	case !sent.Connected:
		return "queued until the peer is reachable"
	case sent.WaitedOut:
		return "not acknowledged yet"
	}
	return "delivering"
}

func stateCommand(a *app) *cobra.Command {
	var note string
	c := &cobra.Command{
		Use: "state [flags] [<peer>] <thread> <state>",
		Long: `Tell the peer your view of a thread: open, working, waiting, done, failed or closed. Other
words are allowed. The peer can be left out when only one has a thread of that id.`,
		Example: `awp state thr_9k2abcd working --note "running tests"
			awp state builder thr_9k2abcd failed -n "the staging database is down"`,
		Args:              positionals(2, 3),
		ValidArgsFunction: a.completeState,
	}
	c.Flags().StringVarP(&note, "note", "n", "", "a short `NOTE`: what you are doing, or why it failed")
	c.RunE = func(c *cobra.Command, args []string) error {
		params := ipc.SetStateParams{Token: newToken(), Note: note}
		if len(args) == 3 {
			who, err := a.reach(c.Context(), args[0])
			if err != nil {
				return err
			}
			params.Who, args = who, args[1:]
		}
		params.Thread, params.State = awp.ThreadID(args[0]), args[1]
		if params.Thread == "" || params.State == "" {
			return usagef("the thread and the state cannot be empty")
		}
		sent, err := repeat(c.Context(), a, ipc.SetState, params)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(sent.Sent)
		}
		a.noteUnread(sent)
		return a.write(fmt.Appendf(nil, "you are now %s on %s (told %s)\n",
			render.Line(params.State), render.Line(string(sent.Th)), render.Line(sent.Label)))
	}
	return c
}
