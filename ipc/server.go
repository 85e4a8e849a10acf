package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/awp-suite/awp"
)

// maxConns bounds the connections one server keeps at a time. Each call of the command
// line is one; so is each waiting agent.
const maxConns = 512

// maxRunning bounds the requests of one connection that run at a time; while it is
// reached nothing further is read from it.
const maxRunning = 64

const refuseWithin = 5 * time.Second

// Server answers calls on a Unix socket. Register every method before Serve.
type Server struct {
	methods map[string]Handler
	streams streams
}

// NewServer returns a server without methods.
func NewServer() *Server { return &Server{methods: make(map[string]Handler)} }

// Handle serves m with fn. Each request runs on a goroutine of its own; its context ends
// with the connection.
func Handle[P, R any](s *Server, m Method[P, R], fn func(context.Context, P) (R, error)) {
	handle(s, m.Name, func(ctx context.Context, _ *Request, params P) (R, error) { return fn(ctx, params) })
}

// HandleStream serves m with fn, which sends its items with send. A send fails once the
// connection is gone.
func HandleStream[P, E, R any](s *Server, m Stream[P, E, R], fn func(ctx context.Context, params P, send func(E) error) (R, error)) {
	handle(s, m.Name, func(ctx context.Context, r *Request, params P) (R, error) {
		return fn(ctx, params, func(e E) error { return r.Item(e) })
	})
}

func handle[P, R any](s *Server, name string, fn func(context.Context, *Request, P) (R, error)) {
	s.methods[name] = func(r *Request) {
		r.run(func(ctx context.Context) {
			var params P
			if err := r.Decode(&params); err != nil {
				r.Fail(err)
				return
			}
			result, err := fn(ctx, r, params)
			r.answer(ctx, result, err)
		})
	}
}

// answer answers, unless the connection has ended. What fn made of that end is no answer:
// whoever asked must see the connection lost, or it would not ask again.
func (r *Request) answer(ctx context.Context, result any, err error) {
	switch {
	case err == nil:
		r.Reply(result)
	case ctx.Err() == nil:
		r.Fail(err)
	}
}

// HandleInline serves the method of that name on the reading goroutine, in order of
// arrival. fn answers with Reply or Fail, now or later. It may give the connection
// another handler with [Request.Take].
func HandleInline(s *Server, name string, fn Handler) { s.methods[name] = fn }

// Serve accepts connections until ctx ends or the listener fails; it then closes the
// listener and every connection, and waits for them. Peers of another user are turned
// away.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	slots := make(chan struct{}, maxConns)
	for {
		nc, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				continue
			}
			return fmt.Errorf("accept: %w", err)
		}
		select {
		case slots <- struct{}{}:
		default:
			busy := &awp.Error{Code: awp.Busy, Message: fmt.Sprintf("%d connections are open; try again", maxConns)}
			open.Go(func() { refuse(ctx, nc, busy) })
			continue
		}
		open.Go(func() {
			defer func() { <-slots }()
			s.serveConn(ctx, nc)
		})
	}
}

func (s *Server) serveConn(ctx context.Context, nc net.Conn) {
	if err := checkPeer(nc); err != nil {
		refuse(ctx, nc, err)
		return
	}
	c := NewConn(ctx, nc, s.dispatch)
	c.running = make(chan struct{}, maxRunning)
	c.mu.Lock()
	c.streams = &s.streams
	c.mu.Unlock()
	c.Run() //nolint:errcheck // a client that leaves is no news
	c.tasks.Wait()
}

func (s *Server) dispatch(r *Request) {
	h := s.methods[r.Method]
	if h == nil {
		r.Fail(&awp.Error{Code: awp.NotFound, Message: fmt.Sprintf("no method %q", r.Method)})
		return
	}
	h(r)
}

// refuse answers the first request with err, whatever it asks, and hangs up. A client
// that asks nothing is hung up on after a few seconds.
func refuse(ctx context.Context, nc net.Conn, err error) {
	nc.SetDeadline(time.Now().Add(refuseWithin)) //nolint:errcheck // Run sees a dead socket
	c := NewConn(ctx, nc, func(r *Request) {
		r.Fail(err)
		r.Conn.Close()
	})
	c.Run() //nolint:errcheck // refused
}
