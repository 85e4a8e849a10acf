package wirecmd

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/transport"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// identity makes the identities of the tests, in the order of their keys as text for a
// few small n.
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

// call is one thing that awp-wire told its store.
type call struct {
	method string
	params string // JSON
	lines  []string
}

func (c call) String() string {
	s := c.method + " " + c.params
	for _, l := range c.lines {
		s += "\n  " + l
	}
	return s
}

// fakeStore answers awp-wire as awp-store would, and keeps what it heard.
type fakeStore struct {
	id wire.Identity

	mu     sync.Mutex
	conn   *ipc.Conn
	heard  []call
	took   bool                                          // take lines at once
	admit  func(ipc.AdmitParams) (ipc.AdmitResult, bool) // nil: admit; false: never answer
	known  func(ipc.LinkPeerParams) (ipc.Want, bool)
	parked func() bool   // false: never answer
	counts chan int      // when counting: lines that came in or were written, nothing is kept
	news   chan struct{} // holds one token when something was heard since the last look
}

// counting makes s count lines and keep nothing, for benchmarks.
func (s *fakeStore) counting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = make(chan int, 1<<20)
}

// count answers without looking closely.
func (s *fakeStore) count(r *ipc.Request) bool {
	s.mu.Lock()
	counts := s.counts
	s.mu.Unlock()
	if counts == nil {
		return false
	}
	var p ipc.LinkCount
	r.Decode(&p) //nolint:errcheck // ours
	switch r.Method {
	case ipc.LinkWritten.Name:
		counts <- p.Lines
	case ipc.LinkIn.Name:
		bytes := 0
		for _, l := range r.Lines {
			bytes += len(l)
		}
		ipc.LinkTook.Send(r.Conn, ipc.LinkCount{Link: p.Link, Lines: len(r.Lines), Bytes: bytes}) //nolint:errcheck // test
		counts <- len(r.Lines)
	}
	return true
}

func newFakeStore(id wire.Identity) *fakeStore {
	return &fakeStore{id: id, took: true, news: make(chan struct{}, 1)}
}

func (s *fakeStore) handle(r *ipc.Request) {
	if s.count(r) {
		return
	}
	var raw any
	r.Decode(&raw) //nolint:errcheck // shown as it is
	params, _ := json.Marshal(raw, json.Deterministic(true))
	c := call{method: r.Method, params: string(params)}
	bytes := 0
	for _, l := range r.Lines {
		c.lines = append(c.lines, string(l))
		bytes += len(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, c)
	select {
	case s.news <- struct{}{}:
	default:
	}
	switch r.Method {
	case ipc.LinkClaim.Name:
		s.conn = r.Conn
		r.Reply(ipc.LinkHello{Key: s.id.Key, Name: "us", About: "a test", Caps: wire.Caps()})
	case ipc.IdentitySign.Name:
		r.Reply(ipc.SignResult{Sig: s.id.SignAuth(r.Lines[0], r.Lines[1])})
	case ipc.LinkAdmit.Name:
		var p ipc.AdmitParams
		r.Decode(&p) //nolint:errcheck // ours
		res, ok := ipc.AdmitResult{Seen: map[awp.ThreadID]awp.MessageID{"th": "01"}}, true
		if s.admit != nil {
			res, ok = s.admit(p)
		}
		if ok {
			r.Reply(res)
		}
	case ipc.LinkPeer.Name:
		var p ipc.LinkPeerParams
		r.Decode(&p) //nolint:errcheck // ours
		if s.known != nil {
			if w, ok := s.known(p); ok {
				r.Reply(w)
				return
			}
		}
		r.Fail(&awp.Error{Code: awp.NotFound, Message: "no such peer"})
	case ipc.LinkBye.Name:
		if s.parked == nil || s.parked() {
			r.Reply(ipc.None{})
		}
	case ipc.LinkIn.Name:
		if s.took {
			var p ipc.LinkRef
			r.Decode(&p)                                                                              //nolint:errcheck // ours
			ipc.LinkTook.Send(r.Conn, ipc.LinkCount{Link: p.Link, Lines: len(r.Lines), Bytes: bytes}) //nolint:errcheck // test
		}
	}
}

// calls returns what was heard of the methods, all but listening without any.
func (s *fakeStore) calls(methods ...string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []call
	for _, c := range s.heard {
		for _, m := range methods {
			if c.method == m {
				found = append(found, c)
			}
		}
		if len(methods) == 0 && c.method != ipc.LinkListening.Name {
			found = append(found, c)
		}
	}
	return found
}

// story is what was heard, in order: names only, each repetition once.
func (s *fakeStore) story() string {
	var names []string
	for _, c := range s.calls() {
		if n := len(names); n == 0 || names[n-1] != c.method {
			names = append(names, c.method)
		}
	}
	return strings.Join(names, " ")
}

// linesIn returns the lines that came by link.in.
func (s *fakeStore) linesIn() []string {
	var lines []string
	for _, c := range s.calls(ipc.LinkIn.Name) {
		lines = append(lines, c.lines...)
	}
	return lines
}

func (s *fakeStore) out(link uint64, p ipc.OutParams, lines ...string) {
	p.Link = link
	raw := make([][]byte, len(lines))
	for i, l := range lines {
		raw[i] = []byte(l)
	}
	ipc.LinkOut.Send(s.conn, p, raw...) //nolint:errcheck // test
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

// rawPeer is the other end of a link, scripted by a test.
type rawPeer struct {
	t     *testing.T
	id    wire.Identity
	nc    net.Conn
	hello []byte
	ours  []byte        // awp-wire's hello
	lines chan string   // everything that comes; closed at the end
	gate  chan struct{} // holds one token while the peer reads
	n     int
}

// connect opens a connection as if w's listener had accepted it.
func (w *world) connect(id wire.Identity) *rawPeer {
	here, there := net.Pipe()
	w.d.accepted <- transport.Conn{Conn: here, Via: "unix:/test"}
	return newRawPeer(w.t, id, there)
}

func newRawPeer(t *testing.T, id wire.Identity, nc net.Conn) *rawPeer {
	p := &rawPeer{t: t, id: id, nc: nc, lines: make(chan string, 100000), gate: make(chan struct{}, 1)}
	p.gate <- struct{}{}
	go func() {
		defer close(p.lines)
		r := wire.NewReader(nc)
		for {
			<-p.gate
			p.gate <- struct{}{}
			line, err := r.ReadLine()
			if err != nil {
				return
			}
			p.lines <- string(line)
		}
	}()
	return p
}

// write sends lines, in one write each.
func (p *rawPeer) write(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.nc, l+"\n"); err != nil {
			p.t.Errorf("write %.60s: %v", l, err)
			return
		}
	}
}

