package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/lifeline"
)

// Files in a home; the package comment says what they mean.
const (
	LockFile  = "daemon.lock"
	PIDFile   = "daemon.pid"
	startFile = "daemon.start"
)

// leftoverWait bounds how long a new supervisor waits for the programs of one that was
// killed. It is longer than lifeline.CloseWithin, after which they end whatever they are doing.
const leftoverWait = lifeline.CloseWithin + 2*time.Second

// ErrRunning is in the chain of Acquire's error when the home has a daemon, which serves.
var ErrRunning = errors.New("a daemon runs")

// Lock is a home's lock, held. It is not safe for concurrent use.
type Lock struct {
	home  string
	start *os.File // nil once started
	pid   *os.File // nil once closing
	lock  *os.File
}

// Acquire takes the lock of home for this process. While another process starts or stops
// the home's daemon it waits for the outcome; it waits, too, for programs that a killed
// supervisor left. A home that has a daemon is refused with the code busy and
// [ErrRunning]: that daemon then serves, and does not merely start.
//
// The caller says when it serves ([Lock.Started]) and when it begins to close
// ([Lock.Closing]), and releases the lock in any case.
func Acquire(ctx context.Context, home string) (*Lock, error) {
	l := &Lock{home: home}
	err := l.acquire(ctx)
	if err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

func (l *Lock) acquire(ctx context.Context) (err error) {
	if l.start, err = lockStart(ctx, l.home); err != nil {
		return err
	}
	if l.lock, err = openLock(l.home, LockFile); err != nil {
		return err
	}
	held, err := tryFlock(l.lock, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	if !held {
		if err := l.waitLeftovers(ctx); err != nil {
			return err
		}
	}
	if err := l.writePID(); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return &awp.Error{Code: awp.Full, Message: "the disk is full: " + err.Error(), Hint: "free some space and try again", Cause: err}
		}
		return err
	}
	return nil
}

// waitLeftovers waits for whoever holds daemon.lock, unless that is a supervisor. Nobody
// else is starting: we hold daemon.start.
func (l *Lock) waitLeftovers(ctx context.Context) error {
	pid, err := Running(l.home)
	if err != nil {
		return err
	}
	if pid != 0 {
		return &awp.Error{
			Code:    awp.Busy,
			Message: fmt.Sprintf("the daemon of this home already runs (pid %d)", pid),
			Hint:    "see it: awp status; stop it: awp down",
			Cause:   ErrRunning,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverWait)
	defer cancel()
	err = waitFlock(ctx, l.lock, syscall.LOCK_EX)
	if errors.Is(err, context.DeadlineExceeded) {
		return &awp.Error{
			Code:    awp.Busy,
			Message: "programs of an earlier daemon of this home still run",
			Hint:    "find and end them: fuser " + filepath.Join(l.home, LockFile),
			Cause:   err,
		}
	}
	return err
}

// writePID makes daemon.pid, locked before it has its name. It is a new file each time:
// an old one may be open in someone who asks about the supervisor before us.
func (l *Lock) writePID() error {
	path := filepath.Join(l.home, PIDFile)
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	l.pid = f
	if _, err := tryFlock(f, syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// Started says that the daemon serves: whoever waits to start another may now go on, and
// be refused.
func (l *Lock) Started() {
	if l.start != nil {
		l.start.Close()
		l.start = nil
	}
}

// Closing says that this daemon is not to be used any more. Whoever starts the next one
// waits until the lock is free.
func (l *Lock) Closing() {
	if l.pid != nil {
		os.Remove(filepath.Join(l.home, PIDFile)) //nolint:errcheck // unlocked, it says nothing
		l.pid.Close()
		l.pid = nil
	}
}

// Release gives up this process's part in the lock: programs that still run keep theirs.
func (l *Lock) Release() {
	l.Closing()
	l.Started()
	if l.lock != nil {
		l.lock.Close()
		l.lock = nil
	}
}

// Running returns the pid of the supervisor of home that serves or starts, or 0. One that
// has begun to close does not count, nor do programs that one left.
func Running(home string) (int, error) {
	f, err := os.Open(filepath.Join(home, PIDFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if free, err := tryFlock(f, syscall.LOCK_SH); free || err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("read %s: %q is not a pid", PIDFile, text)
	}
	return pid, nil
}

// StopDaemon asks the supervisor of home to close, with SIGTERM, and waits until nothing
// of the home runs. It reports whether anything did. One that is still starting is
// stopped, too.
func StopDaemon(ctx context.Context, home string) (wasRunning bool, err error) {
	first, err := terminate(home, 0)
	if err != nil {
		return false, err
	}
	start, err := lockStart(ctx, home) // from here on nobody starts
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // no home, no daemon
	}
	if err != nil {
		return first != 0, err
	}
	defer start.Close()
	if _, err := terminate(home, first); err != nil {
		return true, err
	}
	lock, err := openLock(home, LockFile)
	if err != nil {
		return first != 0, err
	}
	defer lock.Close()
	if free, err := tryFlock(lock, syscall.LOCK_SH); free || err != nil {
		return first != 0, err
	}
	return true, waitFlock(ctx, lock, syscall.LOCK_SH)
}

// terminate sends SIGTERM to the supervisor of home and returns its pid; none, or the one
// called done, is left alone.
func terminate(home string, done int) (int, error) {
	pid, err := Running(home)
	if err != nil || pid == 0 || pid == done {
		return pid, err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return pid, fmt.Errorf("stop the daemon (pid %d): %w", pid, err)
	}
	return pid, nil
}

// lockStart waits for daemon.start.
func lockStart(ctx context.Context, home string) (*os.File, error) {
	f, err := openLock(home, startFile)
	if err != nil {
		return nil, err
	}
	if err := waitFlock(ctx, f, syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("wait for another start or stop of the daemon: %w", err)
	}
	return f, nil
}

func openLock(home, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(home, name), os.O_CREATE|os.O_RDWR, 0o600)
}
