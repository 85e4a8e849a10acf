package tailcat

import (
	"context"
	"errors"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
	"github.com/tailscale/tailcat"
	"tailscale.com/types/key"
)

// How long an attempt may take. A client that is up resends its first packet after 1, 3,
// 7 … s and gives up after 127 s; a fresh one finds a network that came back within a
// second (NATLAB.md section 4). So attempts are short and each has a client of its own.
// WireGuard resends a lost handshake after 5.0 to 5.3 s: the second attempt outlasts that.
const (
	dialFirst = 3 * time.Second
	dialAgain = 6 * time.Second
)

// dialApart is the least time between two handshakes of ours with a server. WireGuard drops
// one that comes within 20 ms of the last, and the next is 5 s later.
const dialApart = 50 * time.Millisecond

// drainFor is how long a closed connection may take to say so to its peer.
const drainFor = 500 * time.Millisecond

// slot is where the connection to one server is: never more than one, because of two
// clients with one key the newer wins and the older hangs.
type slot struct {
	turn  chan struct{} // holds one token while somebody dials
	users int           // dials and the connection; under Node.mu

	// Owned by who has the turn.
	conn  *conn     // the last
	tried time.Time // when the last attempt ended
}

// Dial connects to another home's node at its tc… address. It takes about 9 s at the most.
// Errors: invalid, unreachable.
func (n *Node) Dial(ctx context.Context, addr string) (net.Conn, error) {
	to, err := tailcat.ParseAddr(tailcat.Addr(addr))
	if err != nil || to.ServerPublic.IsZero() {
		return nil, &awp.Error{Code: awp.Invalid, Message: "not a tailcat address, or cut short", Hint: "copy the whole of what awp address printed there"}
	}
	if to.ServerDiscoPublic.IsZero() {
		return nil, &awp.Error{Code: awp.Invalid, Message: "a tailcat address of a release that is too old", Hint: "upgrade the other side, and use the address it prints then"}
	}
	k, err := n.keys()
	if err != nil {
		return nil, err
	}
	server := to.ServerPublic.NodePublic
	s, ok := n.enter(server)
	if !ok {
		return nil, errClosed
	}
	defer n.leave(server, s)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, unreachable(ctx.Err())
	}
	if s.conn != nil { // its link is gone, or this dial would not be
		s.conn.abandon()
		s.conn = nil
	}
	if !pause(ctx, dialApart-time.Since(s.tried), nil) {
		return nil, unreachable(ctx.Err())
	}
	as := k.clientKey("dial", server)
	c, nc, err := n.attempt(ctx, dialFirst, addr, as)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		c, nc, err = n.attempt(ctx, dialAgain, addr, as)
	}
	s.tried = time.Now()
	if err != nil {
		return nil, unreachable(err)
	}
	dialed, ok := n.newConn(nc, c, server, s)
	if !ok {
		dialed.Close()
		return nil, errClosed
	}
	s.conn = dialed
	return dialed, nil
}

// attempt dials with a client of its own.
func (n *Node) attempt(ctx context.Context, patience time.Duration, addr string, as key.NodePrivate) (*tailcat.Client, net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := &tailcat.Client{Server: tailcat.Addr(addr), Key: as, Logf: n.logf, DERPMapURL: n.opt.DERPMapURL}
	nc, err := c.DialTCPPort(ctx, wire.TunnelPort)
	if err != nil {
		n.end(c)
		return nil, nil, err
	}
	return c, nc, nil
}

// enter returns a server's slot, and keeps it until leave. False: the node is closed.
func (n *Node) enter(server key.NodePublic) (*slot, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, false
	}
	s := n.slots[server]
	if s == nil {
		s = &slot{turn: make(chan struct{}, 1)}
		n.slots[server] = s
	}
	s.users++
	n.busy.Add(1)
	return s, true
}

func (n *Node) leave(server key.NodePublic, s *slot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(n.slots, server)
	}
	n.busy.Done()
}

// conn is a dialed connection and the client that carries nothing else.
type conn struct {
	net.Conn
	node    *Node
	client  *tailcat.Client
	closing sync.Once
	hurry   chan struct{} // holds one token: nobody waits for the peer
	gone    chan struct{} // closed when the client is
	left    func()        // gives the slot back
}

// newConn takes over what was dialed. False: the node was closed meanwhile, and the
// connection must be.
func (n *Node) newConn(nc net.Conn, client *tailcat.Client, server key.NodePublic, s *slot) (*conn, bool) {
	c := &conn{
		Conn: nc, node: n, client: client,
		hurry: make(chan struct{}, 1),
		gone:  make(chan struct{}),
		left:  func() { n.leave(server, s) },
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.users++
	n.busy.Add(1) // leave takes both back
	n.open[c] = struct{}{}
	return c, !n.closed
}

// tidyEvery is the least time between two times that memory is given back.
const tidyEvery = time.Second

// end closes a client, and gives its memory back. Each brings 40 MB of buffers, nearly
// all of them never touched, so that they cost nothing until the garbage collector hands
// them out again and they are wiped: 26 attempts at a peer that was away took a process
// from 26 to 260 MB. Fresh pages stay untouched.
func (n *Node) end(c *tailcat.Client) {
	c.Close() //nolint:errcheck // it has no way to fail
	n.mu.Lock()
	due := time.Since(n.tidied) >= tidyEvery
	if due {
		n.tidied = time.Now()
	}
	n.mu.Unlock()
	if due {
		debug.FreeOSMemory()
	}
}

// Close closes the connection and, once the peer knows or a moment passed, its client.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.closing.Do(func() { go c.drain() }) // Node.Close waits for it
	return err
}

// drain gives the end of the stream a moment to reach the peer. The TCP stack goes with
// the client.
func (c *conn) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.client.DrainTCP(ctx) //nolint:errcheck // a peer that is gone needs no end
	}()
	select {
	case <-done:
	case <-c.hurry:
		cancel()
		<-done
	}
	c.node.end(c.client)
	close(c.gone)
	c.node.mu.Lock()
	delete(c.node.open, c)
	c.node.mu.Unlock()
	c.left()
}

// CloseWrite tells the peer that nothing more comes.
func (c *conn) CloseWrite() error {
	if hc, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return hc.CloseWrite()
	}
	return errors.ErrUnsupported
}

// abandon closes the connection without waiting for the peer.
func (c *conn) abandon() {
	select {
	case c.hurry <- struct{}{}:
	default:
	}
	c.Close() //nolint:errcheck // nobody is left to tell
	<-c.gone
}

var errClosed = &awp.Error{Code: awp.Unreachable, Message: "awp-wire is stopping"}

// unreachable words a failed dial. Wrong keys, a peer that is away and a relay that is
// down all look alike from here: nobody answers.
func unreachable(err error) error {
	msg := "cannot connect through the tunnel"
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		msg = "reached, but nobody listens there"
	case errors.Is(err, context.DeadlineExceeded):
		msg = "timed out: the peer is away, or its relay cannot be reached"
	case errors.Is(err, context.Canceled):
		msg = "given up"
	}
	return &awp.Error{Code: awp.Unreachable, Message: msg, Cause: err}
}
