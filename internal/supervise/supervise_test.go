package supervise

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp/internal/lifeline"
)

// patienceOf a test with processes: only a failing test waits as long.
const testPatience = 20 * time.Second

// buffer is a bytes.Buffer for several writers.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts programs under a supervisor in this process, with the sockets they name.
func start(t *testing.T, programs ...Program) (s *Supervisor, home string, log *buffer) {
	t.Helper()
	home, log = t.TempDir(), &buffer{}
	lock, err := Acquire(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lock.Release)
	sockets := make(map[string]*net.UnixListener)
	for _, p := range programs {
		for _, name := range p.Sockets {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(home, name)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			sockets[name] = l
		}
	}
	s, err = Start(Config{
		Lock: lock, Sockets: sockets, Programs: programs,
		Log: slog.New(slog.NewTextHandler(log, nil)), Output: log,
		grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s, home, log
}

// settle waits until the sockets are served.
func settle(t *testing.T, s *Supervisor, home string, sockets ...string) {
	t.Helper()
	err := s.Settle(t.Context(), func(context.Context) error {
		for _, name := range sockets {
			ask(t, home, name, "")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ask connects to a socket, says what is to be said, and returns the answer.
func ask(t *testing.T, home, socket, say string) answer {
	t.Helper()
	nc, err := net.Dial("unix", filepath.Join(home, socket))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(testPatience))
	var a answer
	if err := json.UnmarshalRead(nc, &a); err != nil {
		t.Fatalf("ask %s: %v", socket, err)
	}
	if say != "" {
		nc.Write([]byte(say))
		nc.Read(make([]byte, 1)) // until it is gone
	}
	return a
}

func TestSocketsArePassed(t *testing.T) {
	t.Setenv("LISTEN_FDS", "9") // as if systemd had started us
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("NOTIFY_SOCKET", "/nowhere")
	p := self("awp-two", "serve", "a", "b")
	p.Env = []string{"EXTRA=yes"}
	s, home, _ := start(t, p)
	settle(t, s, home, "a", "b")
	for _, name := range p.Sockets {
		a := ask(t, home, name, "")
		if a.ListenPID != a.PID {
			t.Errorf("LISTEN_PID is %d, the program is %d", a.ListenPID, a.PID)
		}
		if a.FDs != "2" || a.Names != "a:b" || a.Extra != "yes" || a.Notify != "" || a.Parent != os.Getpid() {
			t.Errorf("got %+v", a)
		}
	}
}

func TestRestart(t *testing.T) {
	for _, end := range []string{"by itself", "kill -9"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s, home, log := start(t, self("awp-a", "serve", "a"))
			settle(t, s, home, "a")
			var before answer
			if end == "by itself" {
				before = ask(t, home, "a", "die")
			} else {
				before = ask(t, home, "a", "")
				if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			// Nobody serves, but the socket is there: the call waits.
			after := ask(t, home, "a", "")
			if after.PID == before.PID {
				t.Errorf("the same process %d still serves", after.PID)
			}
			if after.ListenPID != after.PID {
				t.Errorf("LISTEN_PID is %d, the program is %d", after.ListenPID, after.PID)
			}
			for _, want := range []string{"program=awp-a", "wait="} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q:\n%s", want, log)
				}
			}
		})
	}
}

func TestEndWhileStarting(t *testing.T) {
	s, _, log := start(t, self("awp-a", "serve", "a"), self("awp-b", "crash"))
	err := s.Settle(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	e, ok := errors.AsType[*ExitError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := []string{"one", "two", "awp-test: no room", "awp-test: hint: make some"}
	if e.Program != "awp-b" || e.Status != "exit status 7" || !slices.Equal(e.Last, want) {
		t.Errorf("got %+v", e)
	}
	if !strings.Contains(log.String(), "hint: make some\n") {
		t.Errorf("its output is not in the log:\n%s", log)
	}
}

func TestMissingProgram(t *testing.T) {
	p := self("awp-a", "serve", "a")
	p.Path = "/nowhere/awp-a"
	s, _, _ := start(t, p)
	err := s.Settle(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

func TestStopInReverseOrder(t *testing.T) {
	order := filepath.Join(t.TempDir(), "order")
	a, b := self("awp-a", "serve", "a"), self("awp-b", "serve", "b")
	a.Args = append(a.Args, order)
	b.Args = append(b.Args, order)
	s, home, _ := start(t, a, b)
	settle(t, s, home, "a", "b")
	s.Stop()
	got, err := os.ReadFile(order)
	if err != nil || string(got) != "b\na\n" {
		t.Errorf("closed in the order %q, %v", got, err)
	}
}

func TestStopKills(t *testing.T) {
	s, home, log := start(t, self("awp-a", "stubborn", "a"))
	settle(t, s, home, "a")
	s.Stop()
	if !strings.Contains(log.String(), "signal: killed") {
		t.Errorf("the log says\n%s", log)
	}
}

// A process that a program left behind, with its output, must not hold up the restart.
func TestOutputHeldOpen(t *testing.T) {
	s, _, _ := start(t, self("awp-a", "leave"))
	err := s.Settle(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	e, ok := errors.AsType[*ExitError](err)
	if !ok || len(e.Last) != 1 {
		t.Fatalf("got %v", err)
	}
	var pid int
	if _, err := fmt.Sscanf(e.Last[0], "left %d", &pid); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
}

// daemon starts a supervisor as a process of its own and waits until it serves.
func daemon(t *testing.T, home string) *exec.Cmd {
	t.Helper()
	p := self("", "supervisor")
	cmd := exec.Command(p.Path, append(p.Args, home)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line := make([]byte, 100)
	n, err := out.Read(line)
	if string(line[:n]) != "ready\n" {
		t.Fatalf("got %q, %v", line[:n], err)
	}
	return cmd
}

// gone waits until nothing of the home runs, and returns how long that took.
func gone(t *testing.T, home string) time.Duration {
	t.Helper()
	began := time.Now()
	lock, err := openLock(home, LockFile)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	if err := waitFlock(ctx, lock, syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestSupervisorKilled(t *testing.T) {
	home := t.TempDir()
	first := daemon(t, home)
	before := []answer{ask(t, home, "a", ""), ask(t, home, "b", "")}
	first.Process.Kill()
	first.Wait()              // or it may still count as running
	second := daemon(t, home) // it waits for the programs that the first one left
	for i, name := range []string{"a", "b"} {
		after := ask(t, home, name, "")
		if after.Parent != second.Process.Pid || after.PID == before[i].PID {
			t.Errorf("%s is served by %+v, before by %+v", name, after, before[i])
		}
	}
}

func TestProgramsFollowTheirSupervisor(t *testing.T) {
	home := t.TempDir()
	d := daemon(t, home)
	ask(t, home, "a", "")
	ask(t, home, "b", "")
	d.Process.Kill()
	took := gone(t, home)
	t.Logf("the programs were gone after %v", took)
	if took > time.Second {
		t.Errorf("the programs took %v to follow their supervisor", took)
	}
	if pid, err := Running(home); pid != 0 || err != nil {
		t.Errorf("running: %d, %v", pid, err)
	}
}

// A program that does not heed its context is ended all the same.
func TestDeafProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 seconds")
	}
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := self("", "deaf")
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = append(os.Environ(), lifeline.EnvPipe+"=3")
	cmd.ExtraFiles = []*os.File{r}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v", err)
	}
}

func TestStopDaemon(t *testing.T) {
	home := t.TempDir()
	daemon(t, home)
	ask(t, home, "a", "")
	was, err := StopDaemon(t.Context(), home)
	if !was || err != nil {
		t.Fatalf("got %v, %v", was, err)
	}
	if _, err := os.Stat(filepath.Join(home, PIDFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", PIDFile, err)
	}
	if was, err := StopDaemon(t.Context(), home); was || err != nil {
		t.Errorf("the second time: %v, %v", was, err)
	}
	daemon(t, home)
}

// BenchmarkStub compares the start of a program through the stub with its plain start.
func BenchmarkStub(b *testing.B) {
	p := self("", "nothing")
	run := func(b *testing.B, args []string) {
		for b.Loop() {
			cmd := exec.Command(p.Path)
			cmd.Args = args
			cmd.Stderr = io.Discard
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	}
	argv := append([]string{p.Path}, p.Args...)
	b.Run("plain", func(b *testing.B) { run(b, argv) })
	b.Run("stub", func(b *testing.B) { run(b, stubArgs(p.Path, p.Path, argv)) })
}
