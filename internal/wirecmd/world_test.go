package wirecmd

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/transport"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// identity makes the identities of the tests: equal n, equal identity.
func identity(n int) wire.Identity {
	id, err := wire.IdentityFromSeed(bytes.Repeat([]byte{byte(n)}, wire.SeedSize))
	if err != nil {
		panic(err)
	}
	return id
}

// ordered returns two identities, the one with the smaller key first.
func ordered() (small, large wire.Identity) {
	small, large = identity(1), identity(2)
	if small.Key.String() > large.Key.String() {
		return large, small
	}
	return small, large
}

// world is one awp-wire in a bubble, with its store at the other end of a pipe and no
// network but what the test provides.
type world struct {
	t     *testing.T
	d     *daemon
	store *fakeStore
	ctx   context.Context
	stop  context.CancelFunc
	log   *bytes.Buffer
	dials chan wire.Addr // every dial, in order

	mu   sync.Mutex
	dial dialFunc // what is at an address; nil: nobody
}

type dialFunc func(context.Context, wire.Addr) (net.Conn, error)

func (w *world) setDial(fn dialFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dial = fn
}

// inBubble runs fn with a world whose awp-wire has claimed its links.
func inBubble(t *testing.T, set config.Settings, fn func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w := &world{t: t, store: newFakeStore(identity(1)), ctx: ctx, stop: cancel, log: new(bytes.Buffer), dials: make(chan wire.Addr, 1000)}
		w.d = newDaemon(Config{Settings: set, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		w.d.dial = func(ctx context.Context, a wire.Addr) (net.Conn, error) {
			w.dials <- a
			w.mu.Lock()
			dial := w.dial
			w.mu.Unlock()
			if dial == nil {
				return nil, &awp.Error{Code: awp.Unreachable, Message: "nobody listens there"}
			}
			return dial(ctx, a)
		}
		ended := w.claim()
		defer synctest.Wait()
		defer func() { cancel(); <-ended }()
		fn(w)
	})
}

// claim starts a session; the channel is closed when it ends.
func (w *world) claim() <-chan struct{} {
	here, there := net.Pipe()
	store := ipc.NewConn(w.ctx, there, w.store.handle)
	go store.Run() //nolint:errcheck // ends with the pipe
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s := newSession(w.d)
		w.d.serve(w.ctx, s, ipc.NewConn(w.ctx, here, s.handle)) //nolint:errcheck // test
		store.Fail(io.EOF)
	}()
	synctest.Wait()
	return ended
}

// connect opens a connection as if w's listener had accepted it.
func (w *world) connect(id wire.Identity) *rawPeer {
	here, there := net.Pipe()
	w.d.accepted <- transport.Conn{Conn: here, Via: "unix:/test"}
	return newRawPeer(w.t, id, there)
}

// pairDial makes every dial of w reach a raw peer of id, which the test gets.
func (w *world) pairDial(id wire.Identity) <-chan *rawPeer {
	peers := make(chan *rawPeer, 100)
	w.setDial(func(context.Context, wire.Addr) (net.Conn, error) {
		here, there := net.Pipe()
		peers <- newRawPeer(w.t, id, there)
		return here, nil
	})
	return peers
}

// session returns the current session.
func (w *world) session() *session {
	s, err := w.d.current(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) want(id wire.Identity, fresh bool, addrs ...ipc.DialTarget) {
	ipc.LinkWant.Send(w.store.conn, ipc.Want{Peer: id.Key, Addrs: addrs, New: fresh}) //nolint:errcheck // test
}
