//go:build !linux

package main

import (
	"errors"
	"os/exec"
)

func apart(*exec.Cmd) error { return errors.ErrUnsupported }

func loopback() error { return errors.ErrUnsupported }
