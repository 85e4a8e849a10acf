package suite

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/daemoncmd"
	"github.com/awp-suite/awp/ipc"
)

// home is one agent's home and the means to use it as its owner would.
type home struct {
	t    *testing.T
	base string // holds the home, and is removed after the test
	dir  string // the home
	name string
	addr string   // where it listens
	env  []string // of the commands, besides the test's own

	// within runs fn where the home's files are seen, see smallDisk.
	within func(fn func())
}

// settings are what config.json says.
type settings map[string]any

// commandWithin bounds a command that is not told to wait.
const commandWithin = 60 * time.Second

// newHome makes a home that listens on a Unix socket, or where the settings say. Nothing
// is started yet; whatever will be is stopped after the test.
func newHome(t *testing.T, name string, set settings) *home {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "as") // short: a socket's path is at most 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, base: base, dir: filepath.Join(base, "h"), name: name, addr: "unix:" + filepath.Join(base, "s")}
	h.within = func(fn func()) { fn() }
	t.Cleanup(h.end)
	if addr, ok := set["listen"].(string); ok {
		h.addr = addr
	}
	all := settings{"name": name, "listen": []string{h.addr}}
	maps.Copy(all, set)
	all["listen"] = []string{h.addr}
	h.write("config.json", string(must(json.Marshal(all))))
	h.write("test.gap", "20ms") // a killed program is back soon
	return h
}

// write writes a file of the home, as a whole.
func (h *home) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	var err error
	h.within(func() {
		err = errors.Join(os.MkdirAll(h.dir, 0o700), os.WriteFile(path+".tmp", []byte(text), 0o600), os.Rename(path+".tmp", path))
	})
	check(h.t, err)
}

// end stops everything of the home, whatever state it is in, and removes it.
func (h *home) end() {
	if h.t.Failed() {
		h.t.Logf("%s of %s:\n%s", "daemon.log", h.name, lastOf(h.log(), 200))
	}
	if r := h.awp("down"); r.exit != 0 {
		h.t.Errorf("awp down: %v", r)
		for _, program := range []string{"awp", "awp-wire", "awp-store"} {
			h.kill(program)
		}
	}
	if os.Getenv("AWP_SUITE_KEEP") != "" && h.t.Failed() {
		h.t.Logf("kept %s", h.base)
		return
	}
	os.Chmod(h.dir, 0o700) //nolint:errcheck // a test may have closed it
	os.RemoveAll(h.base)
}

// log returns daemon.log.
func (h *home) log() (text string) {
	h.within(func() {
		b, _ := os.ReadFile(filepath.Join(h.dir, "daemon.log"))
		text = string(b)
	})
	return text
}

func lastOf(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// result is how a command ended.
type result struct {
	out, err string
	exit     int
}

func (r result) String() string {
	return fmt.Sprintf("exit %d\nstdout: %s\nstderr: %s", r.exit, r.out, r.err)
}

// command prepares a run of awp on this home.
func (h *home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "awp"), append([]string{"--home", h.dir}, args...)...)
	cmd.Env = append(append(os.Environ(), "HOME="+h.base), h.env...)
	cmd.Dir = h.base
	return cmd
}

// awp runs a command.
func (h *home) awp(args ...string) (r result) {
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	h.within(func() { r = finish(h.command(ctx, args...)) })
	return r
}

func finish(cmd *exec.Cmd) result {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	r := result{out: out.String(), err: errs.String(), exit: cmd.ProcessState.ExitCode()}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		r.err += err.Error()
	}
	return r
}

// ok runs a command that must succeed, and returns its stdout.
func (h *home) ok(args ...string) string {
	h.t.Helper()
	r := h.awp(args...)
	if r.exit != 0 {
		h.t.Fatalf("%s: awp %s: %v", h.name, strings.Join(args, " "), r)
	}
	return r.out
}

// get runs a command that must succeed and decodes what it prints with --json.
func get[T any](h *home, args ...string) T {
	h.t.Helper()
	var v T
	if err := json.Unmarshal([]byte(h.ok(append(args, "--json")...)), &v); err != nil {
		h.t.Fatalf("awp %s: %v", strings.Join(args, " "), err)
	}
	return v
}

// key returns who the home is; it starts the daemon if need be.
func (h *home) key() awp.Key { return get[awp.Status](h, "up").Key }

// call makes a call as awp does: over whatever becomes of the daemon meanwhile, which it
// starts if none runs.
func call[P, R any](h *home, m ipc.Method[P, R], params P) (result R, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	err = daemoncmd.Retry(ctx, h.dir, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) (err error) {
		result, err = m.Call(ctx, c, params)
		return err
	})
	return result, err
}

// peer returns what h knows of the other home, and an error when it knows nothing.
func (h *home) peer(other awp.Key) (awp.Peer, error) {
	return call(h, ipc.Resolve, ipc.ResolveParams{Who: other.String()})
}

// linked reports nothing once h has a link with the peer.
func (h *home) linked(other awp.Key) error {
	p, err := h.peer(other)
	if err == nil && !p.Connected {
		err = fmt.Errorf("%s is not connected to %s", h.name, other.Short())
	}
	return err
}

// settled reports nothing once everything h sent is acknowledged.
func (h *home) settled() error {
	st, err := call(h, ipc.Status, ipc.None{})
	if err == nil && st.Outbox > 0 {
		err = fmt.Errorf("%s has %d lines in its outbox", h.name, st.Outbox)
	}
	return err
}

// ports counts up below the ports that the kernel hands to those who dial: a home must get
// its own again after a restart.
var ports atomic.Int32

func init() { ports.Store(int32(20000 + os.Getpid()%8000)) }

// tcpAddr returns an address of this machine that nobody listens on.
func tcpAddr() string {
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", ports.Add(1))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return "tcp:" + addr
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
