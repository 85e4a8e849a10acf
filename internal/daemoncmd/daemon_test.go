package daemoncmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/supervise"
	"github.com/awp-suite/awp/ipc"
)

// ensure connects to the store of home and returns its pid.
func ensure(t *testing.T, home string) (pid int, started bool) {
	t.Helper()
	c, started, err := Ensure(t.Context(), home, ipc.StoreSocket, config.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	who, err := ipc.Ready.Call(t.Context(), c, ipc.None{})
	if err != nil || who.Program != "awp-store" {
		t.Fatalf("got %+v, %v", who, err)
	}
	return who.PID, started
}

func TestLife(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	first, started := ensure(t, home)
	if !started {
		t.Error("it was not started")
	}
	if again, started := ensure(t, home); started || again != first {
		t.Errorf("started again: %v, store %d after %d", started, again, first)
	}
	if fi, err := os.Stat(filepath.Join(home, logFile)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v, %v", fi, err)
	}
	if was, err := Down(t.Context(), home); !was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
	if was, err := Down(t.Context(), home); was || err != nil {
		t.Errorf("down again: %v, %v", was, err)
	}
	for _, name := range []string{ipc.StoreSocket, ipc.WireSocket, supervise.PIDFile} {
		if _, err := os.Lstat(filepath.Join(home, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if _, started := ensure(t, home); !started {
		t.Error("it was not started after down")
	}
}

func TestRacingStarts(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	var starts atomic.Int32
	var pids sync.Map
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c, started, err := Ensure(t.Context(), home, ipc.WireSocket, config.Flags{})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if started {
				starts.Add(1)
			}
			who, err := ipc.Ready.Call(t.Context(), c, ipc.None{})
			if err != nil {
				t.Error(err)
			}
			pids.Store(who.PID, true)
		})
	}
	all.Wait()
	n := 0
	pids.Range(func(any, any) bool { n++; return true })
	if starts.Load() != 1 || n != 1 {
		t.Errorf("%d starts, %d programs answer", starts.Load(), n)
	}
}

func TestFailedStart(t *testing.T) {
	for name, test := range map[string]struct {
		program, how string
		config       string
		code         awp.Code
		message      []string // parts of it
		hint         string
	}{
		"a program refuses": {
			program: "awp-store", how: "refuse", code: awp.Internal,
			message: []string{"awp-store cannot start: the database is of a later release"}, hint: "install that release",
		},
		"a program of another release": {
			program: "awp-wire", how: "old", code: awp.Skew,
			message: []string{"awp-wire is of release 0.0.9"}, hint: "side by side",
		},
		"bad settings": {
			config: "{\n \"presence\": 1}", code: awp.Invalid,
			message: []string{"config.json:2:14: presence: got 1, want true or false"}, hint: "correct the file",
		},
		"a crash": {
			program: "awp", how: "crash", code: awp.Unreachable,
			message: []string{"the daemon ended before it served", "awp: something broke"}, hint: logFile,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := newHome(t)
			if test.program != "" {
				behave(t, home, test.program, test.how)
			}
			if test.config != "" {
				if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(test.config), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, started, err := Ensure(t.Context(), home, ipc.StoreSocket, config.Flags{})
			if started || awp.CodeOf(err) != test.code || !strings.Contains(awp.HintOf(err), test.hint) {
				t.Fatalf("got %v, %v, code %s, hint %q", started, err, awp.CodeOf(err), awp.HintOf(err))
			}
			for _, part := range test.message {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
			if pid, err := supervise.Running(home); pid != 0 || err != nil {
				t.Errorf("running: %d, %v", pid, err)
			}
		})
	}
}

// hanging starts a daemon whose store never serves, and returns once that hangs.
func hanging(t *testing.T, ctx context.Context, home string) <-chan error {
	t.Helper()
	behave(t, home, "awp-store", "hang")
	l, err := net.Listen("unix", filepath.Join(home, "hangs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, home, config.Flags{})
		failed <- err
		l.Close()
	}()
	if _, err := l.Accept(); err != nil {
		t.Fatal(<-failed)
	}
	return failed
}

func TestStartIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 seconds")
	}
	t.Parallel()
	err := <-hanging(t, t.Context(), newHome(t))
	if awp.CodeOf(err) != awp.Unreachable || !strings.Contains(err.Error(), "did not serve within 10s") ||
		!strings.Contains(err.Error(), "program started") {
		t.Errorf("got %v", err)
	}
}

func TestDownEndsAStart(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	failed := hanging(t, t.Context(), home)
	if was, err := Down(t.Context(), home); !was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
	if err := <-failed; awp.CodeOf(err) != awp.Unreachable || !strings.Contains(err.Error(), "was stopped while it started") {
		t.Errorf("start: %v", err)
	}
}

// A starter that is interrupted leaves the daemon to itself.
func TestInterruptedStarter(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := hanging(t, ctx, home)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("start: %v", err)
	}
	if was, err := Down(t.Context(), home); !was || err != nil {
		t.Errorf("down: %v, %v", was, err)
	}
}

