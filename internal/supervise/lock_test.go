package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/awp-suite/awp"
)

func acquire(t *testing.T, home string) *Lock {
	t.Helper()
	l, err := Acquire(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

// later acquires the lock of home in a goroutine.
func later(t *testing.T, home string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		l, err := Acquire(t.Context(), home)
		if err == nil {
			l.Release()
		}
		done <- err
	}()
	return done
}

func mustRun(t *testing.T, home string, want int) {
	t.Helper()
	if pid, err := Running(home); pid != want || err != nil {
		t.Errorf("running: %d, %v; want %d", pid, err, want)
	}
}

func TestLockRefusesWhileServing(t *testing.T) {
	home := t.TempDir()
	mustRun(t, home, 0)
	l := acquire(t, home)
	mustRun(t, home, os.Getpid())
	second := later(t, home) // waits for the outcome
	l.Started()
	if err := <-second; !errors.Is(err, ErrRunning) || awp.CodeOf(err) != awp.Busy || awp.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	l.Release()
	mustRun(t, home, 0)
	if err := <-later(t, home); err != nil {
		t.Error(err)
	}
}

func TestLockPassesOnAFailedStart(t *testing.T) {
	home := t.TempDir()
	l := acquire(t, home)
	second := later(t, home)
	l.Release()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

func TestLockWaitsForOneThatCloses(t *testing.T) {
	home := t.TempDir()
	l := acquire(t, home)
	l.Started()
	l.Closing()
	mustRun(t, home, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Acquire(ctx, home); !errors.Is(err, context.Canceled) {
		t.Errorf("while it closes: %v", err)
	}
	second := later(t, home)
	l.Release()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// A pid that nobody holds a lock on is a stale one, whoever has it now: here it is ours,
// and a signal would end the test.
func TestStalePIDIsLeftAlone(t *testing.T) {
	home := t.TempDir()
	pid := []byte(strconv.Itoa(os.Getpid()) + "\n")
	if err := os.WriteFile(filepath.Join(home, PIDFile), pid, 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, home, 0)
	if was, err := StopDaemon(t.Context(), home); was || err != nil {
		t.Errorf("stop: %v, %v", was, err)
	}
	acquire(t, home)
	mustRun(t, home, os.Getpid())
}

func TestStopWithoutHome(t *testing.T) {
	if was, err := StopDaemon(t.Context(), filepath.Join(t.TempDir(), "none")); was || err != nil {
		t.Errorf("stop: %v, %v", was, err)
	}
}

func TestBadPIDFile(t *testing.T) {
	home := t.TempDir()
	l := acquire(t, home)
	if err := l.pid.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if pid, err := Running(home); err == nil {
		t.Errorf("an empty pid file names %d", pid)
	}
}
