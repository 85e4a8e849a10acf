package activation

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
)

const childVar = "ACTIVATION_TEST_CHILD"

// TestMain lets the test binary stand in for a program that is started with sockets.
func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child accepts one connection on the socket called b.sock and greets it.
func child() int {
	l, err := Listener("awp-test", "b.sock")
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	if os.Getenv("LISTEN_FDS") != "" {
		os.Stderr.WriteString("the variables are still set")
		return 1
	}
	nc, err := l.Accept()
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	nc.Write([]byte("hi\n"))
	nc.Close()
	return 0
}

// start runs child with the sockets as systemd passes them: from descriptor 3 on.
func start(t *testing.T, names string, sockets ...*os.File) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=$1 LISTEN_FDNAMES=$2 exec "$0"`,
		self, string(rune('0'+len(sockets))), names)
	cmd.Env = append(os.Environ(), childVar+"=1")
	cmd.ExtraFiles = sockets
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &stderr
}

func listen(t *testing.T, path string) *os.File {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Cleanup(func() { f.Close() })
	return f
}

func TestPassedByName(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	cmd, stderr := start(t, "a.sock:b.sock", listen(t, a), listen(t, b))
	nc, err := net.Dial("unix", b)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	n, err := nc.Read(buf)
	if string(buf[:n]) != "hi\n" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr)
	}
}

func TestOtherName(t *testing.T) {
	cmd, stderr := start(t, "a.sock", listen(t, filepath.Join(t.TempDir(), "a")))
	if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "no socket called b.sock, only a.sock") {
		t.Errorf("%v: %s", err, stderr)
	}
}

func TestByHand(t *testing.T) {
	_, err := Listener("awp-test", "b.sock")
	if awp.CodeOf(err) != awp.Invalid || !strings.Contains(err.Error(), "started by awp daemon or systemd") {
		t.Errorf("got %v", err)
	}
	Ready() // without NOTIFY_SOCKET: silent
	Stopping()
}
