package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// tryFlock takes the lock how (LOCK_EX or LOCK_SH) on f if that is possible at once.
func tryFlock(f *os.File, how int) (bool, error) {
	err := flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// waitFlock takes the lock how on f, waiting for it until ctx ends.
//
// No system has a flock with a deadline. When ctx ends first, the goroutine that waits is
// left behind until the lock comes free, and drops it at once if the caller has closed f.
// Each caller gives up on its whole undertaking then, mostly by ending the process.
func waitFlock(ctx context.Context, f *os.File, how int) error {
	if ok, err := tryFlock(f, how); ok || err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- flock(f, how) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// flock holds f open while it waits: a Close meanwhile takes effect when it returns.
func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = conn.Control(func(fd uintptr) {
		for {
			lockErr = syscall.Flock(int(fd), how)
			if !errors.Is(lockErr, syscall.EINTR) {
				return
			}
		}
	})
	if err = errors.Join(err, lockErr); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}
