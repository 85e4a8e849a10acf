package conformance

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// trial is one run of a scenario. Its methods end the scenario when what they look for
// does not come.
type trial struct {
	r     *runner
	ctx   context.Context
	name  string
	cap   string        // of the peer, without which the scenario is skipped
	us    wire.Identity // usually the run's
	conns []*conn       // closed after the scenario

	mu     sync.Mutex // guards what follows: conns' readers note lines, too
	checks []Check
	lines  []string
}

const keptLines, keptBytes = 60, 500

func (t *trial) note(dir, line string) {
	if len(line) > keptBytes {
		line = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(line[:keptBytes], "\uFFFD"), len(line))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == keptLines {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, dir+" "+line)
	if t.r.o.Trace != nil {
		t.r.o.Trace(t.name, dir, line)
	}
}

func (t *trial) ok(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checks = append(t.checks, Check{true, what})
}

func (t *trial) fail(expected, came string) {
	t.mu.Lock()
	t.checks = append(t.checks, Check{false, expected})
	t.mu.Unlock()
	panic(stop{Fail, "expected " + expected + "; came " + came})
}

func (t *trial) skip(reason string) { panic(stop{Skip, reason}) }

// check fails unless ok.
func (t *trial) check(ok bool, expected, came string) {
	if !ok {
		t.fail(expected, came)
	}
	t.ok(expected)
}

// env begins a line of ours.
func (t *trial) env(typ string) wire.Envelope {
	return wire.Envelope{T: typ, ID: t.r.ids.Next(), TS: wire.Stamp(time.Now())}
}

// thread returns a thread's id that was not used before.
func (t *trial) thread() awp.ThreadID { return awp.ThreadID("conform-" + string(t.r.ids.Next())) }

// dial makes a connection on which nothing was said, and reads it.
func (t *trial) dial() *conn {
	if t.r.o.Conn != nil {
		return t.adopt(t.r.o.Conn)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.r.o.Step)
	defer cancel()
	nc, err := t.r.o.Dial(ctx)
	if err != nil {
		t.fail("a connection", err.Error())
	}
	c := t.adopt(nc)
	t.conns = append(t.conns, c)
	return c
}

func (t *trial) adopt(nc net.Conn) *conn {
	c := &conn{t: t, nc: nc, in: make(chan received, 256), done: make(chan struct{})}
	go c.read()
	return c
}

// open returns a connection past resume: in listen mode the one there is.
func (t *trial) open() *conn {
	if c := t.r.shared; c != nil {
		c.setTrial(t)
		t.need()
		return c
	}
	c := t.dial()
	c.greet()
	c.resume(map[awp.ThreadID]awp.MessageID{})
	if t.r.o.Conn != nil {
		t.r.shared = c
	}
	t.need()
	return c
}

// need skips the scenario if the peer's hello lacks its cap.
func (t *trial) need() {
	if t.cap != "" && !slices.Contains(t.r.peer.Caps, t.cap) {
		t.skip("the peer does not offer " + t.cap)
	}
}

// hello returns our hello line.
func (t *trial) hello() wire.Hello {
	nonce := make([]byte, wire.NonceSize)
	rand.Read(nonce) //nolint:errcheck // it never fails
	return wire.Hello{
		Envelope: t.env(wire.TypeHello), Key: t.us.Key.String(), Name: "awp-conform",
		Nonce: base64.RawURLEncoding.EncodeToString(nonce),
		Caps:  []string{wire.CapChat, wire.CapBlob, wire.CapGrant, wire.CapIntroduce},
		About: "awp conform " + awp.Release,
	}
}

// msg returns a message of one text.
func (t *trial) msg(th awp.ThreadID, text string) wire.Msg {
	m := wire.Msg{Envelope: t.env(wire.TypeMsg), Parts: []wire.Part{{K: wire.PartText, Text: text}}}
	m.Th = th
	return m
}

// object reads a line that is an object, or is nil.
func object(line []byte) map[string]any {
	var v map[string]any
	if json.Unmarshal(line, &v) != nil {
		return nil
	}
	return v
}
