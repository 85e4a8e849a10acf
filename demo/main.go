// Command demo plays one real task between two agents on this machine, with the programs
// in the directory that its argument names, and checks every step. It is what `make demo`
// runs: the quickest way to see what the suite does. It uses nothing but the command awp.
//
// With -transport tailcat the two meet through a relay that the demo starts, on loopback,
// and then talk through a tunnel, as two machines behind routers would.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	transport := flag.String("transport", "unix", "unix, or tailcat through a relay on this machine")
	flag.Parse()
	if flag.NArg() != 1 || *transport != "unix" && *transport != "tailcat" {
		fmt.Fprintln(os.Stderr, "usage: demo [-transport unix|tailcat] DIRECTORY-OF-THE-PROGRAMS")
		os.Exit(2)
	}
	start := time.Now()
	if err := run(flag.Arg(0), *transport == "tailcat"); err != nil {
		fmt.Fprintln(os.Stderr, "demo failed:", err)
		os.Exit(1)
	}
	fmt.Printf("\nevery step held, in %.1f seconds\n", time.Since(start).Seconds())
}

func run(bin string, tunnel bool) (err error) {
	bin, err = filepath.Abs(bin)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "awp-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	lead := &agent{name: "lead@laptop", awp: filepath.Join(bin, "awp"), home: filepath.Join(tmp, "lead")}
	worker := &agent{name: "worker@sandbox", awp: filepath.Join(bin, "awp"), home: filepath.Join(tmp, "worker")}
	if tunnel {
		stop, err := relay(bin, tmp, lead, worker)
		if err != nil {
			return err
		}
		defer stop()
	}
	defer func() {
		for _, a := range []*agent{lead, worker} {
			if _, derr := a.run("down"); derr != nil {
				err = errors.Join(err, derr)
			}
		}
	}()
	return play(lead, worker, tmp)
}

// play is the task, as two agents would do it.
func play(lead, worker *agent, tmp string) error {
	s := &script{}

	s.say("Two agents come up, each with a home of its own.")
	up := s.on(worker, "up", "--name", worker.name, "--about", "Test runner for acme/api")
	s.on(lead, "up", "--name", lead.name)

	s.say("The lead connects to the worker's address.")
	address := strings.TrimSpace(s.quiet(worker, "address"))
	s.expect(up, "address  "+address)
	s.on(lead, "connect", address)
	s.on(lead, "alias", worker.name, "w")

	s.say("The lead hands over a task, with data.")
	s.on(lead, "send", "w", "--subject", "Run the integration suite",
		"--data", `{"repo":"acme/api","commit":"a1b2c3"}`,
		"Run make integration at a1b2c3 and send me the failures.", "--wait-ack", "10s")
	th := s.thread(lead)

	s.say("The worker finds it and says that it is on it.")
	s.expect(s.on(worker, "tail", "--once"), "Run make integration at a1b2c3")
	s.on(worker, "state", th, "working", "--note", "running the suite")
	s.expect(s.on(lead, "wait", "--thread", th, "--timeout", "10s"), "working: running the suite")

	s.say("It has a question. The lead answers.")
	s.on(worker, "state", th, "waiting", "--note", "one question")
	s.on(worker, "send", "--thread", th, "auth_test.go needs a token. Skip it, or do you have one?")
	s.waitFor(lead, th, "Skip it, or do you have one?")
	s.on(lead, "send", "--thread", th, "Use the fixture token, testdata/token.")
	s.waitFor(worker, th, "Use the fixture token")
	s.on(worker, "state", th, "working")

	s.say("The worker sends the result: a log of 1.2 MB, and a fix as code.")
	log, sum, err := writeLog(filepath.Join(tmp, "integration.log"))
	if err != nil {
		return err
	}
	fix := filepath.Join(tmp, "fix.diff")
	if err := os.WriteFile(fix, []byte("--- a/auth_test.go\n+++ b/auth_test.go\n@@ -12 +12 @@\n-\ttoken := \"\"\n+\ttoken := fixture(t, \"token\")\n"), 0o600); err != nil {
		return err
	}
	s.on(worker, "send", "--thread", th, "41 of 42 pass. One failure in auth_test.go: log and proposed fix attached.",
		"--file", log, "--code", fix)
	s.on(worker, "state", th, "done")

	s.say("The lead, who waited for the end, reads it all and closes the thread.")
	s.waitState(lead, th)
	s.on(lead, "read", th)
	s.on(lead, "blobs")
	s.checkFile(lead, sum)
	s.on(lead, "state", th, "closed")
	s.waitClosed(worker, th)
	s.on(worker, "threads")

	s.say("Both go down. Nothing is left behind.")
	return s.err
}