func TestFlagsReachThePrograms(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	c, _, err := Ensure(t.Context(), home, ipc.StoreSocket, config.Flags{Name: "codex@box"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := echo.Call(t.Context(), c, "t")
	if err != nil || got.Name != "codex@box" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The daemon outlives its starter, and holds nothing that the starter was given.
func TestDaemonHoldsNothing(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	up := exec.Command("awp", "up", "--home", home)
	up.ExtraFiles = []*os.File{w}
	up.Stdout, up.Stderr = w, w
	err = up.Run()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	r.SetReadDeadline(time.Now().Add(5 * time.Second))
	if out, err := io.ReadAll(r); err != nil || len(out) > 0 {
		t.Errorf("the pipe is still held: %q, %v", out, err)
	}
	if _, started := ensure(t, home); started {
		t.Error("the daemon went with its starter")
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	before, _ := ensure(t, home)
	behave(t, home, "crash", "")
	calls := 0
	var got echoed
	err := Retry(t.Context(), home, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) (err error) {
		calls++
		got, err = echo.Call(ctx, c, "token")
		return err
	})
	if err != nil || got.Token != "token" || calls != 2 {
		t.Errorf("got %+v, %v after %d calls", got, err, calls)
	}
	if after, started := ensure(t, home); after == before || started {
		t.Errorf("store %d after %d, daemon started: %v", after, before, started)
	}
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	before, _ := ensure(t, home)
	pid, err := supervise.Running(home)
	if err != nil || pid == 0 {
		t.Fatalf("running: %d, %v", pid, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The old store may answer in its last moment; a repeated call finds the new one.
	for {
		var now int
		err := Retry(t.Context(), home, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) error {
			who, err := ipc.Ready.Call(ctx, c, ipc.None{})
			now = who.PID
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if now != before {
			break
		}
	}
	if now, err := supervise.Running(home); now == pid || now == 0 || err != nil {
		t.Errorf("running: %d, %v", now, err)
	}
}

func TestDeepHome(t *testing.T) {
	runtime, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	home := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	stopWithTest(t, home)
	ensure(t, home)
	note, err := os.ReadFile(filepath.Join(home, ipc.PathFile))
	if err != nil || !strings.HasPrefix(string(note), runtime) {
		t.Errorf("%s says %q, %v", ipc.PathFile, note, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", "/nowhere") // another shell
	if _, started := ensure(t, home); started {
		t.Error("a second daemon was started")
	}
}

// Where systemd holds the sockets they answer, and no daemon of ours takes them away.
func TestForeignSocket(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	l, err := ipc.Listen(home, ipc.StoreSocket)
	if err != nil {
		t.Fatal(err)
	}
	s := ipc.NewServer()
	ipc.Handle(s, ipc.Ready, func(context.Context, ipc.None) (ipc.ReadyResult, error) {
		return ipc.ReadyResult{Program: "awp-store", Release: awp.Release}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-done }()

	c, started, err := Ensure(t.Context(), home, ipc.StoreSocket, config.Flags{})
	if err != nil || started {
		t.Fatalf("got %v, %v", started, err)
	}
	c.Close()
	if _, err := Start(t.Context(), home, config.Flags{}); awp.CodeOf(err) != awp.Busy {
		t.Errorf("start: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, ipc.StoreSocket)); err != nil {
		t.Errorf("the socket was taken away: %v", err)
	}
}

func TestForeground(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sig) {
				t.Skip("whoever runs the tests has the signal ignored, as nohup does, and so the daemon ignores it")
			}
			home := newHome(t)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := exec.Command("awp", "daemon", "--home", home)
			cmd.Env = append(os.Environ(), envReady+"=3")
			cmd.ExtraFiles = []*os.File{w}
			var log strings.Builder
			cmd.Stderr = &log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if o, err := readOutcome(r); err != nil || !o.Ready {
				t.Fatalf("got %+v, %v, log:\n%s", o, err, &log)
			}
			second := exec.Command("awp", "daemon", "--home", home)
			if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), fmt.Sprintf("already runs (pid %d)", cmd.Process.Pid)) {
				t.Errorf("a second one: %v, %s", err, out)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("after %v: %v", sig, err)
			}
			if !strings.Contains(log.String(), "daemon closing") || strings.Contains(log.String(), "restarted") {
				t.Errorf("log:\n%s", &log)
			}
		})
	}
}

// A daemon in this process: the outcome of the start, and a close by context.
func TestRun(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, home, config.Flags{}, w) }()
	if o, err := readOutcome(r); err != nil || !o.Ready {
		t.Fatalf("got %+v, %v", o, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
