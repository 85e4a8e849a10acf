package store

import (
	"errors"
	"sync"
	"time"

	"github.com/awp-suite/awp"
)

// Wire is awp-wire as the store sees it: somebody who carries lines. Its methods must not
// wait, and are called in the order in which things were committed.
type Wire interface {
	// Out pushes lines to a link.
	Out(link uint64, p Push)
	// Took says that so many lines of In were judged and, where due, committed.
	Took(link uint64, c Credit)
	// Want asks for a link to a peer; Unwant takes that back.
	Want(Want)
	Unwant(awp.Key)
}

// Push is what goes to a link at once.
type Push struct {
	Lines   [][]byte
	Control bool   // ahead of lines of the outbox that wait, and not reported as written
	Last    bool   // after the lines, close the link
	Took    Credit // as by Took
}

// Credit returns window: so many lines, and their bytes without newlines.
type Credit struct{ Lines, Bytes int }

// due reports whether there is so much of it that it must not be kept back any longer.
func (c Credit) due() bool { return c.Lines >= heldLines || c.Bytes >= heldBytes }

// Want is a peer with unfinished business.
type Want struct {
	Peer    awp.Key
	Addrs   []Target // best first
	New     bool     // because of new outbound work
	Waiting bool     // lines wait for it
}

// Target is an address to try.
type Target struct {
	Addr   string
	Source string // connect, introduce or hello
}

// Listening is where awp-wire listens.
type Listening struct {
	Addresses      []string
	Errors         []awp.ListenErr
	Tailcat        string
	TailcatError   string
	TailcatEnabled bool
}

// The bounds of what is pushed to one link and not yet written, and of how much window may
// be kept back: see package ipc, whose numbers these are.
const (
	windowLines = 256
	windowBytes = 1<<20 + heldBytes
	heldLines   = 32
	heldBytes   = 16 << 10
)

// registry knows the live links. Nothing in it outlives the process: what must, is in the
// database.
type registry struct {
	mu        sync.Mutex
	wire      Wire // nil: awp-wire is away
	era       int  // counts wires: links of an earlier one must not come up later
	links     map[uint64]*link
	peers     map[awp.Key]*link
	asking    map[uint64]awp.Key // links whose admission is under way
	dials     map[awp.Key]dial
	orphans   map[awp.Key]bool // had a link when awp-wire went, and none since
	listening Listening
	told      bool    // listening is what this wire said
	due       []*link // those whose credit must not be kept back
}

type dial struct {
	running bool
	err     string // why the last attempt failed
}

// link is one live connection to a peer. Fields below mu's line are guarded by the
// registry's mutex.
type link struct {
	id       uint64
	key      awp.Key
	peer     int64 // row number
	outbound bool
	via      string
	since    time.Time
	wake     chan struct{} // tells the pump to look; capacity 1
	gone     chan struct{} // closed when the link is down

	rejected bool // by the goroutine that calls In: a bad line came, ignore the rest
	checked  int  // likewise: signatures of grants that were checked
	failed   bool // by the committer: a line could not be stored, later ones must not be

	// mu:
	down     bool
	resumed  bool  // the outbox may flow
	cursor   int64 // sequence number of the last pushed line
	caughtUp bool  // nothing in the outbox is beyond cursor: a new line may go straight on
	missed   bool  // a line was committed while the pump was reading
	lines    int   // pushed, not yet written
	bytes    int
	took     Credit // judged, and awp-wire does not know yet
	rtt      int64  // milliseconds
}

func (g *registry) init() {
	g.links = make(map[uint64]*link)
	g.peers = make(map[awp.Key]*link)
	g.asking = make(map[uint64]awp.Key)
	g.dials = make(map[awp.Key]dial)
	g.orphans = make(map[awp.Key]bool)
}

// add adds a link that was asked for in an era, unless that is over.
func (g *registry) add(l *link, era int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if era != g.era || g.wire == nil {
		return false
	}
	g.links[l.id] = l
	g.peers[l.key] = l
	delete(g.dials, l.key)
	delete(g.orphans, l.key)
	return true
}

// remove forgets a link and returns it, nil when it is not there.
func (g *registry) remove(id uint64) *link {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.forget(id)
}

func (g *registry) forget(id uint64) *link {
	l := g.links[id]
	if l == nil {
		return nil
	}
	delete(g.links, id)
	if g.peers[l.key] == l {
		delete(g.peers, l.key)
	}
	l.down = true
	close(l.gone)
	return l
}

// drop forgets the wire and all that it told, and returns the links it had.
func (g *registry) drop() (gone []*link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wire = nil
	g.era++
	for id := range g.links {
		l := g.forget(id)
		gone = append(gone, l)
		g.orphans[l.key] = true
	}
	clear(g.dials)
	g.listening, g.told = Listening{}, false
	return gone
}

func (g *registry) get(id uint64) *link {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.links[id]
}

