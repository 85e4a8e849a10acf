package wirecmd

import (
	"context"
	"fmt"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/internal/handshake"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// peer is another agent that has a link, or whose link is being admitted.
type peer struct {
	key  awp.Key
	turn chan struct{} // holds one token while a connection is being admitted

	// Under session.mu.
	users int         // who refers to it: a link, and those who wait for their turn
	link  *connection // admitted and not ended; nil: none
	up    bool        // the dialling loop was told LinkUp
}

// admit lets a connection that proved its key become the peer's link. One at a time: the
// tie-break, the end of the old link and awp-store's word belong together. awp-store is
// asked only after the old link was read to its end and its LinkDown was sent, because
// the answer says what we have seen.
func (s *session) admit(ctx context.Context, c *connection, who handshake.Peer) handshake.Event {
	p := s.use(who.Key)
	defer s.unuse(p)
	defer s.settle(p) // a link may have ended during our turn, and left it to us
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return handshake.Lost{Reason: "handshake timed out"}
	}
	dialer := who.Key
	if c.outbound {
		dialer = s.hello.Key
	}
	c.who = who.Key
	if old := s.linkOf(p); old != nil {
		if !old.draining.Load() && old.active.Survives(dialer, time.Now()) && old.answers(ctx) {
			return handshake.Yielded{Reason: "both sides dialed at once; the other connection stays"}
		}
		old.box.post(link.Replaced{})
		select {
		case <-old.done:
		case <-ctx.Done():
			return handshake.Lost{Reason: "handshake timed out"}
		}
	}
	return s.ask(ctx, c, p, dialer, who)
}

// answers reports whether the peer is at the other end of a link that the tie-break
// favours. A peer that crashed right after it was connected comes back at once, while no
// transport says that its old end is gone.
func (c *connection) answers(ctx context.Context) bool {
	sign := make(chan struct{})
	c.asked.Store(&sign)
	c.box.post(link.Doubt{})
	silence := time.NewTimer(wire.TieBreakProof)
	defer silence.Stop()
	select {
	case <-sign:
		return true
	case <-ctx.Done():
		return true
	case <-c.done:
	case <-silence.C:
	}
	return false
}

// ask asks awp-store. The link can be found by its number before, so that nothing that is
// pushed for it can come too early.
func (s *session) ask(ctx context.Context, c *connection, p *peer, dialer awp.Key, who handshake.Peer) handshake.Event {
	if !s.room(c) {
		s.d.log.Warn("connection dropped: too many links", "limit", maxLinks)
		return handshake.Lost{Reason: fmt.Sprintf("%d links are up already", maxLinks)}
	}
	// The answer is waited for however late it comes: a link that awp-store admitted and
	// nobody carries would look connected for ever.
	params := ipc.AdmitParams{Link: c.number, Peer: p.key, Outbound: c.outbound, Via: c.via}
	res, err := s.askAdmit(ctx, params, who)
	late := err == nil && res.Refused == "" && ctx.Err() != nil
	if err != nil || res.Refused != "" || late {
		s.mu.Lock()
		delete(s.links, c.number)
		s.mu.Unlock()
	}
	switch {
	case err != nil:
		return handshake.Lost{Reason: "awp-store did not admit: " + err.Error()}
	case res.Refused != "":
		s.d.log.Info("peer refused", "outbound", c.outbound)
		return handshake.Refused{Detail: res.Refused}
	case late:
		ipc.LinkDown.Send(s.conn, ipc.DownParams{Link: c.number, Reason: "admitted too late"}) //nolint:errcheck // see handOver
		return handshake.Lost{Reason: "handshake timed out"}
	}
	failpoint.Hit("wire/admitted")
	s.mu.Lock()
	c.peer, c.active = p, link.Active{Dialer: dialer, Since: time.Now()}
	p.link = c
	p.users++
	c.known.Store(c.outbound || res.Known)
	close(s.admitted)
	s.admitted = make(chan struct{})
	s.mu.Unlock()
	if res.Seen == nil {
		res.Seen = map[awp.ThreadID]awp.MessageID{}
	}
	c.control(wire.Resume{Envelope: wire.Envelope{T: wire.TypeResume}, Seen: res.Seen})
	return handshake.Admitted{}
}

func (s *session) askAdmit(ctx context.Context, p ipc.AdmitParams, who handshake.Peer) (ipc.AdmitResult, error) {
	if err := s.asking(ctx); err != nil {
		return ipc.AdmitResult{}, err
	}
	defer s.answered()
	return ipc.LinkAdmit.Call(s.ctx, s.conn, p, append([][]byte{who.Hello}, who.Grants...)...)
}

// use returns the peer with that key, and keeps it until unuse.
func (s *session) use(key awp.Key) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[key]
	if p == nil {
		p = &peer{key: key, turn: make(chan struct{}, 1)}
		s.peers[key] = p
	}
	p.users++
	return p
}

func (s *session) unuse(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(s.peers, p.key)
	}
}

func (s *session) linkOf(p *peer) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.link
}

// linked returns the link of a peer unless it is about to end.
func (s *session) linked(key awp.Key) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.peers[key]; p != nil && p.link != nil && !p.link.draining.Load() {
		return p.link
	}
	return nil
}

// established follows the first word of a peer that accepted us.
func (s *session) established(c *connection) {
	s.mu.Lock()
	told := c.peer.up
	c.peer.up = true
	s.mu.Unlock()
	if !told {
		s.dialer.post(c.who, link.LinkUp{})
	}
}

// release forgets a link that ended. One that was dialed by us and lost with awp-store is
// remembered: the next session dials it again.
func (s *session) release(c *connection) {
	s.mu.Lock()
	delete(s.links, c.number)
	if c.evicted {
		s.leaving--
	}
	p := c.peer
	p.link = nil
	up := p.up
	s.mu.Unlock()
	if s.ctx.Err() != nil && c.outbound && up && !c.draining.Load() {
		s.d.mu.Lock()
		s.d.redial[c.who] = link.Target{Addr: c.via, Source: "connect"}
		s.d.mu.Unlock()
	}
	if len(p.turn) == 0 { // else whoever's turn it is settles it afterwards
		s.settle(p)
	}
	s.unuse(p)
}

// settle tells the dialling loop that a peer has no link, if it has none and the loop
// thinks otherwise.
func (s *session) settle(p *peer) {
	s.mu.Lock()
	gone := p.up && p.link == nil
	if gone {
		p.up = false
	}
	s.mu.Unlock()
	if gone {
		s.dialer.post(p.key, link.LinkDown{})
	}
}
