//go:build linux

package nettest

import (
	"bytes"
	"encoding/json/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// commandWithin bounds any awp command: longer than up waits for a tailcat address.
const commandWithin = 70 * time.Second

// home is one agent: a directory, and the programs that run in it while it is up.
type home struct {
	t   *testing.T
	dir string
	env []string
	ns  string // where it runs; empty: where the tests do
}

// command is a program that will run in a network namespace.
func command(ns, program string, args ...string) *exec.Cmd {
	if ns == "" {
		return exec.Command(program, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", ns, program}, args...)...)
}

// newHome makes a home whose settings are what a relay printed, or nothing.
func newHome(t *testing.T, settings string) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	if err := os.Chmod(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if settings != "" {
		h.write("config.json", settings)
	}
	t.Cleanup(func() {
		if out, err := h.try("down"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", h.dir, h.read("daemon.log"))
		}
	})
	return h
}

// run runs an awp command and returns its output.
func (h *home) run(args ...string) string {
	h.t.Helper()
	out, err := h.try(args...)
	if err != nil {
		h.t.Fatalf("awp %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try returns standard output, and with an error standard error, too.
func (h *home) try(args ...string) (string, error) {
	cmd := command(h.ns, program("awp"), args...)
	cmd.Env = append(cleanEnv(), "AWP_HOME="+h.dir)
	cmd.Env = append(cmd.Env, h.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return "", err
	}
	watchdog := time.AfterFunc(commandWithin, func() { cmd.Process.Kill() }) //nolint:errcheck // Wait says it
	defer watchdog.Stop()
	if err := cmd.Wait(); err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

// cleanEnv is the environment without the caller's own AWP settings.
func cleanEnv() (env []string) {
	for _, set := range os.Environ() {
		if !strings.HasPrefix(set, "AWP_") {
			env = append(env, set)
		}
	}
	return env
}

func (h *home) status() (s awp.Status) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.run("status", "--json")), &s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// up brings the home up and returns its address.
func (h *home) up(args ...string) string {
	h.t.Helper()
	out := h.run(append([]string{"up"}, args...)...)
	address := h.status().Tailcat
	if address == "" || !strings.Contains(out, "address  "+address) {
		h.t.Fatalf("up printed no tailcat address:\n%s", out)
	}
	return address
}

// until waits until ok holds, and returns how long that took.
func (h *home) until(within time.Duration, what string, ok func() bool) time.Duration {
	h.t.Helper()
	began := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Since(began) > within {
			h.t.Fatalf("%s: not within %v", what, within)
		}
		<-tick.C
	}
	return time.Since(began)
}

// says sends a message and waits until the peer has it on disk.
func (h *home) says(peer, text string) {
	h.t.Helper()
	h.run("send", peer, text, "--wait-ack", "30s")
}

// hears takes the unread messages and looks for one.
func (h *home) hears(text string) {
	h.t.Helper()
	if out := h.run("tail", "--once"); !strings.Contains(out, text) {
		h.t.Fatalf("did not hear %q in:\n%s", text, out)
	}
}

var started = regexp.MustCompile(`msg="program started" program=(\S+) pid=(\d+)`)

// kill kills a program of the home, as a crash would, and waits for its successor.
func (h *home) kill(name string) {
	h.t.Helper()
	starts := h.starts(name)
	if err := syscall.Kill(starts[len(starts)-1], syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	h.until(10*time.Second, name+" starts again", func() bool { return len(h.starts(name)) > len(starts) })
}

// starts are the pids that a program had so far.
func (h *home) starts(name string) (pids []int) {
	for _, m := range started.FindAllStringSubmatch(h.read("daemon.log"), -1) {
		if m[1] == name {
			pid, _ := strconv.Atoi(m[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

func (h *home) read(name string) string {
	text, _ := os.ReadFile(h.path(name))
	return string(text)
}

func (h *home) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}
