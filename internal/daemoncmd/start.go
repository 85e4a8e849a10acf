package daemoncmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
)

// startWithin bounds how long a command waits for the daemon to serve.
const startWithin = 10 * time.Second

// Start starts the daemon of home in the background, in a session of its own, and waits
// until it serves. It reports false when another one already does, as when two commands
// start it at once: that one is to be used, whatever the flags.
func Start(ctx context.Context, home string, flags config.Flags) (started bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := config.Prepare(home); err != nil {
		return false, err
	}
	log, err := openLog(home)
	if err != nil {
		return false, &awp.Error{Code: awp.Invalid, Message: "cannot start the daemon: " + err.Error(), Cause: err}
	}
	defer log.Close()
	began := size(log)
	r, err := spawn(home, flags, log)
	if err != nil {
		return false, fmt.Errorf("start the daemon: %w", err)
	}
	defer r.Close()
	stop := context.AfterFunc(ctx, func() { r.SetReadDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a pipe has deadlines
	defer stop()

	o, err := readOutcome(r)
	switch {
	case err == nil && o.Running:
		return false, nil
	case err == nil:
		return o.Ready, o.err()
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return false, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the daemon did not serve within %v", startWithin)
	}
	path := filepath.Join(home, logFile)
	return false, &awp.Error{
		Code:    awp.Unreachable,
		Message: err.Error() + endOf(path, began),
		Hint:    "read " + path,
		Cause:   err,
	}
}

// endOf is the end of the log, written from offset on, as it follows a sentence.
func endOf(path string, offset int64) string {
	lines := lastLines(path, offset)
	if len(lines) == 0 {
		return ", and wrote nothing to its log"
	}
	return "; its log ends:\n  " + strings.Join(lines, "\n  ")
}

// spawn starts the daemon and returns the pipe on which it tells how that went. The flags
// travel as environment, as they will to the programs.
func spawn(home string, flags config.Flags, log *os.File) (*os.File, error) {
	awpPath, err := findProgram("awp")
	if err != nil {
		return nil, err
	}
	env, err := flags.Environ(os.Getenv)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	keepToOurselves()
	cmd := exec.Command(awpPath, "daemon", "--home", home)
	cmd.Dir = home // hold nobody's directory busy
	cmd.Env = append(append(os.Environ(), env...), envReady+"=3")
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		r.Close()
		return nil, err
	}
	// Whoever stays longer than the daemon (awp-mcp may) must collect its end. Ends with
	// the daemon or with us.
	go cmd.Wait() //nolint:errcheck // the pipe says more
	return r, nil
}

// keepToOurselves takes whatever we inherited, beyond the standard three, out of what we
// pass on. The daemon stays: it must not hold a pipe that somebody waits for the end of,
// nor a lock that a script took around us. What Go opened is marked already.
func keepToOurselves() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
