package wirecmd

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// connection is one connection to a peer, from its first byte to its last. Its fields
// belong to its own goroutine, run, unless they say otherwise.
type connection struct {
	s        *session
	nc       net.Conn
	number   uint64  // of the link, if it becomes one; fixed
	via      string  // canonical address, fixed
	outbound bool    // we dialed, fixed
	expect   awp.Key // who must answer, fixed; zero: anybody

	ctx     context.Context
	cancel  context.CancelCauseFunc
	tasks   sync.WaitGroup // reader, writer and calls
	in      *reader
	out     *writer  // safe for all
	box     *mailbox // safe for all
	written credit   // safe for all: awp-store does not know yet
	booked  booking  // safe for all

	batch   *batch   // being judged; nil: none
	forward [][]byte // lines of it that awp-store gets next
	window  window
	held    bool // the machine knows that reading stopped
	machine link.Machine

	// Set while the peer is admitted, under session.mu.
	peer    *peer
	active  link.Active
	evicted bool // it makes room for another

	known atomic.Bool // the home chose to deal with the peer

	settled  atomic.Bool   // the peer accepted us, or who dialed gave up before it did
	draining atomic.Bool   // nothing is written any more
	up       chan struct{} // closed when the peer accepted us
	done     chan struct{} // closed when all is over; the fields below are set
	reason   string        // why it ended
	denied   bool          // the peer refused us
	who      awp.Key       // proved; zero: nobody came so far
}

func newConnection(s *session, nc net.Conn, via string) *connection {
	c := &connection{s: s, nc: nc, number: s.d.numbers.Add(1), via: via, up: make(chan struct{}), done: make(chan struct{}), box: newMailbox()}
	c.booked.of = &s.budget
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	c.in = newReader(nc, c.ctx.Done())
	c.out = newWriter(nc, writeTimeout(s.d.cfg.Settings.PingInterval), c.box, c.ctx.Done())
	c.out.written = func(lines, bytes int) {
		c.box.written(lines, bytes)
		if due := c.written.add(lines, bytes); due != (ipc.Credit{}) {
			ipc.LinkWritten.Send(s.conn, ipc.LinkCredit{Link: c.number, Credit: due}) //nolint:errcheck // the session's end is heard of elsewhere
		}
	}
	if s.d.cfg.Settings.Trace {
		c.out.trace = func(line []byte) { c.trace("out", line) }
	}
	return c
}

// writeTimeout is as long as a peer may be silent before it counts as dead.
func writeTimeout(ping time.Duration) time.Duration { return ping * (wire.MissedPongs + 1) }

// run is the connection's own goroutine.
func (c *connection) run() {
	defer c.end()
	c.tasks.Go(c.in.run)
	c.tasks.Go(c.out.run)
	if c.greet() {
		c.s.lobby.leave(c)
		c.s.d.log.Info("link up", "link", c.number, "outbound", c.outbound)
	}
	c.carry()
}

// end closes the connection, waits for its goroutines, and only then says that the link
// is down: nothing about it is sent afterwards.
func (c *connection) end() {
	c.cancel(nil)
	c.nc.Close()
	c.tasks.Wait()
	c.s.lobby.leave(c)
	c.box.late.Stop()
	c.booked.giveAll()
	if c.reason == "" {
		c.reason = "awp-wire lost awp-store or stops"
	}
	if c.peer != nil {
		ipc.LinkDown.Send(c.s.conn, ipc.DownParams{Link: c.number, Reason: c.reason}) //nolint:errcheck // see written
		c.s.d.log.Info("link down", "link", c.number, "outbound", c.outbound)
		c.s.release(c)
	} else {
		c.s.d.log.Debug("connection ended before it was a link", "outbound", c.outbound)
	}
	close(c.done)
}

// push takes lines of awp-store for the peer. It does not wait.
func (c *connection) push(p ipc.OutParams, lines [][]byte) {
	switch {
	case !p.Control && !p.Close:
		c.known.Store(true) // the home writes to it
		c.out.pushOutbox(lines)
	case !c.out.pushControl(lines...):
		c.box.post(link.Overflow{})
	case p.Close:
		c.box.post(link.HomeCloses{})
	}
}

// took takes back window that awp-store returns.
func (c *connection) took(n ipc.Credit) {
	if n != (ipc.Credit{}) {
		c.booked.give(n.Bytes)
		c.box.credit(n)
	}
}

// control queues a line of our own.
func (c *connection) control(l any) awp.MessageID {
	id := c.s.d.ids.Next()
	raw, err := wire.Encode(stamp(l, id))
	switch {
	case err != nil:
		c.s.d.log.Error("cannot encode a line of our own", "err", err)
	case !c.out.pushControl(raw):
		c.box.post(link.Overflow{})
	}
	return id
}

// stamp gives a line of a machine its id and time.
func stamp(l any, id awp.MessageID) any {
	ts := wire.Stamp(time.Now())
	switch l := l.(type) {
	case wire.Auth:
		l.ID, l.TS = id, ts
		return l
	case wire.Err:
		l.ID, l.TS = id, ts
		return l
	case wire.Bye:
		l.ID, l.TS = id, ts
		return l
	case wire.Ping:
		l.ID, l.TS = id, ts
		return l
	case wire.Pong:
		l.ID, l.TS = id, ts
		return l
	case wire.Resume:
		l.ID, l.TS = id, ts
		return l
	}
	panic("wirecmd: a machine made a line of unknown type")
}

// traceBytes is how much of a line a trace shows. More would be file contents.
const traceBytes = 4096

func (c *connection) trace(dir string, raw []byte) {
	c.s.d.log.Info("line", "link", c.number, "dir", dir, "bytes", len(raw), "line", string(raw[:min(len(raw), traceBytes)]))
}
