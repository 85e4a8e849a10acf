package ipc

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/awp-suite/awp"
)

// shortDir returns a directory whose path leaves room for a socket's name, which a test's
// own temporary directory need not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "awp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// deepHome returns a home below dir that is too deep for sockets.
func deepHome(t *testing.T, dir string) string {
	t.Helper()
	home := filepath.Join(dir, strings.Repeat("deep/", 20), "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

func listen(t *testing.T, home string) *net.UnixListener {
	t.Helper()
	l, err := Listen(home, StoreSocket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// answers makes one call over the home's socket, which l is.
func answers(t *testing.T, home string, l net.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- scriptedServer().Serve(ctx, l) }()
	c, err := Dial(ctx, home, StoreSocket, nil)
	if err != nil {
		t.Fatal(err)
	}
	go c.Run() //nolint:errcheck // the call says it
	if got, err := echoMethod.Call(ctx, c, text{"hi"}); err != nil || got.Text != "hi" {
		t.Errorf("got %v, %v", got, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestListenInTheHome(t *testing.T) {
	home := shortDir(t)
	l := listen(t, home)
	path := filepath.Join(home, StoreSocket)
	if got := SocketPath(home, StoreSocket); got != path {
		t.Errorf("SocketPath: %s, want %s", got, path)
	}
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v, want a socket with mode 0600", fi, err)
	}
	answers(t, home, l)
}

func TestListenForADeepHome(t *testing.T) {
	dir, runtime := shortDir(t), shortDir(t)
	home := deepHome(t, dir)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	l := listen(t, home)
	note, err := os.ReadFile(filepath.Join(home, PathFile))
	path, ok := strings.CutSuffix(string(note), "\n")
	if err != nil || !ok || !strings.HasPrefix(path, runtime+"/awp-") || filepath.Base(path) != StoreSocket {
		t.Fatalf("the note says %q, %v", note, err)
	}
	if fi, err := os.Stat(filepath.Dir(path)); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("directory of the socket: %v, %v, want mode 0700", fi, err)
	}
	if got, want := SocketPath(home, WireSocket), filepath.Join(filepath.Dir(path), WireSocket); got != want {
		t.Errorf("SocketPath: %s, want %s", got, want)
	}
	other := deepHome(t, filepath.Join(dir, "other"))
	if o := listen(t, other); o.Addr().String() == path {
		t.Error("two homes share a socket")
	}
	// Another shell, with another environment, finds it by the note.
	t.Setenv("XDG_RUNTIME_DIR", "")
	answers(t, home, l)

	// The home moves to where sockets fit: the note would lead astray.
	moved := filepath.Join(dir, "home")
	if err := os.Rename(home, moved); err != nil {
		t.Fatal(err)
	}
	answers(t, moved, listen(t, moved))
	if _, err := os.Stat(filepath.Join(moved, PathFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the note is still there: %v", err)
	}
}

// Where others could put a directory of theirs in the place of ours, ours is not.
func TestRuntimeDirectoryOfOthers(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, home, runtime string){
		"writable by all":   func(t *testing.T, _, runtime string) { chmod(t, runtime, 0o777) },
		"writable by group": func(t *testing.T, _, runtime string) { chmod(t, runtime, 0o770) },
		"not there":         func(t *testing.T, _, runtime string) { os.Remove(runtime) },
		"a file": func(t *testing.T, _, runtime string) {
			os.Remove(runtime)
			if err := os.WriteFile(runtime, nil, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"ours made by others": func(t *testing.T, home, runtime string) {
			listen(t, home).Close()
			chmod(t, filepath.Dir(SocketPath(home, StoreSocket)), 0o750)
		},
		"ours a link": func(t *testing.T, home, runtime string) {
			listen(t, home).Close()
			dir := filepath.Dir(SocketPath(home, StoreSocket))
			os.Remove(dir)
			if err := os.Symlink(t.TempDir(), dir); err != nil {
				t.Fatal(err)
			}
		},
		"too long": func(t *testing.T, home, runtime string) { t.Setenv("XDG_RUNTIME_DIR", home) },
	} {
		t.Run(name, func(t *testing.T) {
			home, runtime, tmp := deepHome(t, shortDir(t)), shortDir(t), shortDir(t)
			t.Setenv("XDG_RUNTIME_DIR", runtime)
			t.Setenv("TMPDIR", tmp)
			spoil(t, home, runtime)
			l := listen(t, home)
			if got := l.Addr().String(); !strings.HasPrefix(got, tmp+"/") {
				t.Errorf("the socket is %s, want it below %s", got, tmp)
			}
			answers(t, home, l)
		})
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A killed daemon leaves its socket file behind.
func TestDeadSocketIsReplaced(t *testing.T) {
	home := shortDir(t)
	dead := listen(t, home)
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if _, err := Dial(t.Context(), home, StoreSocket, nil); awp.CodeOf(err) != awp.Unreachable {
		t.Errorf("dial a dead socket: %v, want code unreachable", err)
	}
	answers(t, home, listen(t, home))
}

func TestSomethingInTheWay(t *testing.T) {
	home := shortDir(t)
	path := filepath.Join(home, StoreSocket)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Listen(home, StoreSocket)
	if awp.CodeOf(err) != awp.Invalid || awp.HintOf(err) == "" || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, hint %q", err, awp.HintOf(err))
	}
	if b, err := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

func TestDialNobody(t *testing.T) {
	for name, home := range map[string]string{
		"no socket": shortDir(t),
		"no home":   "/tmp/awp-no-such-home",
		"too deep":  deepHome(t, shortDir(t)),
	} {
		_, err := Dial(t.Context(), home, StoreSocket, nil)
		if awp.CodeOf(err) != awp.Unreachable || !strings.Contains(awp.HintOf(err), "awp up") {
			t.Errorf("%s: got %v, code %s, hint %q", name, err, awp.CodeOf(err), awp.HintOf(err))
		}
	}
}

// A home that another user locked is theirs, not one without a daemon.
func TestDialWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	for name, home := range map[string]string{"in the home": shortDir(t), "too deep": deepHome(t, shortDir(t))} {
		listen(t, home)
		chmod(t, home, 0)
		_, err := Dial(t.Context(), home, StoreSocket, nil)
		chmod(t, home, 0o700)
		if awp.CodeOf(err) != awp.Denied || !strings.Contains(err.Error(), home) || awp.HintOf(err) == "" {
			t.Errorf("%s: got %v, code %s, hint %q", name, err, awp.CodeOf(err), awp.HintOf(err))
		}
	}
}

// asNobody runs the test once more, as somebody whom permissions bind.
func asNobody(t *testing.T) {
	exe, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("as root there is always permission")
	}
	dir := shortDir(t)
	chmod(t, dir, 0o755)
	test := filepath.Join(dir, "test") // where the other user may run it
	if err := os.WriteFile(test, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(test, "-test.run=^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

// A daemon whose queue of callers is full runs.
func TestDialAFullQueue(t *testing.T) {
	home := shortDir(t)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	path := filepath.Join(home, StoreSocket)
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		c, err := Dial(t.Context(), home, StoreSocket, nil)
		if err == nil {
			defer c.Fail(net.ErrClosed)
			continue
		}
		if awp.CodeOf(err) != awp.Busy && runtime.GOOS == "linux" {
			t.Errorf("got %v, code %s", err, awp.CodeOf(err))
		}
		return
	}
	t.Skip("this system's queue has no end")
}

func TestPeerOfThisUser(t *testing.T) {
	home := shortDir(t)
	l := listen(t, home)
	nc, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := checkServer(nc); err != nil {
		t.Errorf("as seen by the client: %v", err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := checkPeer(there); err != nil {
		t.Errorf("as seen by the server: %v", err)
	}
}
