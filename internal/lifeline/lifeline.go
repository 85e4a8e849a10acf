// Package lifeline is what a program of the suite has from its supervisor beside its
// sockets: a pipe that ends when the supervisor does, and a part in the home's lock. It
// is the program's half, apart from the supervisor's, so that programs that may start no
// other do not link what starts programs.
package lifeline

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// The variables by which a program finds what it inherited.
const (
	EnvPipe = "AWP_LIFELINE_FD" // the pipe's read end
	EnvLock = "AWP_LOCK_FD"     // daemon.lock, held by being open
)

// CloseWithin is how long a program may take to close once its supervisor is gone. The
// next supervisor waits that long for it.
const CloseWithin = 5 * time.Second

// ErrOrphaned is the cause of a context that [Watch] ended.
var ErrOrphaned = errors.New("the supervisor is gone")

// Watch returns a context that ends when ctx does or the supervisor of this
// process is gone; under another one, such as systemd, it returns ctx. A program calls it
// once, first in main, before it starts any other.
//
// A program whose supervisor is gone must not live: it has the socket that the next
// daemon's program will have, and the lock. One that has not closed in 5 seconds exits.
func Watch(ctx context.Context) context.Context {
	lifeline, ok := inherited(EnvPipe)
	if !ok {
		return ctx
	}
	inherited(EnvLock)
	// The log's pipe ends with the supervisor, too. Caught, the signal of a write to it
	// is an error that slog drops, and the program closes in order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	syscall.SetNonblock(lifeline, true) //nolint:errcheck // else the read only blocks a thread
	r := os.NewFile(uintptr(lifeline), "lifeline")
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(ctx, func() { r.Close() })
	go func() { // ends with ctx: the context closes r
		if _, err := io.Copy(io.Discard, r); err == nil {
			time.AfterFunc(CloseWithin, func() { os.Exit(1) })
			cancel(ErrOrphaned)
		}
	}()
	return ctx
}

// inherited takes the file descriptor that the variable names, and both out of what
// programs started from here inherit.
func inherited(name string) (fd int, ok bool) {
	fd, err := strconv.Atoi(os.Getenv(name))
	os.Unsetenv(name)
	if err != nil || fd < 3 {
		return 0, false
	}
	syscall.CloseOnExec(fd)
	return fd, true
}
