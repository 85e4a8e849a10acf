package suite

import (
	"encoding/binary"
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

func TestTenCommandsStartOneDaemon(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	for range 3 {
		pids := make(map[int]bool)
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				r := h.awp("up", "--json")
				var st awp.Status
				err := json.Unmarshal([]byte(r.out), &st)
				mu.Lock()
				defer mu.Unlock()
				if r.exit != 0 || err != nil {
					t.Errorf("awp up: %v", r)
				}
				pids[st.PID] = true
			})
		}
		all.Wait()
		if len(pids) != 1 {
			t.Errorf("%d daemons: %v", len(pids), pids)
		}
		h.ok("down")
	}
	if n := strings.Count(h.log(), "daemon serves"); n != 3 {
		t.Errorf("%d daemons served, want one a round", n)
	}
}

func TestCleanClose(t *testing.T) {
	for name, end := range map[string]func(h *home){
		"down":    func(h *home) { h.ok("down") },
		"SIGTERM": func(h *home) { gone(h.t, h.signal("awp", syscall.SIGTERM)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "alice", nil)
			other := newHome(t, "bob", nil).key()
			sent := get[awp.Sent](h, "send", other.String(), "keep this")
			pids := []int{h.pid("awp-store"), h.pid("awp-wire")}
			end(h)
			for _, pid := range pids {
				gone(t, pid)
			}
			for _, name := range []string{ipc.StoreSocket, ipc.WireSocket, "daemon.pid"} {
				if exists(filepath.Join(h.dir, name)) {
					t.Errorf("%s is still there", name)
				}
			}
			if fi, err := os.Stat(filepath.Join(h.dir, "awp.db-wal")); err == nil && fi.Size() > 0 {
				t.Errorf("a log of %d bytes was not brought home", fi.Size())
			}
			if r := h.awp("status"); r.exit != 3 {
				t.Errorf("status of a closed daemon: %v", r)
			}
			if out := h.ok("read", string(sent.Th)); !strings.Contains(out, "keep this") {
				t.Errorf("after the restart: %s", out)
			}
		})
	}
}

// A home too deep for a socket's path has its sockets elsewhere, and any shell finds them.
func TestDeepHome(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	deep := filepath.Join(h.base, strings.Repeat("deep/", 30), "h")
	check(t, os.MkdirAll(filepath.Dir(deep), 0o700))
	check(t, os.Rename(h.dir, deep))
	h.dir = deep
	h.env = []string{"XDG_RUNTIME_DIR=" + filepath.Join(h.base)}
	h.ok("up")
	note, err := os.ReadFile(filepath.Join(h.dir, ipc.PathFile))
	check(t, err)
	socket := strings.TrimSpace(string(note))
	if !exists(socket) || !strings.HasPrefix(socket, h.base+"/awp-") {
		t.Errorf("%s says %q", ipc.PathFile, socket)
	}
	h.env = []string{"XDG_RUNTIME_DIR=", "TMPDIR=/nowhere"}
	h.ok("status")
	h.ok("down")
	if exists(socket) {
		t.Errorf("%s is still there", socket)
	}
}

func TestDeadSocketIsReplaced(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(h.dir, ipc.StoreSocket), Net: "unix"})
	check(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	h.ok("up")
	gone(t, h.kill("awp")) // this leaves dead ones, too
	h.ok("up")
}

func TestFileInTheWayOfASocket(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	h.write(ipc.StoreSocket, "precious")
	h.fails("is not a socket", "up")
	check(t, os.Remove(filepath.Join(h.dir, ipc.StoreSocket)))
}

// fails runs a command that must fail soon, with exit status 1 and a sentence.
func (h *home) fails(sentence string, args ...string) {
	h.t.Helper()
	began := time.Now()
	r := h.awp(args...)
	if r.exit != 1 || !strings.Contains(r.err, sentence) || r.out != "" {
		h.t.Errorf("awp %s: want exit 1 and %q: %v", strings.Join(args, " "), sentence, r)
	}
	if took := time.Since(began); took > 12*time.Second {
		h.t.Errorf("awp %s took %v to fail", strings.Join(args, " "), took)
	}
}

func TestHomeNotWritable(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	check(t, os.Chmod(h.dir, 0o500))
	cmd := h.command(t.Context(), "up")
	if os.Getuid() == 0 { // whom no mode stops
		const nobody = 65534
		check(t, os.Chmod(bin, 0o755))
		check(t, os.Chmod(h.base, 0o755))
		check(t, os.Chown(h.dir, nobody, nobody))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if r := finish(cmd); r.exit != 1 || !strings.Contains(r.err, "cannot be written") {
		t.Errorf("want exit 1: %v", r)
	}
	check(t, os.Chown(h.dir, os.Getuid(), os.Getgid()))
	check(t, os.Chmod(h.dir, 0o700))
}

func TestConfigCorrupt(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	h.write("config.json", "{\n  \"name\": \"alice\",\n  \"listen\": [none]\n}\n")
	h.fails("config.json:3:15: not valid JSON", "up")
	h.write("config.json", "{\n  \"ping_interval\": \"often\"\n}\n")
	h.fails("config.json:2:20: ping_interval", "send", "bob", "hi")
}

// userVersion is where a database file keeps its schema's number.
const userVersion = 60

func TestDatabaseOfANewerRelease(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	h.ok("up")
	h.ok("down")
	old := h.patchDatabase(userVersion, binary.BigEndian.AppendUint32(nil, 1000))
	h.fails("written by a newer release", "up")
	h.fails("written by a newer release", "tail", "--once")
	h.patchDatabase(userVersion, old)
	h.ok("up")
}

func TestDatabaseDamaged(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	h.ok("up")
	h.ok("down")
	old := h.patchDatabase(0, []byte("not a database at all"))
	h.fails("the database is damaged", "up")
	h.patchDatabase(0, old)
	h.ok("up")
}

// patchDatabase changes the database file of a home whose daemon is down, and returns
// what was there.
func (h *home) patchDatabase(at int64, bytes []byte) (old []byte) {
	h.t.Helper()
	f, err := os.OpenFile(filepath.Join(h.dir, "awp.db"), os.O_RDWR, 0)
	check(h.t, err)
	defer f.Close()
	old = make([]byte, len(bytes))
	_, err = f.ReadAt(old, at)
	check(h.t, err)
	_, err = f.WriteAt(bytes, at)
	check(h.t, err)
	return old
}

// A daemon killed with all its programs leaves nothing that keeps the next one away.
func TestEverythingKilled(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	for range rounds(3) {
		h.ok("up")
		for _, program := range []string{"awp", "awp-store", "awp-wire"} {
			if h.kill(program) == 0 && program == "awp" {
				t.Error("no supervisor to kill")
			}
		}
	}
	if r := h.awp("up"); r.exit != 0 {
		t.Error(fmt.Sprint(r))
	}
}
