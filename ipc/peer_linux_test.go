package ipc

import (
	"context"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/awp-suite/awp"
)

const stranger = 65534 // nobody, on every Linux

// asStranger runs fn on a thread of another user, which ends with it. On Linux user ids
// belong to threads, and a socket's to the thread that connected or listened.
func asStranger(t *testing.T, fn func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // and never unlock: nobody else may run on this thread
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, stranger, stranger, stranger)
		if errno == 0 {
			fn()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Fatalf("setresuid: %v", errno)
	}
}

// abstract returns an address that no file permission guards, so that only the check of
// the other side's user id is tested.
func abstract(t *testing.T) string { return "@awp-test-" + strconv.Itoa(os.Getpid()) + t.Name() }

func TestClientOfAnotherUser(t *testing.T) {
	l, err := net.Listen("unix", abstract(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- scriptedServer().Serve(ctx, l) }()
	var nc net.Conn
	asStranger(t, func() { nc, err = net.Dial("unix", l.Addr().String()) })
	if err != nil {
		t.Fatal(err)
	}
	c := NewConn(ctx, nc, nil)
	go c.Run() //nolint:errcheck // the call says it
	if _, err := echoMethod.Call(ctx, c, text{}); awp.CodeOf(err) != awp.Denied || Lost(err) {
		t.Errorf("got %v, want code denied", err)
	}
	<-c.Context().Done()
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A stranger who listens where a home's socket was gets nothing to read.
func TestServerOfAnotherUser(t *testing.T) {
	var l net.Listener
	var err error
	asStranger(t, func() { l, err = net.Listen("unix", abstract(t)) })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nc, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := checkServer(nc); awp.CodeOf(err) != awp.Denied {
		t.Errorf("got %v, want code denied", err)
	}
}