// writeLog writes a log file of 1.2 MB and returns its hash.
func writeLog(path string) (string, [32]byte, error) {
	var b bytes.Buffer
	for i := 0; b.Len() < 1_200_000; i++ {
		fmt.Fprintf(&b, "%06d ok  acme/api/pkg%02d  %s\n", i, i%42, strings.Repeat("x", rand.IntN(60)))
	}
	return path, sha256.Sum256(b.Bytes()), os.WriteFile(path, b.Bytes(), 0o600)
}

// agent is one side: a name, a home, and where it listens.
type agent struct{ name, awp, home, listen string }

// run runs one awp command in the agent's home and returns what it printed.
func (a *agent) run(args ...string) (string, error) {
	cmd := exec.Command(a.awp, args...)
	listen := a.listen
	if listen == "" {
		listen = "unix:" + a.home + ".sock"
	}
	cmd.Env = []string{"AWP_HOME=" + a.home, "AWP_LISTEN=" + listen}
	for _, set := range os.Environ() { // the caller's own AWP settings are not the demo's
		if !strings.HasPrefix(set, "AWP_") {
			cmd.Env = append(cmd.Env, set)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		return stdout.String(), fmt.Errorf("%s: awp %s: %w\n%s", a.name, strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// script plays commands until one fails, and keeps the first failure.
type script struct{ err error }

func (s *script) say(text string) {
	if s.err == nil {
		fmt.Printf("\n%s\n", text)
	}
}

// on runs a command and shows it as a terminal would.
func (s *script) on(a *agent, args ...string) string {
	if s.err != nil {
		return ""
	}
	shown := make([]string, len(args))
	for i, arg := range args {
		if shown[i] = arg; strings.ContainsAny(arg, " {?") {
			shown[i] = "'" + arg + "'"
		}
	}
	fmt.Printf("%s$ awp %s\n", a.name, strings.Join(shown, " "))
	out := s.quiet(a, args...)
	fmt.Print(out)
	return out
}

func (s *script) quiet(a *agent, args ...string) string {
	if s.err != nil {
		return ""
	}
	out, err := a.run(args...)
	s.err = err
	return out
}

func (s *script) expect(out, want string) {
	if s.err == nil && !strings.Contains(out, want) {
		s.err = fmt.Errorf("expected to see %q in:\n%s", want, out)
	}
}

// waitFor waits until the agent reads a message that says want.
func (s *script) waitFor(a *agent, th, want string) {
	for deadline := time.Now().Add(10 * time.Second); s.err == nil; {
		if out := s.on(a, "wait", "--thread", th, "--timeout", "10s"); strings.Contains(out, want) {
			return
		}
		if time.Now().After(deadline) {
			s.err = fmt.Errorf("%s never saw %q", a.name, want)
		}
	}
}

// waitState waits until the peer reports the end of the work.
func (s *script) waitState(a *agent, th string) {
	for s.err == nil {
		out := s.on(a, "wait", "--thread", th, "--state", "done,failed", "--timeout", "20s")
		if strings.Contains(out, "is done") {
			return
		}
	}
}

type thread struct {
	Th         string `json:"th"`
	TheirState string `json:"their_state"`
}

func (s *script) threads(a *agent) []thread {
	var list []thread
	out := s.quiet(a, "threads", "--json")
	if s.err == nil {
		s.err = json.Unmarshal([]byte(out), &list)
	}
	return list
}

func (s *script) thread(a *agent) string {
	list := s.threads(a)
	if s.err == nil && len(list) != 1 {
		s.err = fmt.Errorf("%d threads, want 1", len(list))
	}
	if s.err != nil {
		return ""
	}
	return list[0].Th
}

func (s *script) waitClosed(a *agent, th string) {
	s.quiet(a, "wait", "--thread", th, "--state", "closed", "--timeout", "10s")
	if list := s.threads(a); s.err == nil && list[0].TheirState != "closed" {
		s.err = fmt.Errorf("%s sees the lead as %s, want closed", a.name, list[0].TheirState)
	}
}

// checkFile compares the received file with what was sent.
func (s *script) checkFile(a *agent, want [32]byte) {
	var blobs []struct {
		Path   string `json:"path"`
		Status string `json:"status"`
	}
	out := s.quiet(a, "blobs", "--json")
	if s.err == nil {
		s.err = json.Unmarshal([]byte(out), &blobs)
	}
	if s.err != nil {
		return
	}
	if len(blobs) != 1 || blobs[0].Status != "complete" {
		s.err = fmt.Errorf("the file is not complete: %s", out)
		return
	}
	data, err := os.ReadFile(blobs[0].Path)
	switch {
	case err != nil:
		s.err = err
	case sha256.Sum256(data) != want:
		s.err = errors.New("the file that came is not the file that was sent")
	default:
		fmt.Printf("the file is intact: sha256 %x\n", want[:8])
	}
}
