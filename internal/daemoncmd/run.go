package daemoncmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/supervise"
	"github.com/awp-suite/awp/ipc"
)

// programs are the programs of a home, in the order of start: each dials only those
// before it.
var programs = []struct{ name, socket string }{
	{"awp-store", ipc.StoreSocket},
	{"awp-wire", ipc.WireSocket},
}

// Run is the daemon of home. It returns nil after a clean close on SIGINT or SIGTERM, or
// on SIGHUP where that is not ignored, or when ctx ends; else the reason why it did not
// come up. It writes the outcome of the start to ready; where that is nil, to the pipe
// that [Start] handed it, if it was Start.
func Run(ctx context.Context, home string, flags config.Flags, ready *os.File) error {
	if ready == nil {
		ready = inheritedReady()
	}
	ctx, stop := signal.NotifyContext(ctx, closeSignals()...)
	defer stop()
	// The first signal closes; a second one kills, and the programs go by themselves.
	defer context.AfterFunc(ctx, stop)()

	d := daemon{home: home, ready: ready}
	err := d.run(ctx, flags)
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		d.report(&awp.Error{Code: awp.Unreachable, Message: "the daemon was stopped while it started", Hint: "start it again: awp up", Cause: err})
		return nil
	}
	d.report(err)
	if ready != nil && errors.Is(err, supervise.ErrRunning) {
		return nil // it is told; in the log of the daemon that runs it would be noise
	}
	return err
}

func closeSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// daemon is one run of it.
type daemon struct {
	home  string
	ready *os.File // nil once the outcome of the start is told
	log   *slog.Logger
}

func (d *daemon) run(ctx context.Context, flags config.Flags) error {
	settings, env, err := d.settings(flags)
	if err != nil {
		return err
	}
	paths, err := findPrograms()
	if err != nil {
		return err
	}
	lock, err := supervise.Acquire(ctx, d.home)
	if err != nil {
		return err
	}
	defer lock.Release()

	out := newLogWriter(os.Stderr, d.home)
	d.log = slog.New(slog.NewTextHandler(out, nil))
	for _, w := range settings.Warnings {
		d.log.Warn("settings", "warning", w)
	}
	sockets, err := d.listen()
	defer closeAll(sockets)
	if err != nil {
		return err
	}
	s, err := supervise.Start(supervise.Config{
		Lock:     lock,
		Sockets:  sockets,
		Programs: supervised(paths, env),
		Log:      d.log,
		Output:   out,
	})
	if err != nil {
		return err
	}
	defer s.Stop()
	if err := s.Settle(ctx, d.probe); err != nil {
		return startError(err)
	}
	lock.Started()
	d.log.Info("daemon serves", "pid", os.Getpid(), "release", awp.Release)
	d.report(nil)

	<-ctx.Done()
	d.log.Info("daemon closing")
	// From here on whoever needs a daemon waits for the next one: the socket files go,
	// too, so that nobody calls a program that is about to close.
	lock.Closing()
	closeAll(sockets)
	return nil
}

// settings judges the settings before anything starts, and returns the environment by
// which the programs find the same ones.
func (d *daemon) settings(flags config.Flags) (config.Settings, []string, error) {
	if err := config.Prepare(d.home); err != nil {
		return config.Settings{}, nil, err
	}
	env, err := flags.Environ(os.Getenv)
	if err != nil {
		return config.Settings{}, nil, err
	}
	settings, err := config.Load(d.home, overlay(env))
	return settings, append(env, "AWP_HOME="+d.home), err
}

// dyingFor is how long a socket may answer on behalf of a program that is gone: the system
// may drop the lock of a killed process before its sockets.
const dyingFor = time.Second

// answers reports whether somebody serves the socket, and still does after a while.
func answers(path string) bool {
	for deadline := time.Now().Add(dyingFor); ; {
		nc, err := net.Dial("unix", path)
		if err == nil {
			nc.Close()
		}
		if err != nil && !errors.Is(err, syscall.EAGAIN) { // EAGAIN: it has too many callers just now
			return false
		}
		if time.Now().After(deadline) {
			return true
		}
		time.Sleep(10 * time.Millisecond) // nobody tells
	}
}

// listen makes the sockets. Nothing of this home runs, so whatever answers on one of them
// is somebody else: systemd, in all likelihood, and its socket must not be taken away.
func (d *daemon) listen() (map[string]*net.UnixListener, error) {
	sockets := make(map[string]*net.UnixListener)
	for _, p := range programs {
		path := ipc.SocketPath(d.home, p.socket)
		if answers(path) {
			return sockets, &awp.Error{
				Code:    awp.Busy,
				Message: path + " is served already, and not by a daemon of awp",
				Hint:    "if systemd runs the suite there is nothing to start; see: systemctl --user list-sockets",
			}
		}
		l, err := ipc.Listen(d.home, p.socket)
		if err != nil {
			return sockets, err
		}
		sockets[p.socket] = l
	}
	return sockets, nil
}

// closeAll closes the sockets and takes their files away.
func closeAll(sockets map[string]*net.UnixListener) {
	for name, l := range sockets {
		l.Close()
		delete(sockets, name)
	}
}

// probe returns once every program serves.
func (d *daemon) probe(ctx context.Context) error {
	for _, p := range programs {
		c, who, err := serving(ctx, ctx, d.home, p.socket)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		c.Close()
		if who.Release != awp.Release {
			return &awp.Error{
				Code:    awp.Skew,
				Message: fmt.Sprintf("%s is of release %s, awp of %s", p.name, who.Release, awp.Release),
				Hint:    "install the programs of one release side by side",
			}
		}
	}
	return nil
}
