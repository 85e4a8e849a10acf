package suite

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// Whatever strangers write to the listener, peers do not notice.
func TestHostileBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	hello := `{"t":"hello","id":"01J","ts":"2026-01-01T00:00:00.000Z","v":0,"key":"ed25519:`
	for name, bytes := range map[string][]byte{
		"noise":            noise,
		"a line of 2 MiB":  append(bytes.Repeat([]byte("x"), 2<<20), '\n'),
		"2 MiB of nothing": make([]byte, 2<<20),
		"half a hello":     []byte(hello),
		"a broken hello":   []byte(hello + "\"}\n"),
		"no hello":         []byte(`{"t":"msg","id":"1","ts":"","th":"t","parts":[]}` + "\n"),
		"blank lines":      bytes.Repeat([]byte("\n"), 100_000),
		"many small lines": bytes.Repeat([]byte("{}\n"), 50_000),
		"http":             []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"silence":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newPair(t, nil)
			keyA, _ := join(t, a, b)
			wire := b.pid("awp-wire")
			for range 5 {
				nc := b.knock()
				defer nc.Close() // stays open as long as the test
				nc.SetDeadline(time.Now().Add(10 * time.Second))
				nc.Write(bytes) //nolint:errcheck // it may well be hung up on
			}
			if sent := get[awp.Sent](a, "send", "bob", "undisturbed", "--wait-ack", "10s"); !sent.Acked {
				t.Error("the peer's message did not arrive")
			}
			b.undisturbed(keyA, wire)
		})
	}
}

// More strangers than are dealt with at a time keep no peer from its link.
func TestManySilentStrangers(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, tcpAddr)
	keyA, _ := join(t, a, b)
	wire := b.pid("awp-wire")
	for range 150 {
		defer b.knock().Close()
	}
	if sent := get[awp.Sent](a, "send", "bob", "undisturbed", "--wait-ack", "10s"); !sent.Acked {
		t.Error("the peer's message did not arrive")
	}
	b.undisturbed(keyA, wire)
}

// A stranger who says hello with our own key, or with our own line, gets no further.
func TestReflection(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	keyA, _ := join(t, a, b)
	wire := b.pid("awp-wire")
	nc := b.knock()
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 4096)
	n, err := nc.Read(buf)
	check(t, err)
	_, err = nc.Write(buf[:n])
	check(t, err)
	rest, err := io.ReadAll(nc)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	if strings.Contains(string(rest), `"auth","id"`) && strings.Contains(string(rest), `"sig"`) {
		t.Errorf("it was given a signature: %s", rest)
	}
	b.undisturbed(keyA, wire)
}

// knock connects to the home's listener as any stranger could.
func (h *home) knock() net.Conn {
	h.t.Helper()
	network, addr, _ := strings.Cut(h.addr, ":")
	nc, err := net.Dial(network, addr)
	check(h.t, err)
	return nc
}

// undisturbed checks that the first link with a peer still stands, in the same process.
func (h *home) undisturbed(peer awp.Key, wire int) {
	h.t.Helper()
	check(h.t, h.linked(peer))
	events, err := h.events()
	check(h.t, err)
	for _, e := range events {
		if e.Type == "disconnected" {
			h.t.Errorf("%s lost its peer: %s", h.name, e.Meta)
		}
	}
	if now := h.pid("awp-wire"); now != wire {
		h.t.Errorf("awp-wire was process %d and is %d", wire, now)
	}
}
