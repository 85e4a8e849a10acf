package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

// home is one agent: a daemon of its own.
type home struct {
	b      *bench
	name   string
	dir    string
	listen string // empty: a Unix socket
	daemon *exec.Cmd
	pids   map[string]int // by program
	conn   *ipc.Conn      // kept, to awp-store

	tailcat string // its tailcat address, if it listens on one
}

// home starts a daemon and waits until it serves. Its caller stops it.
func (b *bench) home(ctx context.Context, name string) (*home, error) {
	h := &home{b: b, name: name, dir: filepath.Join(b.dir, name), pids: make(map[string]int)}
	return h, h.start(ctx)
}

func (h *home) start(ctx context.Context) error {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(h.dir, "bench.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	h.daemon = exec.Command(filepath.Join(h.b.bin, "awp"), "daemon")
	h.daemon.Env = append(os.Environ(), h.env()...)
	h.daemon.Stdout, h.daemon.Stderr = log, log
	if err := h.daemon.Start(); err != nil {
		return err
	}
	for _, socket := range []string{ipc.StoreSocket, ipc.WireSocket} {
		if err := h.await(ctx, socket); err != nil {
			h.stop()
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%s does not come up: %w\n%s", h.name, err, text)
		}
	}
	return nil
}

// await waits until a program answers, and notes its pid.
func (h *home) await(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		c, err := h.dial(ctx, socket)
		if err == nil {
			var who ipc.ReadyResult
			if who, err = ipc.Ready.Call(ctx, c, ipc.None{}); err == nil {
				h.pids[who.Program] = who.PID
				if socket == ipc.StoreSocket {
					h.conn = c
					return nil
				}
				return c.Close()
			}
		}
		select { // nobody tells when a socket appears
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func (h *home) dial(ctx context.Context, socket string) (*ipc.Conn, error) {
	c, err := ipc.Dial(context.WithoutCancel(ctx), h.dir, socket, nil)
	if err == nil {
		go c.Run() //nolint:errcheck // the calls on c say it
	}
	return c, err
}

func (h *home) env() []string {
	listen := h.listen
	if listen == "" {
		listen = h.address()
	}
	return []string{"AWP_HOME=" + h.dir, "AWP_NAME=" + h.name, "AWP_LISTEN=" + listen}
}

func (h *home) address() string { return "unix:" + filepath.Join(h.b.dir, h.name+".sock") }

// awp runs a command in the home.
func (h *home) awp(ctx context.Context, args ...string) (string, error) {
	return output(ctx, h.env(), filepath.Join(h.b.bin, "awp"), args...)
}

// key returns the home's identity.
func (h *home) key(ctx context.Context) (awp.Key, error) {
	st, err := ipc.Status.Call(ctx, h.conn, ipc.None{})
	return st.Key, err
}

// stop ends the daemon, which ends its programs, and waits for that.
func (h *home) stop() {
	if h.conn != nil {
		h.conn.Close()
	}
	h.daemon.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it is gone already
	timer := time.AfterFunc(15*time.Second, func() { h.daemon.Process.Kill() })
	defer timer.Stop()
	h.daemon.Wait() //nolint:errcheck // no news
}

// pair starts two homes, the first connected to the second.
func (b *bench) pair(ctx context.Context, name string) (from, to *home, err error) {
	if to, err = b.home(ctx, name+"-to"); err != nil {
		return nil, nil, err
	}
	if from, err = b.home(ctx, name+"-from"); err == nil {
		if _, err = from.awp(ctx, "connect", to.address()); err == nil {
			return from, to, nil
		}
		from.stop()
	}
	to.stop()
	return nil, nil, err
}

// output runs a program and returns what it printed.
func output(ctx context.Context, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
