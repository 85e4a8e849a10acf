package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// relay starts awp-relay on loopback and has the agents' homes use it. What it returns
// stops the relay.
func relay(bin, tmp string, agents ...*agent) (stop func(), err error) {
	listen, err := freePort()
	if err != nil {
		return nil, err
	}
	stun, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(bin, "awp-relay"), "--listen", listen, "--stun", stun, "--state", filepath.Join(tmp, "relay"), "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // Wait says more
		if err := cmd.Wait(); err != nil {
			fmt.Fprintln(os.Stderr, "awp-relay:", err)
		}
	}
	settings, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		stop()
		return nil, errors.New("the relay did not start")
	}
	for _, a := range agents {
		a.listen = "tailcat"
		err := os.Mkdir(a.home, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(a.home, "config.json"), settings, 0o600)
		}
		if err != nil {
			stop()
			return nil, err
		}
	}
	fmt.Printf("A relay on this machine: %s\n", listen)
	return stop, nil
}

// freePort finds a port of loopback that nobody has now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
