package daemoncmd

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
)

// answerWithin bounds how long a program may take to say that it serves, and how long
// Retry goes on asking.
const answerWithin = 10 * time.Second

// pace is the least time between two tries at a program that hangs up.
const pace = 100 * time.Millisecond

// Ensure connects to the program that serves the socket of home, and starts the daemon
// with flags if nobody does; it says whether it did. The connection is read already, by a
// goroutine that ends with it: the caller makes calls and closes it.
func Ensure(ctx context.Context, home, socket string, flags config.Flags) (c *ipc.Conn, started bool, err error) {
	for range 2 { // a second time if the daemon we found or started was stopped meanwhile
		c, err = open(ctx, home, socket)
		if awp.CodeOf(err) != awp.Unreachable || ctx.Err() != nil {
			return c, started, err
		}
		if started, err = Start(ctx, home, flags); err != nil {
			return nil, false, err
		}
	}
	c, err = open(ctx, home, socket)
	return c, started, err
}

// open connects and makes sure that the program answers.
func open(ctx context.Context, home, socket string) (*ipc.Conn, error) {
	within, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, _, err := serving(ctx, within, home, socket)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, &awp.Error{
			Code:    awp.Busy,
			Message: fmt.Sprintf("the daemon runs but does not answer on %s within %v", socket, answerWithin),
			Hint:    "read " + filepath.Join(home, logFile) + "; then: awp down",
			Cause:   err,
		}
	}
	return c, err
}

// serving connects to a socket and waits, at most as long as within, until the program
// behind it answers. One that is being restarted is waited for: the supervisor holds the
// socket. The error is unreachable when nobody holds it. The connection ends with ctx.
func serving(ctx, within context.Context, home, socket string) (*ipc.Conn, ipc.ReadyResult, error) {
	for {
		c, who, err := ask(ctx, within, home, socket)
		if !ipc.Lost(err) {
			return c, who, err
		}
		timer := time.NewTimer(pace) // it crashed, or hangs up on us
		select {
		case <-timer.C:
		case <-within.Done():
			timer.Stop()
			return nil, who, context.Cause(within)
		}
	}
}

func ask(ctx, within context.Context, home, socket string) (*ipc.Conn, ipc.ReadyResult, error) {
	c, err := ipc.Dial(ctx, home, socket, nil)
	if err != nil {
		return nil, ipc.ReadyResult{}, err
	}
	go c.Run() //nolint:errcheck // the calls on c say it
	who, err := ipc.Ready.Call(within, c, ipc.None{})
	if err != nil {
		c.Fail(err)
		return nil, who, err
	}
	return c, who, nil
}

// Retry makes a call that may be repeated, because it changes nothing or carries a token:
// when the connection ends before the answer, it connects anew, starting the daemon if
// need be, and calls again, for about ten seconds. Once a call's outcome is unknown no
// trouble with the daemon ends that: only an answer tells what became of it. call returns
// ipc's error as it is.
func Retry(ctx context.Context, home, socket string, call func(context.Context, *ipc.Conn) error) error {
	var deadline time.Time // zero: every call so far was never made, or answered
	for {
		c, _, err := Ensure(ctx, home, socket, config.Flags{})
		asked := err == nil
		if asked {
			err = call(ctx, c)
			c.Close()
		}
		switch {
		case asked && !ipc.Lost(err):
			return err
		case !asked && deadline.IsZero(), ctx.Err() != nil:
			return err
		case deadline.IsZero():
			deadline = time.Now().Add(answerWithin)
		}
		timer := time.NewTimer(pace)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		if time.Now().After(deadline) {
			return &awp.Error{
				Code:    awp.Unreachable,
				Message: "the daemon ended before it answered, again and again: what was asked for may be done or not",
				Hint:    "read " + filepath.Join(home, logFile) + ", then look before you ask again",
				Cause:   err,
			}
		}
	}
}
