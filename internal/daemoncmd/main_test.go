package daemoncmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/supervise"
	"github.com/awp-suite/awp/ipc"

	"github.com/awp-suite/awp/internal/lifeline"
)

// The test binary is every program of the suite, by the name it is called by: the PATH
// has links to it.
func TestMain(m *testing.M) {
	supervise.Stub()
	switch name := filepath.Base(os.Args[0]); name {
	case "awp":
		os.Exit(exitCode("awp", command(os.Args[1:])))
	case "awp-store", "awp-wire":
		os.Exit(exitCode(name, program(name)))
	}
	os.Exit(test(m))
}

func test(m *testing.M) int {
	// With -race a program sleeps for a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	bin, err := os.MkdirTemp("", "awp")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(bin)
	for _, name := range []string{"awp", "awp-store", "awp-wire"} {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			panic(err)
		}
	}
	os.Setenv("PATH", bin)
	os.Unsetenv("AWP_HOME")
	return m.Run()
}

func exitCode(name string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	if hint := awp.HintOf(err); hint != "" {
		fmt.Fprintf(os.Stderr, "awp: hint: %s\n", hint)
	}
	return 1
}

// command is `awp daemon --home HOME`, or `awp up` in that form.
func command(args []string) error {
	if len(args) != 3 || args[1] != "--home" {
		return fmt.Errorf("unexpected arguments %q", args)
	}
	if args[0] == "up" {
		_, _, err := Ensure(context.Background(), args[2], ipc.StoreSocket, config.Flags{})
		return err
	}
	if behaviour(args[2], "awp") == "crash" {
		return fmt.Errorf("something broke")
	}
	return Run(context.Background(), args[2], config.Flags{}, nil)
}

// behave tells a program of home to be odd.
func behave(t *testing.T, home, name, how string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, "test."+name), []byte(how), 0o600); err != nil {
		t.Fatal(err)
	}
}

func behaviour(home, name string) string {
	how, _ := os.ReadFile(filepath.Join(home, "test."+name))
	return string(how)
}

// echo is a call with a token. The store of these tests can be told to crash instead of
// answering, once.
var echo = ipc.Method[string, echoed]{Name: "test.echo"}

type echoed struct {
	Token string
	Name  string // AWP_NAME, as the settings say it
}

// program is awp-store or awp-wire: it answers Ready and echo.
func program(name string) error {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(name, awp.Release)
		return nil
	}
	ctx := lifeline.Watch(context.Background())
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	home := os.Getenv("AWP_HOME")
	settings, err := config.Load(home, os.Getenv)
	if err != nil {
		return err
	}
	l, err := net.FileListener(os.NewFile(3, "socket"))
	if err != nil {
		return err
	}
	release := awp.Release
	switch behaviour(home, name) {
	case "refuse":
		return &awp.Error{Code: awp.Invalid, Message: "the database is of a later release", Hint: "install that release"}
	case "hang":
		nc, err := net.Dial("unix", filepath.Join(home, "hangs"))
		if err != nil {
			return err
		}
		defer nc.Close()
		<-ctx.Done()
		return nil
	case "old":
		release = "0.0.9"
	}
	s := ipc.NewServer()
	ipc.Handle(s, ipc.Ready, func(context.Context, ipc.None) (ipc.ReadyResult, error) {
		return ipc.ReadyResult{Program: name, Release: release, PID: os.Getpid()}, nil
	})
	ipc.Handle(s, echo, func(_ context.Context, token string) (echoed, error) {
		if err := os.Remove(filepath.Join(home, "test.crash")); err == nil {
			os.Exit(9)
		}
		return echoed{token, settings.Name}, nil
	})
	return s.Serve(ctx, l)
}

// newHome returns a home that a daemon may be started in; it is stopped with the test.
func newHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "h") // short: t.TempDir is too deep for sockets
	if err != nil {
		t.Fatal(err)
	}
	stopWithTest(t, home)
	return home
}

func stopWithTest(t *testing.T, home string) {
	t.Cleanup(func() {
		if _, err := Down(context.Background(), home); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(home, logFile))
			t.Logf("%s:\n%s", logFile, strings.TrimSpace(string(log)))
		}
		os.RemoveAll(home)
	})
}
