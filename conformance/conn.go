package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/conformance/schema"
	"github.com/awp-suite/awp/wire"
)

// received is a line, or how the stream ended.
type received struct {
	line []byte
	err  error
}

// conn is a connection to the peer. One goroutine reads it, until it ends.
type conn struct {
	nc   net.Conn
	in   chan received
	done chan struct{}
	once sync.Once

	mu sync.Mutex
	t  *trial // guarded by mu: listen mode moves it on

	ours, theirs []byte // hello lines
	theirResume  []byte
}

func (c *conn) setTrial(t *trial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}

func (c *conn) trial() *trial {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *conn) close() {
	c.once.Do(func() {
		close(c.done)
		c.nc.Close()
	})
}

func (c *conn) read() {
	r := wire.NewReader(c.nc)
	for {
		line, err := r.ReadLine()
		got := received{bytes.Clone(line), err}
		if err == nil {
			c.trial().note("<", string(line))
		}
		select {
		case c.in <- got:
		case <-c.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// raw writes bytes as they are. A peer that closed meanwhile is noticed when it is read.
func (c *conn) raw(text string) {
	c.trial().note(">", strings.TrimSuffix(text, "\n"))
	c.nc.SetWriteDeadline(time.Now().Add(c.t.r.o.Step)) //nolint:errcheck // the write tells
	io.WriteString(c.nc, text)                          //nolint:errcheck // see above
}

// line writes a line.
func (c *conn) line(text string) { c.raw(text + "\n") }

// send writes one of package wire's lines.
func (c *conn) send(v any) {
	raw, err := wire.Encode(v)
	if err != nil {
		panic(err)
	}
	c.line(string(raw))
}

// next returns the next line that came within d, checked against the schema; nil when the
// peer closed, and false when nothing came.
func (c *conn) next(d time.Duration) ([]byte, bool) {
	t := c.trial()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case got := <-c.in:
		if got.err != nil {
			c.in <- got // whoever asks again hears it again
			if isEnd(got.err) {
				return nil, true
			}
			t.fail("lines of at most 1 MiB", got.err.Error())
		}
		if err := schema.Validate(got.line); err != nil {
			t.fail("lines as the schema has them", err.Error()+" in "+clip(got.line))
		}
		return got.line, true
	case <-timer.C:
		return nil, false
	case <-t.ctx.Done():
		t.fail("the scenario's end within "+scenarioTime.String(), "none")
	}
	return nil, false
}

// isEnd takes a reset for an end: a peer that closes with lines unread causes one.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

// want waits for a line of the type for which match, if any, is true. It answers pings,
// skips other lines, and takes an err that was not wanted for a failure.
func (c *conn) want(typ, what string, match func(map[string]any) bool) []byte {
	t, skipped := c.trial(), 0
	deadline := time.Now().Add(t.r.o.Step)
	for {
		line, ok := c.next(time.Until(deadline))
		switch {
		case !ok:
			t.fail(what, fmt.Sprintf("nothing within %v but %d other lines", t.r.o.Step, skipped))
		case line == nil:
			t.fail(what, "the end of the connection")
		}
		o := object(line)
		switch {
		case o["t"] == typ && (match == nil || match(o)):
			t.ok(what)
			return line
		case o["t"] == wire.TypePing:
			c.pong(o)
		case o["t"] == wire.TypeErr:
			t.fail(what, clip(line))
		}
		skipped++
	}
}

func (c *conn) pong(ping map[string]any) {
	id, _ := ping["id"].(string)
	pong := wire.Pong{Envelope: c.t.env(wire.TypePong)}
	pong.Re = awp.MessageID(id)
	c.send(pong)
}

// quiet fails when something but a ping, or what allow lets pass, comes within d.
func (c *conn) quiet(d time.Duration, what string, allow func(map[string]any) bool) {
	t := c.trial()
	deadline := time.Now().Add(d)
	for {
		line, ok := c.next(time.Until(deadline))
		if !ok {
			t.ok(what)
			return
		}
		if line == nil {
			t.fail(what, "the end of the connection")
		}
		o := object(line)
		if o["t"] == wire.TypePing {
			c.pong(o)
		} else if allow == nil || !allow(o) {
			t.fail(what, clip(line))
		}
	}
}

// alive asks for a pong: whatever was said before did not end the connection.
func (c *conn) alive() {
	ping := wire.Ping{Envelope: c.t.env(wire.TypePing)}
	c.send(ping)
	c.want(wire.TypePong, "a pong with re of our ping", func(o map[string]any) bool { return o["re"] == string(ping.ID) })
}

// acked waits for the ack of a line, and returns its id.
func (c *conn) acked(id awp.MessageID, th awp.ThreadID) string {
	line := c.want(wire.TypeAck, "an ack with re and th of our line", func(o map[string]any) bool { return o["re"] == string(id) })
	o := object(line)
	c.trial().check(o["th"] == string(th), "an ack's th is the line's", clip(line))
	ackID, _ := o["id"].(string)
	return ackID
}

// refused waits for err code, then for the end; without a code any end will do.
func (c *conn) refused(code wire.Code) {
	if code != "" {
		what := "err " + string(code)
		c.want(wire.TypeErr, what, func(o map[string]any) bool { return o["code"] == string(code) })
	}
	c.ended()
}

// ended waits for the end, before which only a bye may come.
func (c *conn) ended() {
	t := c.trial()
	const what = "the end of the connection"
	deadline := time.Now().Add(t.r.o.Step)
	for {
		line, ok := c.next(time.Until(deadline))
		switch o := object(line); {
		case !ok:
			t.fail(what, "nothing")
		case line == nil:
			t.ok(what)
			return
		case o["t"] != wire.TypeBye:
			t.fail(what, clip(line))
		}
	}
}

func clip(line []byte) string { return wire.Clip(strings.ToValidUTF8(string(line), "\uFFFD"), 300) }
