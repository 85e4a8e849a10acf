package wirecmd

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/internal/transport"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// Config is what awp-wire is started with.
type Config struct {
	Home     string
	Settings config.Settings // Listen, Advertise, PingInterval, AllowPlaintext, Trace
	Log      *slog.Logger    // nil: the default logger
	Tunnel   Tunnel          // nil: this build has none
}

// Tunnel reaches homes where no address of a network does, and makes this home reachable
// under an address of its own (tc…). It looks after itself: what it cannot do now it
// tries again.
type Tunnel interface {
	// Listen keeps the home reachable until ctx ends, and leaves up what connections
	// still need. It reports each change: the address once peers can use it, and why
	// not. accept takes a connection, and may wait.
	Listen(ctx context.Context, report func(addr string, err error), accept func(net.Conn))
	// Dial connects to another home's address.
	Dial(ctx context.Context, addr string) (net.Conn, error)
	// Close ends what Listen left up, once every connection is closed.
	Close()
}

// Run serves the control socket, the peers and awp-store until ctx ends, and then leaves
// without a bye: links end, and their peers come back when they find us again.
func Run(ctx context.Context, cfg Config, control net.Listener) error {
	d := newDaemon(cfg)
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	if cfg.Tunnel != nil {
		defer cfg.Tunnel.Close() // after the connections that run through it
	}
	defer tasks.Wait()
	defer cancel()
	tasks.Go(func() { d.listen(ctx) })
	tasks.Go(func() { d.watchSleep(ctx) })
	tasks.Go(func() { d.followStore(ctx) })
	return d.server().Serve(ctx, control)
}

// daemon is the program, whatever becomes of awp-store.
type daemon struct {
	cfg      Config
	log      *slog.Logger
	ids      *wire.IDs
	dial     func(context.Context, wire.Addr) (net.Conn, error)
	accepted chan transport.Conn // listeners hand over to whatever session there is
	numbers  atomic.Uint64       // of links, never twice
	board    *board

	mu      sync.Mutex
	session *session      // nil while awp-store is away
	changed chan struct{} // closed and replaced when session is set
	redial  map[awp.Key]link.Target
}

func newDaemon(cfg Config) *daemon {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Settings.PingInterval <= 0 {
		cfg.Settings.PingInterval = wire.PingInterval
	}
	opt := transport.Options{AllowPlaintext: cfg.Settings.AllowPlaintext}
	return &daemon{
		cfg: cfg,
		log: cfg.Log,
		ids: wire.NewIDs(nil, nil),
		dial: func(ctx context.Context, a wire.Addr) (net.Conn, error) {
			if a.Kind == wire.KindTailcat && cfg.Tunnel != nil {
				return cfg.Tunnel.Dial(ctx, a.Rest)
			}
			return transport.Dial(ctx, a, opt)
		},
		accepted: make(chan transport.Conn),
		board:    newBoard(cfg.Settings.Listen),
		changed:  make(chan struct{}),
		redial:   make(map[awp.Key]link.Target),
	}
}

// server answers on the control socket.
func (d *daemon) server() *ipc.Server {
	srv := ipc.NewServer()
	ipc.Handle(srv, ipc.Ready, d.ready)
	ipc.Handle(srv, ipc.Connect, d.connect)
	ipc.Handle(srv, ipc.Bye, d.bye)
	return srv
}

// The wait between two attempts to reach awp-store. The supervisor holds its socket open
// while it restarts, so a long wait would only add to the outage.
const (
	storeRetryMin = 100 * time.Millisecond
	storeRetryMax = 2 * time.Second
)

// followStore keeps a session with awp-store.
func (d *daemon) followStore(ctx context.Context) {
	for wait := storeRetryMin; ; wait = min(2*wait, storeRetryMax) {
		began := time.Now()
		s := newSession(d)
		conn, err := ipc.Dial(ctx, d.cfg.Home, ipc.StoreSocket, s.handle)
		if err == nil {
			err = d.serve(ctx, s, conn)
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > storeRetryMax {
			wait = storeRetryMin
		}
		d.log.Warn("no session with awp-store", "err", err)
		if !pause(ctx, wait) {
			return
		}
	}
}

// pause waits for a retry; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// current waits for a session.
func (d *daemon) current(ctx context.Context) (*session, error) {
	for {
		d.mu.Lock()
		s, changed := d.session, d.changed
		d.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &awp.Error{Code: awp.Unreachable, Message: "awp-store does not answer", Hint: "look at the daemon's log: awp doctor"}
		}
	}
}

func (d *daemon) setSession(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = s
	close(d.changed)
	d.changed = make(chan struct{})
}
