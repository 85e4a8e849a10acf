package main

import (
	"bufio"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/transport/tailcat"
	"github.com/awp-suite/awp/wire"
)

// envEcho names the directory of a process that is the raw end of a tunnel.
const envEcho = "AWP_BENCH_ECHO"

// relay starts an awp-relay, and returns the config.json of a home that uses it.
func (b *bench) relay() (settings []byte, stop func(), err error) {
	cmd := exec.Command(filepath.Join(b.bin, "awp-relay"), "--listen", "127.0.0.1:8443", "--stun", "127.0.0.1:3478", "--state", filepath.Join(b.dir, "relay"), "--json")
	return b.child(cmd)
}

// echo starts a process that is nothing but tailcat and an echo, and returns its address.
func (b *bench) echo(settings []byte) (addr string, stop func(), err error) {
	dir := filepath.Join(b.dir, "echo")
	if err := writeSettings(dir, settings); err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envEcho+"="+dir)
	line, stop, err := b.child(cmd)
	return strings.TrimSpace(string(line)), stop, err
}

// child starts a program and returns its first line.
func (b *bench) child(cmd *exec.Cmd) (line []byte, stop func(), err error) {
	cmd.Stderr = io.Discard
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // Wait says more
		cmd.Wait()                          //nolint:errcheck // it was told to end
	}
	if line, err = bufio.NewReader(out).ReadBytes('\n'); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%s said nothing: %w", filepath.Base(cmd.Path), err)
	}
	return line, stop, nil
}

func writeSettings(dir string, settings []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), settings, 0o600)
}

// node is an end of tunnels without a home. dir has its config.json.
func node(dir string) (*tailcat.Node, error) {
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return nil, err
	}
	var s struct {
		Tailcat struct {
			Relay struct {
				Host     string `json:"host"`
				Port     int    `json:"port"`
				STUNPort int    `json:"stun_port"`
				Cert     string `json:"cert"`
			} `json:"relay"`
		} `json:"tailcat"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return tailcat.New(tailcat.Options{Home: dir, Relay: tailcat.Relay(s.Tailcat.Relay), Log: slog.New(slog.DiscardHandler)}), nil
}

// echoes prints an address and sends back what comes there, until ctx ends.
func echoes(ctx context.Context, dir string) error {
	n, err := node(dir)
	if err != nil {
		return err
	}
	defer n.Close()
	n.Listen(ctx, func(addr string, err error) {
		if err == nil {
			fmt.Println(addr)
		}
	}, func(nc net.Conn) {
		go func() {
			defer nc.Close()
			io.Copy(nc, nc) //nolint:errcheck // the other side says it
		}()
	})
	return ctx.Err()
}

// greet does a peer's part of the handshake on a connection to a home.
func greet(nc net.Conn) (*wire.Reader, error) {
	id, err := wire.NewIdentity(nil)
	if err != nil {
		return nil, err
	}
	in := wire.NewReader(nc)
	ours, err := in.ReadLine()
	if err != nil {
		return nil, err
	}
	ours = append([]byte(nil), ours...)
	hello, err := wire.Encode(wire.Hello{Envelope: envelope(wire.TypeHello), Key: id.Key.String(), Name: "raw", Nonce: wire.NewNonce(nil), Caps: wire.Caps()})
	if err != nil {
		return nil, err
	}
	for _, l := range []any{
		wire.Auth{Envelope: envelope(wire.TypeAuth), Sig: id.SignAuth(hello, ours)},
		wire.Resume{Envelope: envelope(wire.TypeResume), Seen: map[awp.ThreadID]awp.MessageID{}},
	} {
		raw, err := wire.Encode(l)
		if err != nil {
			return nil, err
		}
		hello = append(append(hello, '\n'), raw...)
	}
	if _, err := nc.Write(append(hello, '\n')); err != nil {
		return nil, err
	}
	for range 2 { // auth and resume
		if _, err := in.ReadLine(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func envelope(typ string) wire.Envelope {
	return wire.Envelope{T: typ, ID: awp.MessageID(typ), TS: "2026-01-01T00:00:00.000Z"}
}
