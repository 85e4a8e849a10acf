package awpcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/doctor"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

// How long doctor waits for an answer before that is what it found.
const (
	helloWithin = 6 * time.Second // of a program; awp-wire's may take 3
	askWithin   = 10 * time.Second
	checkWithin = 20 * time.Second // of the database, unless --within says
	noteAfter   = 2 * time.Second  // before people are told what takes so long
)

func doctorCommand(a *app) *cobra.Command {
	within := checkWithin
	c := &cobra.Command{
		Use: "doctor [flags]",
		Long: `Look for what is wrong with this home, in the order in which to mend it, with the fix for
each thing: the programs, the home and its sockets, the daemon, what is on disk, room on the
disk, the clock, the relay, the address, and every peer that is not reachable.

It takes half a minute at most, and what the database needs by --within.
It starts and changes nothing, and never shows a tailcat address: its output can be pasted.
The exit code is 1 when something is wrong; what is merely odd does not count. With --json:
{"ok": …, "checks": [{"name", "status", "detail", "fix", "peer"}], "skipped": […]}. A status
is ok, warn or fail; skipped are the names of checks that need a daemon that answers.`,
		Example: `awp doctor
			awp doctor --json
			awp doctor --within 5m`,
		Args: positionals(0, 0),
	}
	c.Flags().DurationVar(&within, "within", checkWithin, "how long the database may be looked through: a `DURATION` up to 10m")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if most := ipc.MaxCheck * time.Millisecond; within <= 0 || within > most {
			return usagef("--within: got %v, want a duration up to %v", within, render.Duration(most))
		}
		home, err := a.homeDir()
		if err != nil {
			return err
		}
		d := doctor.Judge(a.facts(c.Context(), home, within))
		if a.json {
			err = a.printJSON(d)
		} else {
			err = a.write(render.Diagnosis(nil, d))
		}
		if err != nil || d.OK {
			return err
		}
		return exit(exitError)
	}
	return c
}

// facts asks everyone at once. Each answer has its bound; whoever does not keep it is
// left behind with its goroutine, which ends with the command.
func (a *app) facts(ctx context.Context, home string, within time.Duration) doctor.Facts {
	f := doctor.Facts{Home: home, Release: awp.Release, Within: within, Now: time.Now(), Offload: offloadOn()}
	installed := later(func() []doctor.Program { return a.daemon.Installed(ctx) })
	place := later(func() *doctor.Place { p := lookAt(home); return &p })
	type running struct {
		pid  int
		last doctor.Words
	}
	daemon := later(func() (r running) { r.pid, r.last = a.daemon.Running(home); return r })
	wire := later(func() answered { return hello(ctx, home, "awp-wire", ipc.WireSocket) })
	store := later(func() answered { return hello(ctx, home, "awp-store", ipc.StoreSocket) })

	// The store is asked last: by then it knows what awp-wire, if that was just started,
	// has to say.
	by := time.Now().Add(2 * helloWithin)
	f.Wire = await(wire, by, answered{answer: noAnswer("awp-wire")}).answer
	s := await(store, by, answered{answer: noAnswer("awp-store")})
	if f.Store = s.answer; s.conn != nil {
		a.interview(ctx, s.conn, &f)
	}
	f.Installed = await(installed, by, nil)
	f.Place = await(place, by, nil)
	r := await(daemon, by, running{})
	f.PID, f.Last = r.pid, r.last
	return f
}

// later runs fn and returns where its result will be.
func later[T any](fn func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- fn() }()
	return c
}

// await waits for a result until then, or gives what stands for none.
func await[T any](c <-chan T, until time.Time, none T) T {
	t := time.NewTimer(max(time.Until(until), time.Millisecond))
	defer t.Stop()
	select {
	case v := <-c:
		return v
	case <-t.C:
		return none
	}
}

// answered is how a program answered, and the connection to it.
type answered struct {
	answer doctor.Answer
	conn   *ipc.Conn // nil: it did not
}

func noAnswer(program string) doctor.Answer {
	return doctor.Answer{Program: program, Code: awp.Busy, Words: doctor.Words{Said: fmt.Sprintf("it does not answer within %v", helloWithin)}}
}

// hello asks a program who it is. One that is just being restarted is asked again.
func hello(ctx context.Context, home, program, socket string) answered {
	within, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	for {
		c, err := ipc.Dial(ctx, home, socket, nil)
		if err == nil {
			go c.Run() //nolint:errcheck // the calls on c say it
			var who ipc.ReadyResult
			if who, err = ipc.Ready.Call(within, c, ipc.None{}); err == nil {
				return answered{doctor.Answer{Program: program, Release: who.Release, PID: who.PID}, c}
			}
		}
		if ipc.Lost(err) && sleep(within, reattachFirst) == nil {
			continue
		}
		if within.Err() != nil {
			return answered{answer: noAnswer(program)}
		}
		return answered{answer: doctor.Answer{Program: program, Code: awp.CodeOf(err), Words: doctor.Words{Said: err.Error(), Hint: awp.HintOf(err)}}}
	}
}

// interview asks awp-store all that it knows.
func (a *app) interview(ctx context.Context, c *ipc.Conn, f *doctor.Facts) {
	ctx, cancel := context.WithTimeout(ctx, f.Within+askWithin)
	defer cancel()
	type result[T any] struct {
		value T
		err   error
	}
	health := later(func() (r result[ipc.CheckResult]) {
		r.value, r.err = ipc.Check.Call(ctx, c, ipc.CheckParams{Within: f.Within.Milliseconds()})
		return r
	})
	asked, stop := context.WithTimeout(ctx, askWithin)
	defer stop()
	status, err := ipc.Status.Call(asked, c, ipc.None{})
	if err == nil {
		if f.Peers, err = collect(asked, c, ipc.Peers, ipc.None{}); err == nil {
			f.Status = &status
		}
	}
	f.Asked = words(err)

	note := time.AfterFunc(noteAfter, func() {
		a.note("awp doctor: the database is being looked through, for %v at most", f.Within)
	})
	defer note.Stop()
	r := <-health
	if r.err != nil {
		f.Asked = words(r.err)
		return
	}
	h := doctor.Health{
		Problems: r.value.Problems, Cut: r.value.Cut, Took: time.Duration(r.value.Took) * time.Millisecond, Size: r.value.Size,
		Now: r.value.Now, Newest: r.value.Newest, Lease: r.value.Lease,
		Ahead: make(map[awp.Key]time.Duration), Refused: make(map[awp.Key]string),
	}
	for _, p := range r.value.Ahead {
		h.Ahead[p.Peer] = time.Duration(p.By) * time.Millisecond
	}
	for _, p := range r.value.Refused {
		h.Refused[p.Peer] = p.Reason
	}
	f.Health = &h
}

// words are an error for people, where there is one.
func words(err error) doctor.Words {
	switch {
	case err == nil:
		return doctor.Words{}
	case err == context.DeadlineExceeded: //nolint:errorlint // ipc returns it as it is
		return doctor.Words{Said: "it does not answer in time"}
	}
	return doctor.Words{Said: err.Error(), Hint: awp.HintOf(err)}
}
