//go:build linux

package nettest

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The environment by which the run outside tells the one inside.
const (
	envWanted = "AWP_TEST_NET"      // set by make test-net
	envSkip   = "AWP_SKIP_NET"      // set where namespaces are not allowed, and that is known
	envLong   = "AWP_TEST_NET_LONG" // set by make test-net-long
	envBin    = "AWP_TEST_NET_BIN"
)

// bin holds the programs under test.
var bin string

func TestMain(m *testing.M) {
	bin = os.Getenv(envBin)
	if bin == "" && (os.Getenv(envWanted) == "" || os.Getenv(envSkip) != "") {
		fmt.Println("skipped: make test-net runs these, unless AWP_SKIP_NET is set")
		return
	}
	var code int
	var err error
	if bin == "" {
		code, err = outside()
	} else if err = ownNames(); err == nil {
		if err = loopback(); err == nil {
			code = m.Run()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nettest:", err)
		fmt.Fprintln(os.Stderr, "nettest: hint: where network namespaces are not allowed, AWP_SKIP_NET=1 skips these tests")
		code = 1
	}
	os.Exit(code)
}

// outside builds the programs, while there is a network to fetch modules from, and runs
// the tests in a namespace.
func outside() (int, error) {
	dir, err := os.MkdirTemp("", "awp-nettest-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	const module = "github.com/awp-suite/awp"
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+"/", module+"/cmd/...", module+"/demo", "github.com/tailscale/tailcat/cmd/tailcat")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("build the programs: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	inside := exec.Command(self, os.Args[1:]...)
	inside.Env = append(os.Environ(), envBin+"="+dir)
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	inside.SysProcAttr = namespace()
	// An interrupt reaches the whole group; the inner run ends of it, and we after it.
	signal.Ignore(os.Interrupt)
	err = inside.Run()
	if inside.ProcessState == nil {
		return 1, fmt.Errorf("start the tests in a network namespace: %w", err)
	}
	return inside.ProcessState.ExitCode(), nil
}

func namespace() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// ownNames keeps the names of network namespaces to this run: labs of two runs cannot
// meet, and nothing is left after any end of it.
func ownNames() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount /run for ourselves: %w", err)
	}
	return nil
}

// loopback switches the only network on that there is.
func loopback() error {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("switch loopback on: %w\n%s", err, out)
	}
	return nil
}

func program(name string) string { return filepath.Join(bin, name) }
