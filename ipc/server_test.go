package ipc

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
)

var blockMethod = Method[None, None]{"block"}

// blockingServer serves echo, and block, which waits for release or the connection's end.
func blockingServer(release <-chan struct{}) *Server {
	s := scriptedServer()
	Handle(s, blockMethod, func(ctx context.Context, _ None) (None, error) {
		select {
		case <-release:
			return None{}, nil
		case <-ctx.Done():
			return None{}, context.Cause(ctx)
		}
	})
	return s
}

// pipes is a listener whose clients are the other ends of pipes: it works in a bubble.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.accept:
		return nc, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(t *testing.T) *Conn {
	here, there := net.Pipe()
	p.accept <- there
	c := NewConn(t.Context(), here, nil)
	go c.Run() //nolint:errcheck // the calls on c say it
	return c
}

func TestMaxConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newPipes()
		served := make(chan error)
		go func() { served <- scriptedServer().Serve(ctx, l) }()
		var open []*Conn
		for range maxConns {
			open = append(open, l.dial(t))
		}
		ask := func() error { _, err := echoMethod.Call(t.Context(), l.dial(t), text{}); return err }
		for range 3 { // those that are refused take no place
			if err := ask(); awp.CodeOf(err) != awp.Busy || Lost(err) {
				t.Errorf("got %v, want code busy", err)
			}
		}
		silent := l.dial(t)
		began := time.Now()
		<-silent.Context().Done()
		if took := time.Since(began); took != refuseWithin {
			t.Errorf("a silent client was hung up on after %v, want %v", took, refuseWithin)
		}
		open[0].Close()
		synctest.Wait()
		if err := ask(); err != nil {
			t.Errorf("with a place free: %v", err)
		}
		refused := l.dial(t) // the place was taken again
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		// Serve has waited for every connection, those it was refusing too.
		for _, c := range append(open[1:], refused) {
			<-c.Context().Done()
		}
	})
}

func TestListenerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		served := make(chan error)
		go func() { served <- scriptedServer().Serve(t.Context(), l) }()
		c := l.dial(t)
		synctest.Wait()
		l.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve: %v", err)
		}
		<-c.Context().Done()
	})
}

// More requests than may run wait in the socket; all are answered in the end.
func TestMaxRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 3 * maxRunning
		release := make(chan struct{})
		var running, most atomic.Int64
		s := NewServer()
		Handle(s, blockMethod, func(context.Context, None) (None, error) {
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
			return None{}, nil
		})
		c := pair(t, s)
		answered := make(chan error, callers)
		for range callers {
			go func() { _, err := blockMethod.Call(t.Context(), c, None{}); answered <- err }()
		}
		synctest.Wait()
		if n := running.Load(); n != maxRunning {
			t.Errorf("%d requests run, want %d", n, maxRunning)
		}
		close(release)
		for range callers {
			if err := <-answered; err != nil {
				t.Error(err)
			}
		}
		if n := most.Load(); n > maxRunning {
			t.Errorf("%d requests ran at a time", n)
		}
	})
}

// The end of the server reaches a connection that waits for a slot.
func TestEndWhileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newPipes()
		served := make(chan error)
		go func() { served <- blockingServer(nil).Serve(ctx, l) }()
		c := l.dial(t)
		ended := make(chan error)
		for range maxRunning + 5 {
			go func() { _, err := blockMethod.Call(t.Context(), c, None{}); ended <- err }()
		}
		synctest.Wait()
		cancel()
		for range maxRunning + 5 {
			if err := <-ended; !Lost(err) {
				t.Errorf("a call ended with %v, want Lost", err)
			}
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// A client that leaves ends what runs for it.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error)
		s := NewServer()
		Handle(s, blockMethod, func(ctx context.Context, _ None) (None, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return None{}, nil
		})
		c := pair(t, s)
		go blockMethod.Call(t.Context(), c, None{}) //nolint:errcheck // never answered
		synctest.Wait()
		c.Close()
		if err := <-ended; err == nil {
			t.Error("no cause")
		}
	})
}

// A call that the end of the server cuts off may have acted: whoever made it must learn
// that it was lost, and ask again, not that it failed.
func TestClosingAnswersNobody(t *testing.T) {
	for range 50 { // an answer would come first only now and then
		synctest.Test(t, func(t *testing.T) {
			l := newPipes()
			ctx, end := context.WithCancelCause(t.Context())
			served := make(chan error, 1)
			go func() { served <- blockingServer(nil).Serve(ctx, l) }()
			called := make(chan error, 1)
			c := l.dial(t)
			go func() {
				_, err := blockMethod.Call(t.Context(), c, None{})
				called <- err
			}()
			synctest.Wait()
			end(errors.New("the supervisor is gone"))
			if err := <-called; !Lost(err) {
				t.Errorf("the call ended with %v", err)
			}
			<-served
		})
	}
}
