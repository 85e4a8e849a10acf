package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp/internal/supervise"
)

var started = regexp.MustCompile(`msg="program started" program=(awp-\w+) pid=(\d+)`)

// pid returns the process of a program of the home, 0 when there is none: of awp, which
// is the supervisor, by daemon.pid, of the others by the supervisor's log. So they are
// found from their first moment on, long before they answer.
func (h *home) pid(program string) int {
	if program == "awp" {
		var pid int
		h.within(func() { pid, _ = supervise.Running(h.dir) })
		return pid
	}
	pid := 0
	for _, m := range started.FindAllStringSubmatch(h.log(), -1) {
		if m[1] == program {
			pid, _ = strconv.Atoi(m[2])
		}
	}
	if pid == 0 || !ours(pid) {
		return 0
	}
	return pid
}

// ours reports whether pid is, still, a program that this test run started.
func ours(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if errors.Is(err, os.ErrNotExist) && !exists("/proc/self/exe") {
		return true // no such file system: the log has to do
	}
	return strings.HasPrefix(exe, bin+string(filepath.Separator))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// signal sends a signal to a program of the home, if it runs.
func (h *home) signal(program string, sig syscall.Signal) (pid int) {
	if pid = h.pid(program); pid > 0 {
		syscall.Kill(pid, sig) //nolint:errcheck // it may end by itself
	}
	return pid
}

// kill kills a program of the home as the kernel would, if it runs.
func (h *home) kill(program string) (pid int) { return h.signal(program, syscall.SIGKILL) }

// gone waits for the end of a process.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, 15*time.Second, func() error {
		if ours(pid) {
			return fmt.Errorf("process %d still runs", pid)
		}
		return nil
	})
}

// arm has the program that passes the point for the n-th time from now on killed there.
func (h *home) arm(point string, n int) {
	h.write("failpoint", fmt.Sprintf("%s %d %d\n", point, n, time.Now().UnixNano()))
}

// fired reports nothing once the armed point killed its program.
func (h *home) fired() error {
	if text, err := os.ReadFile(filepath.Join(h.dir, "failpoint")); err == nil {
		return fmt.Errorf("%s: nobody passed %s", h.name, strings.TrimSpace(string(text)))
	}
	return nil
}
