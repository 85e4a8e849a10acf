package wirecmd

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/transport"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// board says where we listen, in the order of the settings.
type board struct {
	mu      sync.Mutex
	places  []place       // its length is fixed
	decided chan struct{} // closed once each place was bound or failed

	tunneled  bool   // the settings want a tunnel's address
	tunnel    string // that address, canonical, once peers can use it
	tunnelErr string // why they cannot now; may come with an address that they could
}

func newBoard(listen []string) *board {
	b := &board{decided: make(chan struct{})}
	for _, addr := range listen {
		if addr == config.ListenTailcat {
			b.tunneled = true
		} else {
			b.places = append(b.places, place{addr: addr})
		}
	}
	if len(b.places) == 0 {
		close(b.decided)
	}
	return b
}

// set replaces a place.
func (b *board) set(i int, p place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places[i] = p
	select {
	case <-b.decided:
	default:
		if !slices.ContainsFunc(b.places, func(p place) bool { return !p.bound && p.err == "" }) {
			close(b.decided)
		}
	}
}

// place is one listen address of the settings.
type place struct {
	addr     string // as in the settings; once bound, with the port
	bound    bool
	wildcard bool
	err      string // why it is not bound
}

const noTailcat = "this build has no tailcat; listen on unix:/path or tcp:HOST:PORT (--listen, AWP_LISTEN or config.json)"

// listen keeps a listener at each address of the settings until ctx ends.
func (d *daemon) listen(ctx context.Context) {
	d.board.mu.Lock()
	places, tunneled := slices.Clone(d.board.places), d.board.tunneled
	d.board.mu.Unlock()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	switch {
	case tunneled && d.cfg.Tunnel == nil:
		d.setTunnel("", errors.New(noTailcat))
	case tunneled:
		tasks.Go(func() {
			d.cfg.Tunnel.Listen(ctx, d.setTunnel, func(nc net.Conn) {
				d.accept(ctx, transport.Conn{Conn: nc, Via: wire.KindTailcat})
			})
		})
	}
	for i, at := range places {
		tasks.Go(func() { d.keepListening(ctx, i, at.addr) })
	}
}

// keepListening binds and serves one address, and tries again when that fails.
func (d *daemon) keepListening(ctx context.Context, i int, addr string) {
	for wait := wire.ListenRetryMin; ; wait = min(2*wait, wire.ListenRetryMax) {
		l, err := d.bind(ctx, addr)
		if err == nil {
			wait = wire.ListenRetryMin
			d.setPlace(i, place{addr: l.Addr().String(), bound: true, wildcard: l.Wildcard()})
			d.log.Info("listening", "n", i+1, "kind", l.Addr().Kind)
			err = d.acceptAt(ctx, l)
		}
		if ctx.Err() != nil {
			return
		}
		d.log.Warn("cannot listen", "n", i+1, "err", err) // an address is a secret: its place in the settings must do
		d.setPlace(i, place{addr: addr, err: explain(err)})
		if !pause(ctx, wait) {
			return
		}
	}
}

func (d *daemon) bind(ctx context.Context, addr string) (*transport.Listener, error) {
	a, err := wire.ParseAddr(addr)
	if err != nil {
		return nil, &awp.Error{Code: awp.Invalid, Message: "not an address to listen on", Hint: "use tcp:HOST:PORT or unix:/path", Cause: err}
	}
	return transport.Listen(ctx, a, transport.Options{AllowPlaintext: d.cfg.Settings.AllowPlaintext})
}

// acceptAt hands each connection to the session there is, or waits for one.
func (d *daemon) acceptAt(ctx context.Context, l *transport.Listener) error {
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
		case awp.CodeOf(err) == awp.Denied:
			d.log.Warn("connection dropped", "err", err)
			continue
		case passes(err):
			d.log.Warn("cannot accept now", "err", endReason(err))
			if !pause(ctx, time.Second) {
				return ctx.Err()
			}
			continue
		default:
			return errors.New("cannot accept: " + endReason(err)) // its own words spell the address
		}
		if err := d.accept(ctx, nc); err != nil {
			return err
		}
	}
}

