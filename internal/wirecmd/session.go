package wirecmd

import (
	"context"
	"errors"
	"sync"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
)

// Bounds of one session.
const (
	maxHandshakes = 64   // connections of strangers that did not prove a key yet
	maxLinks      = 1024 // links at a time, see room
	maxDials      = 32   // attempts of dialling loops at a time
	maxAsks       = 64   // hello lines that wait for awp-store's word at a time
)

// session is the time between a claim and the loss of awp-store.
type session struct {
	d      *daemon
	conn   *ipc.Conn
	ctx    context.Context // ends with conn
	dialer *dialer
	budget budget
	lobby  lobby
	asks   chan struct{} // one a hello line that awp-store has not answered

	ready chan struct{} // closed once hello is set
	hello ipc.LinkHello

	mu       sync.Mutex
	closed   bool // no task may begin
	tasks    sync.WaitGroup
	links    map[uint64]*connection // by number, from before admission on
	leaving  int                    // of them, evicted
	peers    map[awp.Key]*peer
	admitted chan struct{} // closed and replaced when a link is admitted
}

func newSession(d *daemon) *session {
	s := &session{
		d:        d,
		asks:     make(chan struct{}, maxAsks),
		ready:    make(chan struct{}),
		links:    make(map[uint64]*connection),
		peers:    make(map[awp.Key]*peer),
		admitted: make(chan struct{}),
	}
	s.budget.free = budgetBytes
	s.dialer = newDialer(s)
	return s
}

// serve claims the links and carries them until awp-store is lost.
func (d *daemon) serve(ctx context.Context, s *session, conn *ipc.Conn) error {
	s.conn, s.ctx = conn, conn.Context()
	ended := make(chan error, 1)
	go func() { ended <- conn.Run() }()
	hello, err := ipc.LinkClaim.Call(ctx, conn, ipc.None{})
	if err != nil {
		conn.Fail(err)
		<-ended
		s.close()
		return err
	}
	s.hello = hello
	close(s.ready)
	s.spawn(s.dialer.run)
	s.spawn(s.accept)
	d.setSession(s)
	d.log.Info("links claimed")
	s.reportListening()
	for key, target := range d.takeRedial() {
		s.dialer.post(key, link.Redial{Target: target})
	}
	err = <-ended
	d.setSession(nil)
	s.close()
	return err
}

// spawn runs fn on a goroutine that the session waits for. False: it is closed.
func (s *session) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Go(fn)
	return true
}

// close waits for everything that the session began. Its context has ended.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.tasks.Wait()
}

// accept takes connections from the listeners. While there is no session nobody does,
// and peers wait in the listeners' queues.
func (s *session) accept() {
	for {
		select {
		case nc := <-s.d.accepted:
			c := newConnection(s, nc.Conn, nc.Via)
			if out := s.lobby.enter(c); out != nil {
				s.d.log.Warn("connection dropped: too many handshakes at a time", "limit", maxHandshakes)
				out.cancel(errCrowded)
			}
			if !s.spawn(c.run) {
				nc.Close()
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// handle takes what awp-store pushes. It runs on the connection's reading goroutine, so
// it must not wait: everything goes to queues that the windows bound.
func (s *session) handle(r *ipc.Request) {
	switch r.Method {
	case ipc.LinkOut.Name:
		var p ipc.OutParams
		if c := s.decodeFor(r, &p, &p.Link); c != nil {
			c.took(p.Took)
			c.push(p, r.Lines)
		}
	case ipc.LinkTook.Name:
		var p ipc.LinkCredit
		c := s.decodeFor(r, &p, &p.Link)
		if !p.Credit.Valid() {
			s.conn.Fail(errors.New("awp-store returned no window"))
		} else if c != nil {
			c.took(p.Credit)
		}
	case ipc.LinkWant.Name:
		var w ipc.Want
		if s.decode(r, &w) {
			s.dialer.post(w.Peer, link.Wanted{Targets: targets(w.Addrs), New: w.New, Waiting: w.Waiting})
		}
	case ipc.LinkUnwant.Name:
		var p ipc.LinkPeerRef
		if s.decode(r, &p) {
			s.dialer.post(p.Peer, link.Unwanted{})
		}
	default:
		r.Fail(&awp.Error{Code: awp.NotFound, Message: "no method " + r.Method})
	}
}

// decode reads what awp-store pushed. What cannot be read is a defect of one of the two
// programs, and nothing after it can be trusted.
func (s *session) decode(r *ipc.Request, params any) bool {
	err := r.Decode(params)
	if err != nil {
		s.conn.Fail(err)
	}
	return err == nil
}

// decodeFor is decode for what concerns a link; nil: it ended meanwhile.
func (s *session) decodeFor(r *ipc.Request, params any, number *uint64) *connection {
	if !s.decode(r, params) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[*number]
}

func targets(addrs []ipc.DialTarget) []link.Target {
	ts := make([]link.Target, len(addrs))
	for i, a := range addrs {
		ts[i] = link.Target{Addr: a.Addr, Source: a.Source}
	}
	return ts
}

// takeRedial returns the links that we had dialed when the last session ended.
func (d *daemon) takeRedial() map[awp.Key]link.Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.redial
	d.redial = make(map[awp.Key]link.Target)
	return taken
}
