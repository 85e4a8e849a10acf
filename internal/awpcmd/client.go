package awpcmd

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
)

// Daemon is how the command starts, stops and is the daemon. The functions are those of
// internal/daemoncmd; cmd/awp puts the two together, since glue imports no other glue.
type Daemon struct {
	// Ensure connects to one of the home's sockets. It starts the daemon first when
	// none runs, and says whether it did. The connection is being read.
	Ensure func(ctx context.Context, home, socket string, flags config.Flags) (*ipc.Conn, bool, error)
	// Retry makes a call that may be repeated, and repeats it for a while when the
	// connection ends before the answer.
	Retry func(ctx context.Context, home, socket string, call func(context.Context, *ipc.Conn) error) error
	// Down stops the daemon and waits for its end. It reports whether one was running.
	Down func(ctx context.Context, home string) (bool, error)
	// Run is the daemon, until it is told to stop. It tells ready, or else whoever
	// started it, how the start went.
	Run func(ctx context.Context, home string, flags config.Flags, ready *os.File) error
}

// homeDir returns the home that this run is about.
func (a *app) homeDir() (string, error) { return config.Home(a.home, os.Getenv) }

// store connects to awp-store, and starts the daemon when none runs.
func (a *app) store(ctx context.Context) (*ipc.Conn, error) {
	return a.ensure(ctx, ipc.StoreSocket)
}

func (a *app) ensure(ctx context.Context, socket string) (*ipc.Conn, error) {
	home, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	c, _, err := a.daemon.Ensure(ctx, home, socket, config.Flags{})
	return c, err
}

// attach connects to awp-store and starts nothing: the error of no daemon is
// code unreachable.
func (a *app) attach(ctx context.Context) (*ipc.Conn, error) {
	home, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	c, err := ipc.Dial(ctx, home, ipc.StoreSocket, nil)
	if err != nil {
		return nil, err
	}
	go c.Run() //nolint:errcheck // the calls on c say it
	return c, nil
}

// ask makes one call that changes nothing, or nothing when it is repeated.
func ask[P, R any](ctx context.Context, a *app, m ipc.Method[P, R], params P) (R, error) {
	return repeat(ctx, a, m, params)
}

// list makes one call that answers in batches, and returns them all. There may be none,
// but the list is not nil: programs get [].
func list[P, E any](ctx context.Context, a *app, m ipc.Stream[P, []E, ipc.None], params P) (all []E, err error) {
	home, err := a.homeDir()
	if err != nil {
		return nil, err
	}
	err = a.daemon.Retry(ctx, home, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) (err error) {
		all, err = collect(ctx, c, m, params)
		return err
	})
	return all, err
}

func collect[P, E any](ctx context.Context, c *ipc.Conn, m ipc.Stream[P, []E, ipc.None], params P) ([]E, error) {
	all := []E{}
	_, err := m.Call(ctx, c, params, func(batch []E) error {
		all = append(all, batch...)
		return nil
	})
	return all, err
}

// repeat makes a call that may be repeated, mostly because it carries a token, until it
// is answered: when the connection ends first, nobody knows whether the daemon acted, and
// asking again with the same token finds out without acting twice.
func repeat[P, R any](ctx context.Context, a *app, m ipc.Method[P, R], params P) (result R, err error) {
	home, err := a.homeDir()
	if err != nil {
		return result, err
	}
	err = a.daemon.Retry(ctx, home, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) (err error) {
		result, err = m.Call(ctx, c, params)
		return err
	})
	return result, err
}

// killed reports whether the daemon ended without being told to: it takes its pid file away
// when it is.
func (a *app) killed() bool {
	home, err := a.homeDir()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(home, "daemon.pid"))
	return err == nil
}

// How often reattach tries.
const (
	reattachFirst = 50 * time.Millisecond
	reattachMax   = time.Second
)

// reattach connects to a daemon whose store went away and is coming back. Where there is
// no daemon any more it tries for as long as absence, and starts none.
func (a *app) reattach(ctx context.Context, absence time.Duration) (*ipc.Conn, error) {
	deadline := time.Now().Add(absence)
	for wait := reattachFirst; ; wait = min(2*wait, reattachMax) {
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		conn, err := a.attach(ctx)
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