func (g *registry) connected(key awp.Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peers[key] != nil
}

// want asks awp-wire, if it is there, for a link. A peer whose link was lost with
// awp-wire, and not by itself, is dialed at once: through a tunnel it may not know yet
// that its end is dead, and would not dial us before it does.
func (g *registry) want(w Want) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wire == nil || g.peers[w.Peer] != nil {
		return
	}
	w.New = w.New || g.orphans[w.Peer]
	delete(g.orphans, w.Peer)
	g.wire.Want(w)
}

// tell calls fn with awp-wire, if it is there.
func (g *registry) tell(fn func(Wire)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wire != nil {
		fn(g.wire)
	}
}

// control pushes acks and errs.
func (g *registry) control(l *link, lines [][]byte, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out(l, Push{Lines: lines, Control: true, Last: last})
}

// out pushes lines, and with them the window that is to be returned. g.mu is held.
func (g *registry) out(l *link, p Push) {
	if g.wire == nil || l.down {
		return
	}
	p.Took, l.took = l.took, Credit{}
	g.wire.Out(l.id, p)
}

// judged counts a line of a link that was judged. Its window goes back with what is pushed
// next, or by credits.
func (g *registry) judged(l *link, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := l.took.due()
	l.took.Lines++
	l.took.Bytes += bytes
	if l.took.due() && !was {
		g.due = append(g.due, l)
	}
}

// credits returns to awp-wire the window that must not be kept back.
func (g *registry) credits() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.due {
		if g.wire != nil && !l.down && l.took.due() {
			g.wire.Took(l.id, l.took)
			l.took = Credit{}
		}
	}
	clear(g.due)
	g.due = g.due[:0]
}

// room reports whether a line of n bytes may be pushed. One line always fits an empty
// window. The caller holds the registry's mutex.
func (l *link) room(n int) bool {
	return l.lines == 0 || (l.lines < windowLines && l.bytes+n <= windowBytes)
}

// push sends a line just committed straight on, when the link has nothing older to send;
// else the pump will find it. The caller runs on the committer.
func (g *registry) push(key awp.Key, lines []queued) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.peers[key]
	if l == nil || g.wire == nil || !l.resumed {
		return
	}
	for len(lines) > 0 && lines[0].seq <= l.cursor {
		lines = lines[1:] // the pump saw it between its commit and now
	}
	n := 0
	if l.caughtUp {
		var out [][]byte
		for n < len(lines) && lines[n].body != nil && l.room(len(lines[n].body)) {
			l.lines++
			l.bytes += len(lines[n].body)
			l.cursor = lines[n].seq
			out = append(out, lines[n].body)
			n++
		}
		if len(out) > 0 {
			g.out(l, Push{Lines: out})
		}
	}
	if n < len(lines) {
		l.caughtUp = false
		l.missed = true
		l.look()
	}
}

// look wakes the pump.
func (l *link) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// queued is a line that a transaction put into the outbox.
type queued struct {
	seq  int64
	body []byte // nil: build it when it is pushed
}

// pump pushes the outbox to one link, oldest first, as its window allows. It ends with
// the link.
func (s *Store) pump(l *link) {
	for {
		select {
		case <-l.gone:
			return
		case <-l.wake:
		}
		for s.pumpSome(l) {
		}
	}
}

// pumpSome pushes what fits, and reports whether to try again at once.
func (s *Store) pumpSome(l *link) bool {
	g := &s.links
	g.mu.Lock()
	if l.down || !l.resumed || l.caughtUp || !l.room(0) {
		g.mu.Unlock()
		return false
	}
	q := outboxQuery{peer: l.peer, after: l.cursor, lines: windowLines - l.lines, bytes: windowBytes - l.bytes, first: l.lines == 0}
	l.missed = false
	g.mu.Unlock()

	rows, more, err := s.outboxAfter(q)
	if lost, ok := errors.AsType[*lostCopy](err); ok {
		return s.giveUpFile(l, lost)
	}
	if err != nil {
		s.log.Error("outbox unreadable, closing the link", "err", err)
		g.control(l, nil, true)
		return false
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	if l.down || g.wire == nil {
		return false
	}
	l.caughtUp = !more && !l.missed
	if len(rows) == 0 {
		return l.missed && !more
	}
	out := make([][]byte, len(rows))
	for i, q := range rows {
		out[i] = q.body
		l.lines++
		l.bytes += len(q.body)
	}
	l.cursor = rows[len(rows)-1].seq
	g.out(l, Push{Lines: out})
	return !l.caughtUp
}

// Written returns window: awp-wire wrote so many pushed lines.
func (s *Store) Written(id uint64, c Credit) {
	if c == (Credit{}) {
		return
	}
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	l := s.links.links[id]
	if l == nil {
		return
	}
	l.lines = max(0, l.lines-c.Lines)
	l.bytes = max(0, l.bytes-c.Bytes)
	if !l.caughtUp {
		l.look()
	}
}