// encode writes a line of the peer's.
func (p *rawPeer) encode(v any) string {
	p.t.Helper()
	raw, err := wire.Encode(v)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

func (p *rawPeer) envelope(typ string) wire.Envelope {
	p.n++
	return wire.Envelope{T: typ, ID: awp.MessageID(fmt.Sprintf("%s%d", typ, p.n)), TS: "2026-09-29T17:00:00.000Z"}
}

// next returns the next line, or "" at the end.
func (p *rawPeer) next() string {
	select {
	case l := <-p.lines:
		return l
	case <-time.After(10 * time.Minute):
		return "nothing for 10 minutes"
	}
}

// expect returns the next line, which must be of a type.
func (p *rawPeer) expect(typ string) string {
	p.t.Helper()
	l := p.next()
	if env, err := wire.ParseEnvelope([]byte(l)); err != nil || env.T != typ {
		p.t.Fatalf("got %.200q, want a line of type %s", l, typ)
	}
	return l
}

// expectEnd waits until awp-wire closes.
func (p *rawPeer) expectEnd() {
	p.t.Helper()
	if l, open := <-p.lines; open {
		p.t.Fatalf("got %.200q, want the end", l)
	}
}

// greet does the peer's part up to its auth, and reads ours.
func (p *rawPeer) greet() {
	p.t.Helper()
	p.ours = []byte(p.expect(wire.TypeHello))
	h := wire.Hello{Envelope: p.envelope(wire.TypeHello), Key: p.id.Key.String(), Name: "raw", Nonce: wire.NewNonce(nil), Caps: wire.Caps()}
	p.hello = []byte(p.encode(h))
	p.write(string(p.hello))
	auth := p.expect(wire.TypeAuth)
	a, err := wire.Decode[wire.Auth]([]byte(auth))
	if err != nil {
		p.t.Fatal(err)
	}
	theirs, _ := wire.Decode[wire.Hello](p.ours)
	key, _ := awp.ParseKey(theirs.Key)
	if err := wire.VerifyAuth(key, a.Sig, p.ours, p.hello); err != nil {
		p.t.Fatalf("awp-wire's auth: %v", err)
	}
	p.auth()
}

func (p *rawPeer) auth() {
	p.t.Helper()
	p.write(p.encode(wire.Auth{Envelope: p.envelope(wire.TypeAuth), Sig: p.id.SignAuth(p.hello, p.ours)}))
}

// open does the whole opening of a link.
func (p *rawPeer) open() {
	p.t.Helper()
	p.greet()
	p.expect(wire.TypeResume)
	p.write(p.encode(wire.Resume{Envelope: p.envelope(wire.TypeResume)}))
}

func (p *rawPeer) msg(th, text string) string {
	return p.encode(wire.Msg{Envelope: wire.Envelope{T: wire.TypeMsg, ID: awp.MessageID(th + text[:min(len(text), 9)]), TS: "x", Th: awp.ThreadID(th)}, Parts: []wire.Part{{K: wire.PartText, Text: text}}})
}
