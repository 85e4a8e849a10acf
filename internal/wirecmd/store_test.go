package wirecmd

import (
	"encoding/json/v2"
	"strings"
	"sync"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

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

	mu          sync.Mutex
	conn        *ipc.Conn
	heard       []call
	grants      []string                                      // presented with our auth
	took        bool                                          // take lines at once
	admit       func(ipc.AdmitParams) (ipc.AdmitResult, bool) // nil: admit; false: never answer
	known       func(ipc.LinkPeerParams) (ipc.Want, bool)
	parked      func() bool   // false: never answer
	keepsResume bool          // never take a resume
	stalls      bool          // never sign
	counts      chan int      // when counting: lines that came in or were written, nothing is kept
	news        chan struct{} // holds one token when something was heard since the last look
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
	var p ipc.LinkCredit
	r.Decode(&p) //nolint:errcheck // ours
	switch r.Method {
	case ipc.LinkWritten.Name:
		counts <- p.Credit.Lines
	case ipc.LinkIn.Name:
		bytes := 0
		for _, l := range r.Lines {
			bytes += len(l)
		}
		ipc.LinkTook.Send(r.Conn, ipc.LinkCredit{Link: p.Link, Credit: ipc.Credit{Lines: len(r.Lines), Bytes: bytes}}) //nolint:errcheck // test
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
	case ipc.LinkResume.Name:
		if bytes > 0 && !s.keepsResume {
			var p ipc.LinkRef
			r.Decode(&p)                                                                                        //nolint:errcheck // ours
			ipc.LinkTook.Send(r.Conn, ipc.LinkCredit{Link: p.Link, Credit: ipc.Credit{Lines: 1, Bytes: bytes}}) //nolint:errcheck // test
		}
	case ipc.LinkClaim.Name:
		s.conn = r.Conn
		r.Reply(ipc.LinkHello{Key: s.id.Key, Name: "us", About: "a test", Caps: wire.Caps()})
	case ipc.IdentitySign.Name:
		if s.stalls {
			return
		}
		r.Reply(ipc.SignResult{Sig: s.id.SignAuth(r.Lines[0], r.Lines[1]), Grants: s.grants})
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
			r.Decode(&p)                                                                                                   //nolint:errcheck // ours
			ipc.LinkTook.Send(r.Conn, ipc.LinkCredit{Link: p.Link, Credit: ipc.Credit{Lines: len(r.Lines), Bytes: bytes}}) //nolint:errcheck // test
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
