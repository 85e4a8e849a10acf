package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// apart makes a command run in a network namespace of its own, where loopback is all there
// is: tailcat uses every interface that it finds.
func apart(cmd *exec.Cmd) error {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	return nil
}

// loopback switches on the only network of such a namespace.
func loopback() error {
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("switch loopback on: %w\n%s", err, out)
	}
	return nil
}
