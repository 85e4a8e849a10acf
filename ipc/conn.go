package ipc

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// ErrSlow ends a connection whose other side lets more than maxPending bytes wait.
var ErrSlow = errors.New("the other side does not read")

// maxPending bounds the bytes that wait to be written on one connection. It holds the
// store's windows for a few dozen links at once (link.go), and a few large answers.
const maxPending = 64 << 20

// closeWithin bounds how long Close waits for the other side to read what is pending.
const closeWithin = 5 * time.Second

// Conn is one connection, seen from either end: both may call and both may answer. Its
// methods are safe for concurrent use.
type Conn struct {
	nc      net.Conn
	raw     syscall.RawConn // of nc; nil where it has none
	handler Handler         // called by Run, one at a time, in order of arrival
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	wake    sync.Cond // pending or closing changed
	pending []byte
	writing int   // bytes that the writing goroutine is at
	greeted bool  // our first line is queued, with its version
	closing bool  // nothing more is queued; the writer writes what is pending and ends
	why     error // set with closing
	nextID  uint64
	calls   map[uint64]*call
	done    chan struct{} // closed when the writer has ended

	streams   *streams // server side: what all its streams hold
	streaming bool     // some of it is ours
	waiting   int      // bytes of items held back

	running chan struct{}  // server side: one slot a running request
	tasks   sync.WaitGroup // server side: the running requests
}

// call is a request of ours that waits for its answer.
type call struct {
	answer chan message // one message, or closed when the connection ends

	mu   sync.Mutex           // held while item runs
	item func(jsontext.Value) // nil unless the method streams, and once the caller has left
}

// NewConn returns a connection over nc, which ends with ctx. handler may be nil for a
// side that only calls. Nothing is read before [Conn.Run]; whoever does not call it calls
// Close or Fail.
func NewConn(ctx context.Context, nc net.Conn, handler Handler) *Conn {
	c := &Conn{nc: nc, handler: handler, calls: make(map[uint64]*call), done: make(chan struct{})}
	if sc, ok := nc.(syscall.Conn); ok {
		c.raw, _ = sc.SyscallConn() // without it the writing goroutine does everything
	}
	c.wake.L = &c.mu
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(c.ctx, func() { c.Fail(context.Cause(c.ctx)) })
	go c.write()
	return c
}

// Context ends when the connection does; its cause says why.
func (c *Conn) Context() context.Context { return c.ctx }

// Close ends the connection once what is pending has been written. It waits for that, a
// few seconds at most.
func (c *Conn) Close() error {
	c.flush(net.ErrClosed)
	return nil
}

// flush is Close for the reason why.
func (c *Conn) flush(why error) {
	c.mu.Lock()
	if !c.closing {
		c.closing, c.why = true, why
	}
	c.wake.Broadcast()
	c.mu.Unlock()
	c.nc.SetWriteDeadline(time.Now().Add(closeWithin)) //nolint:errcheck // a dead socket ends the writer at once
	<-c.done
}

// Fail ends the connection at once, for the reason err. It waits for nothing.
func (c *Conn) Fail(err error) {
	c.mu.Lock()
	c.fail(err)
	c.mu.Unlock()
	c.nc.Close()
}

// fail ends everything but the socket, which the end of c.ctx closes. c.mu is held.
func (c *Conn) fail(err error) {
	c.cancel(err) // first: who sees the rest asks the context for the cause
	c.closing, c.why = true, err
	c.pending = nil
	for id, waiting := range c.calls {
		delete(c.calls, id)
		close(waiting.answer)
	}
	c.account()
	c.wake.Broadcast()
}

// gone says why the connection takes nothing any more. c.mu is held.
func (c *Conn) gone() error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	return c.why
}
