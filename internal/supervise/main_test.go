package supervise

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/awp-suite/awp/internal/lifeline"
)

// The test binary is every program of these tests, too: an argument "role=NAME" says
// which. As the supervisor's stub it needs no role.
const rolePrefix = "role="

func TestMain(m *testing.M) {
	Stub()
	if len(os.Args) > 1 {
		if role, ok := strings.CutPrefix(os.Args[1], rolePrefix); ok {
			play(role, os.Args[2:])
			os.Exit(0)
		}
	}
	// With -race a program sleeps for a second before it exits, which here is the time
	// that is measured.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func play(role string, args []string) {
	switch role {
	case "nothing":
	case "serve":
		serve(args)
	case "crash":
		fmt.Fprintf(os.Stderr, "one\ntwo\nawp-test: no room\nawp-test: hint: make some")
		os.Exit(7)
	case "stubborn": // takes note of SIGTERM, and stays
		serve(args)
		forever()
	case "deaf": // to its lifeline
		lifeline.Watch(context.Background())
		forever()
	case "leave": // behind a process that keeps our output open
		cmd := exec.Command(os.Args[0], rolePrefix+"linger")
		cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "left %d\n", cmd.Process.Pid)
		os.Exit(1)
	case "linger":
		forever()
	case "supervisor":
		supervisor(args[0])
	default:
		panic("unknown role " + role)
	}
}

// answer is what a serving program says to whoever connects.
type answer struct {
	PID, ListenPID, Parent int
	FDs, Names             string
	Notify                 string
	Extra                  string
}

// serve answers on all its sockets until SIGTERM, or the loss of its supervisor, or until
// someone writes to it. args[0] is a file it signs when it closes.
func serve(args []string) {
	ctx := lifeline.Watch(context.Background())
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	a := answer{
		PID: os.Getpid(), Parent: os.Getppid(),
		FDs: os.Getenv("LISTEN_FDS"), Names: os.Getenv("LISTEN_FDNAMES"),
		Notify: os.Getenv("NOTIFY_SOCKET"), Extra: os.Getenv("EXTRA"),
	}
	fmt.Sscan(os.Getenv("LISTEN_PID"), &a.ListenPID)
	for i := range strings.Split(a.Names, ":") {
		l, err := net.FileListener(os.NewFile(uintptr(3+i), "socket"))
		if err != nil {
			panic(err)
		}
		go func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				json.MarshalWrite(nc, a)
				nc.(*net.UnixConn).CloseWrite()
				if n, _ := nc.Read(make([]byte, 1)); n > 0 {
					os.Exit(3)
				}
				nc.Close()
			}
		}()
	}
	<-ctx.Done()
	if len(args) > 0 {
		f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(f, "%s\n", a.Names)
		f.Close()
	}
}

// supervisor is a whole daemon: two programs, until SIGTERM.
func supervisor(home string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lock, err := Acquire(ctx, home)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer lock.Release()
	sockets := make(map[string]*net.UnixListener)
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(home, name)
		os.Remove(path)
		if sockets[name], err = net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
			panic(err)
		}
	}
	s, err := Start(Config{
		Lock: lock, Sockets: sockets,
		Programs: []Program{self("awp-a", "serve", "a"), self("awp-b", "serve", "b")},
		Log:      slog.New(slog.DiscardHandler), Output: os.Stderr,
	})
	if err != nil {
		panic(err)
	}
	if err := s.Settle(ctx, func(context.Context) error { return nil }); err != nil {
		panic(err)
	}
	lock.Started()
	fmt.Println("ready")
	<-ctx.Done()
	lock.Closing()
	s.Stop()
}

// self is this binary in a role, as a program.
func self(name, role string, sockets ...string) Program {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Program{Name: name, Path: path, Args: []string{rolePrefix + role}, Sockets: sockets}
}

// forever waits for a signal that nobody sends. An empty select would not do: without cgo
// the runtime takes it for a deadlock and ends the program.
func forever() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2)
	<-never
}