// accept hands a connection over, and waits while there is no session.
func (d *daemon) accept(ctx context.Context, nc transport.Conn) error {
	select {
	case d.accepted <- nc:
		return nil
	case <-ctx.Done():
		nc.Close()
		return ctx.Err()
	}
}

// passes reports whether an error of Accept says nothing about the listener.
func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}

func (d *daemon) setPlace(i int, p place) {
	d.board.set(i, p)
	d.tellListening()
}

// explain is an error as people read it, the hint with it: there is no other place for one.
func explain(err error) string {
	why := err.Error()
	if hint := awp.HintOf(err); hint != "" {
		why += " (" + hint + ")"
	}
	return why
}

// setTunnel notes how peers reach us through the tunnel.
func (d *daemon) setTunnel(addr string, err error) {
	why := ""
	if err != nil {
		why = explain(err)
	}
	if addr != "" {
		addr = wire.Addr{Kind: wire.KindTailcat, Rest: addr}.String()
	}
	b := d.board
	b.mu.Lock()
	same := b.tunnel == addr && b.tunnelErr == why
	back := b.tunnelErr != "" && why == ""
	b.tunnel, b.tunnelErr = addr, why
	b.mu.Unlock()
	switch {
	case same:
		return
	case err != nil:
		d.log.Warn("not reachable through tailcat", "err", err)
	default:
		d.log.Info("listening", "kind", wire.KindTailcat)
	}
	d.tellListening()
	if back {
		d.hurry()
	}
}

func (d *daemon) tellListening() {
	d.mu.Lock()
	s := d.session
	d.mu.Unlock()
	if s != nil {
		s.reportListening()
	}
}

// readyWithin bounds how long Ready waits for listeners and awp-store.
const readyWithin = 3 * time.Second

// ready serves [ipc.Ready]: once the listeners are open, or have failed, and awp-store
// knows it, so that whoever waited for us finds the address in the status.
func (d *daemon) ready(ctx context.Context, _ ipc.None) (ipc.ReadyResult, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	select {
	case <-d.board.decided:
		if s, err := d.current(ctx); err == nil {
			s.reportListening()
			// Answered in order, whatever it says: by then the report has arrived.
			ipc.LinkPeer.Call(ctx, s.conn, ipc.LinkPeerParams{}) //nolint:errcheck // see above
		}
	case <-ctx.Done():
	}
	return ipc.ReadyResult{Program: "awp-wire", Release: awp.Release, PID: os.Getpid()}, nil
}

// reportListening tells awp-store where we listen now.
func (s *session) reportListening() {
	d := s.d
	d.board.mu.Lock()
	defer d.board.mu.Unlock() // held while sending, so that the latest report is the last
	p := ipc.ListeningParams{Addresses: []string{}}
	p.TailcatEnabled, p.TailcatError = d.board.tunneled, d.board.tunnelErr
	if at := d.board.tunnel; at != "" {
		p.Addresses = append(p.Addresses, at)
		p.Tailcat = strings.TrimPrefix(at, wire.KindTailcat+":") // as people pass it on
	}
	for _, at := range d.board.places {
		switch {
		case at.bound:
			p.Addresses = append(p.Addresses, at.addr)
		case at.err != "":
			p.Errors = append(p.Errors, awp.ListenErr{Address: at.addr, Error: at.err})
		}
	}
	ipc.LinkListening.Send(s.conn, p) //nolint:errcheck // see handOver
}

// advertised is the address in our hello, where a peer can dial us back: the setting, the
// tunnel's, or the first that is listened on and means something elsewhere.
func (d *daemon) advertised() string {
	switch set := d.cfg.Settings.Advertise; set {
	case config.None:
		return ""
	case "":
	default:
		return set
	}
	d.board.mu.Lock()
	defer d.board.mu.Unlock()
	if d.board.tunnel != "" {
		return d.board.tunnel
	}
	for _, at := range d.board.places {
		if at.bound && !at.wildcard {
			return at.addr
		}
	}
	return ""
}
