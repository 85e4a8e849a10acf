package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/awp-suite/awp/internal/failpoint"

	"github.com/awp-suite/awp/internal/lifeline"
)

// ExitError says that a program ended by itself.
type ExitError struct {
	Program string
	Status  string   // "exit status 1", "signal: killed"
	Last    []string // the last lines it wrote, oldest first; may be empty
}

func (e *ExitError) Error() string {
	msg := fmt.Sprintf("%s ended: %s", e.Program, e.Status)
	if n := len(e.Last); n > 0 {
		msg += ": " + e.Last[n-1]
	}
	return msg
}

// child is one program, through all its restarts.
type child struct {
	s       *Supervisor
	program Program
	cancel  context.CancelFunc // asks it to close
	done    chan struct{}      // closed when it has, and stays so
}

// run starts the goroutine that owns the program.
func (c *child) run() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.done = cancel, make(chan struct{})
	go func() {
		defer close(c.done)
		c.keep(ctx)
	}()
}

// stop closes the program and waits for it.
func (c *child) stop() {
	c.cancel()
	<-c.done
}

// keep runs the program again and again until ctx ends.
func (c *child) keep(ctx context.Context) {
	log := c.s.cfg.Log.With("program", c.program.Name)
	var b backoff
	for {
		began := time.Now()
		err := c.once(ctx, log)
		if ctx.Err() != nil {
			log.Info("program closed", "status", err.Status)
			return
		}
		if !c.s.ended(err) {
			return
		}
		wait := b.next(time.Since(began))
		if gap, err := time.ParseDuration(failpoint.Setting(c.s.cfg.Lock.home, "gap")); err == nil {
			wait = gap
		}
		log.Error("program ended; it is restarted", "status", err.Status, "wait", wait.Round(time.Millisecond))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// once runs the program to its end.
func (c *child) once(ctx context.Context, log *slog.Logger) *ExitError {
	failed := func(err error) *ExitError {
		return &ExitError{Program: c.program.Name, Status: err.Error()}
	}
	// A pipe for each run, since its ends are shared by whoever has them open: the
	// program sets its end's mode.
	rope, alive, err := os.Pipe()
	if err != nil {
		return failed(err)
	}
	defer alive.Close() // nobody ever writes: open means that we live
	defer rope.Close()
	out, err := newOutput(c.s.cfg.Output)
	if err != nil {
		return failed(err)
	}
	cmd := c.command(ctx, rope)
	cmd.Stdout, cmd.Stderr = out.w, out.w
	err = cmd.Start()
	out.w.Close()
	rope.Close()
	if err != nil {
		out.finish()
		return failed(err)
	}
	log.Info("program started", "pid", cmd.Process.Pid)
	if err = cmd.Wait(); cmd.ProcessState == nil {
		return failed(err)
	}
	return &ExitError{Program: c.program.Name, Status: cmd.ProcessState.String(), Last: out.finish()}
}

// command is the program with all that it inherits: from descriptor 3 on its sockets,
// the lifeline, and the lock.
//
// It gets a process group of its own: a Ctrl-C on a terminal then reaches the supervisor
// alone, which closes the programs in order.
func (c *child) command(ctx context.Context, rope *os.File) *exec.Cmd {
	p, s := c.program, c.s
	cmd := exec.CommandContext(ctx, s.stub)
	cmd.Args = stubArgs(s.stub, p.Path, append([]string{p.Path}, p.Args...))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = s.cfg.grace
	for _, name := range p.Sockets {
		cmd.ExtraFiles = append(cmd.ExtraFiles, s.sockets[name])
	}
	next := 3 + len(p.Sockets)
	cmd.ExtraFiles = append(cmd.ExtraFiles, rope, s.cfg.Lock.lock)
	cmd.Env = append(environ(),
		"LISTEN_FDS="+strconv.Itoa(len(p.Sockets)),
		"LISTEN_FDNAMES="+strings.Join(p.Sockets, ":"),
		lifeline.EnvPipe+"="+strconv.Itoa(next),
		lifeline.EnvLock+"="+strconv.Itoa(next+1),
	)
	cmd.Env = append(cmd.Env, p.Env...)
	return cmd
}

// notOurs are variables that speak to this process alone.
var notOurs = []string{
	"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", // sockets
	"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", // systemd's view of us
}

// environ is this process's environment without what speaks to it alone.
func environ() []string {
	var env []string
next:
	for _, assignment := range os.Environ() {
		for _, name := range notOurs {
			if strings.HasPrefix(assignment, name+"=") {
				continue next
			}
		}
		env = append(env, assignment)
	}
	return env
}
