package ipc

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/ndjson"
)

// ErrSlow ends a connection whose other side lets more than maxPending bytes wait.
var ErrSlow = errors.New("the other side does not read")

// maxPending bounds the bytes that wait to be written on one connection. It holds the
// store's windows for a few dozen links at once (link.go), and a few large answers.
const maxPending = 64 << 20

// Conn is one connection, seen from either end: both may call and both may answer. Its
// methods are safe for concurrent use.
type Conn struct {
	nc      net.Conn
	handler Handler // called by Run, one at a time, in order of arrival
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	wake    sync.Cond // pending or closing changed
	pending []byte
	greeted bool // our first line is written, with its version
	closing bool // write what is pending, then close
	nextID  uint64
	calls   map[uint64]*call
	done    chan struct{} // closed when the writer has ended

	running chan struct{}  // server side: one slot a running request
	tasks   sync.WaitGroup // server side: the running requests
}

// call is a request of ours that waits for its answer.
type call struct {
	item   func(jsontext.Value) // nil unless the method streams
	answer chan message         // one message, or closed when the connection ends
}

// Handler answers a request or takes a notification. It runs on the connection's reading
// goroutine: while it runs, nothing further is read, so order is kept and a sender is
// held back. It must not wait for an answer on the same connection.
type Handler func(*Request)

// Request is a call or a notification from the other side.
type Request struct {
	Method string
	Lines  [][]byte // raw lines that came along; the handler may keep them
	Conn   *Conn

	params jsontext.Value
	id     uint64 // 0 for a notification
}

// NewConn returns a connection over nc. handler may be nil for a side that only calls.
// Nothing is read before [Conn.Run].
func NewConn(ctx context.Context, nc net.Conn, handler Handler) *Conn {
	c := &Conn{nc: nc, handler: handler, calls: make(map[uint64]*call), done: make(chan struct{})}
	c.wake.L = &c.mu
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	go c.write()
	return c
}

// Context ends when the connection does; its cause says why.
func (c *Conn) Context() context.Context { return c.ctx }

// Close ends the connection once what is pending has been written. It waits for that.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.wake.Broadcast()
	c.mu.Unlock()
	<-c.done
	return nil
}

// Fail ends the connection at once, for the reason err.
func (c *Conn) Fail(err error) {
	c.cancel(err)
	c.nc.Close()
	c.mu.Lock()
	c.closing = true
	c.pending = nil
	for id, waiting := range c.calls {
		delete(c.calls, id)
		close(waiting.answer)
	}
	c.wake.Broadcast()
	c.mu.Unlock()
}

// Run reads until the connection ends and returns why; io.EOF means that the other side
// closed it. It must be called once.
func (c *Conn) Run() error {
	stop := context.AfterFunc(c.ctx, func() { c.Fail(context.Cause(c.ctx)) })
	defer stop()
	err := c.read()
	if cause := context.Cause(c.ctx); cause != nil {
		err = cause
	}
	c.Fail(err)
	<-c.done
	return err
}

func (c *Conn) read() error {
	r := ndjson.NewReader(c.nc, MaxLine)
	for first := true; ; first = false {
		line, err := r.ReadLine()
		if err != nil {
			return err
		}
		m, err := decodeMessage(line)
		if err != nil {
			return err
		}
		if first && m.IPC != Version {
			return c.refuseSkew(m)
		}
		lines, err := readLines(r, m.Lines)
		if err != nil {
			return err
		}
		if err := c.dispatch(m, lines); err != nil {
			return err
		}
	}
}

func readLines(r *ndjson.Reader, n int) ([][]byte, error) {
	if n == 0 {
		return nil, nil
	}
	lines := make([][]byte, n)
	for i := range lines {
		line, err := r.ReadLine()
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		lines[i] = append([]byte(nil), line...)
	}
	return lines, nil
}

func (c *Conn) dispatch(m message, lines [][]byte) error {
	switch {
	case m.Method == itemMethod:
		c.deliverItem(m)
		return nil
	case m.Method != "":
		if c.handler == nil {
			return fmt.Errorf("unexpected call of %s", m.Method)
		}
		c.handler(&Request{Method: m.Method, Lines: lines, Conn: c, params: m.Params, id: m.ID})
		return nil
	}
	c.mu.Lock()
	waiting := c.calls[m.ID]
	delete(c.calls, m.ID)
	c.mu.Unlock()
	if waiting != nil { // else its caller gave up
		waiting.answer <- m
	}
	return nil
}

// refuseSkew tells the other side that it is of another release, and ends the connection.
func (c *Conn) refuseSkew(m message) error {
	skew := skewError(m.IPC)
	if m.Method != "" && m.ID != 0 {
		c.send(message{ID: m.ID, Error: toRPC(skew)}, nil)
		c.Close()
	}
	return skew
}

func skewError(theirs int) error {
	return &awp.Error{
		Code:    awp.Skew,
		Message: fmt.Sprintf("programs of different releases met (local protocol %d here, %d there)", Version, theirs),
		Hint:    "restart the daemon: awp down, then awp up",
	}
}

// send queues one message. It never waits: a connection that does not drain is ended.
func (c *Conn) send(m message, lines [][]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return c.gone()
	}
	if !c.greeted {
		c.greeted = true
		m.IPC = Version
	}
	buf, err := appendMessage(c.pending, m, lines)
	if err != nil {
		return err
	}
	c.pending = buf
	if len(buf) > maxPending {
		go c.Fail(ErrSlow)
		return ErrSlow
	}
	c.wake.Broadcast()
	return nil
}

// drained waits until at most limit bytes wait to be written.
func (c *Conn) drained(limit int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) > limit && !c.closing {
		c.wake.Wait()
	}
	if c.closing {
		return c.gone()
	}
	return nil
}

// gone says why the connection takes nothing any more.
func (c *Conn) gone() error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	return net.ErrClosed
}

// write is the writing goroutine: whatever gathered while one write ran goes out with
// the next. It ends when the connection does.
func (c *Conn) write() {
	defer close(c.done)
	var buf []byte
	for {
		c.mu.Lock()
		for len(c.pending) == 0 && !c.closing {
			c.wake.Wait()
		}
		buf, c.pending = c.pending, buf[:0]
		closing := c.closing
		c.wake.Broadcast() // for drained
		c.mu.Unlock()
		if len(buf) > 0 {
			if _, err := c.nc.Write(buf); err != nil {
				c.cancel(err)
				closing = true
			}
		}
		if cap(buf) > MaxLine {
			buf = nil // one large answer must not stay in memory
		}
		if closing {
			c.nc.Close()
			return
		}
	}
}

// Decode reads the request's parameters into p.
func (r *Request) Decode(p any) error {
	if len(r.params) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.params, p); err != nil {
		return &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("%s: bad parameters: %v", r.Method, err)}
	}
	return nil
}

// Reply answers the request, once. For a notification it does nothing.
func (r *Request) Reply(result any) {
	if r.id == 0 {
		return
	}
	raw, err := json.Marshal(result)
	if err == nil {
		err = r.Conn.send(message{ID: r.id, Result: raw}, nil)
	}
	if awp.CodeOf(err) == awp.TooLarge || (err != nil && raw == nil) {
		r.Fail(err)
	}
}

// Fail answers the request with an error. For a notification it does nothing.
func (r *Request) Fail(err error) {
	if r.id != 0 {
		r.Conn.send(message{ID: r.id, Error: toRPC(err)}, nil) //nolint:errcheck // nobody left to tell
	}
}
