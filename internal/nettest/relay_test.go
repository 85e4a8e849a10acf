//go:build linux

package nettest

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// relay is an awp-relay on ports of its own, which it keeps.
type relay struct {
	t        *testing.T
	ns       string // where it runs; empty: where the tests do
	args     []string
	settings string // config.json of a home
	cmd      *exec.Cmd
}

var lastPort atomic.Int32

func newRelay(t *testing.T) *relay {
	t.Helper()
	n := int(lastPort.Add(1))
	r := &relay{t: t, args: []string{
		"--listen", "127.0.0.1:" + strconv.Itoa(8440+n), "--stun", "127.0.0.1:" + strconv.Itoa(3470+n),
		"--state", t.TempDir(), "--json"}}
	r.start()
	t.Cleanup(r.close)
	return r
}

// start starts the relay and waits until it serves.
func (r *relay) start() {
	r.t.Helper()
	r.cmd = command(r.ns, program("awp-relay"), r.args...)
	r.cmd.Env = cleanEnv()
	r.cmd.Stderr = os.Stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.t.Fatalf("the relay said nothing: %v", err)
	}
	if r.settings != "" && line != r.settings {
		r.t.Fatalf("the relay came back as another one: %s, before %s", line, r.settings)
	}
	r.settings = line
}

func (r *relay) close() { r.stop(syscall.SIGTERM) }

// stop ends the relay. After SIGTERM it must go by itself, at once.
func (r *relay) stop(sig syscall.Signal) {
	r.t.Helper()
	if r.cmd == nil {
		return
	}
	began := time.Now()
	r.cmd.Process.Signal(sig) //nolint:errcheck // Wait says more
	err := r.cmd.Wait()
	r.cmd = nil
	if sig == syscall.SIGTERM && (err != nil || time.Since(began) > 3*time.Second) {
		r.t.Errorf("the relay closed with %v after %v", err, time.Since(began))
	}
}
