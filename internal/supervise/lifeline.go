package supervise

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

// How a program finds what it inherited beside its sockets.
const (
	envLifeline = "AWP_LIFELINE_FD" // the lifeline's read end
	envLock     = "AWP_LOCK_FD"     // daemon.lock, held by being open
)

// closeWithin is how long a program may take to close once its supervisor is gone. The
// next supervisor waits that long for it.
const closeWithin = 5 * time.Second

// ErrOrphaned is the cause of a context that [WatchLifeline] ended.
var ErrOrphaned = errors.New("the supervisor is gone")

// WatchLifeline returns a context that ends when ctx does or the supervisor of this
// process is gone; under another one, such as systemd, it returns ctx. A program calls it
// once, first in main, before it starts any other.
//
// A program whose supervisor is gone must not live: it has the socket that the next
// daemon's program will have, and the lock. One that has not closed in 5 seconds exits.
func WatchLifeline(ctx context.Context) context.Context {
	lifeline, ok := inherited(envLifeline)
	if !ok {
		return ctx
	}
	inherited(envLock)
	// The log's pipe ends with the supervisor, too. Caught, the signal of a write to it
	// is an error that slog drops, and the program closes in order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	syscall.SetNonblock(lifeline, true) //nolint:errcheck // else the read only blocks a thread
	r := os.NewFile(uintptr(lifeline), "lifeline")
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(ctx, func() { r.Close() })
	go func() { // ends with ctx: the context closes r
		if _, err := io.Copy(io.Discard, r); err == nil {
			time.AfterFunc(closeWithin, func() { os.Exit(1) })
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
