package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// host is one store whose peers the test plays, line by line.
type host struct {
	t     testing.TB
	home  string
	set   Settings
	log   bytes.Buffer
	store *Store
	links uint64

	mu      sync.Mutex
	out     map[uint64][]wire.Err // control lines by link, as far as all of them have these fields
	acks    map[uint64][]awp.MessageID
	push    map[uint64][]string
	last    map[uint64]bool
	kinds   map[uint64][]string // types of control lines, in order
	notes   map[uint64][]string // grant and introduce lines that were not queued
	took    int
	wants   []Want
	unwants int // wants that were taken back
	news    chan struct{}
}

func newHost(t testing.TB, set Settings) *host {
	h := &host{t: t, home: t.TempDir(), set: set}
	h.open()
	t.Cleanup(func() { h.store.Close() })
	return h
}

func (h *host) open() {
	h.out, h.acks = map[uint64][]wire.Err{}, map[uint64][]awp.MessageID{}
	h.notes, h.kinds = map[uint64][]string{}, map[uint64][]string{}
	h.push, h.last = map[uint64][]string{}, map[uint64]bool{}
	h.news = make(chan struct{}, 1)
	s, err := Open(h.home, h.set, slog.New(slog.NewTextHandler(&h.log, nil)))
	if err != nil {
		h.t.Fatal(err)
	}
	h.store = s
	if _, err := s.Claim(h); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) reopen() {
	h.store.Close()
	h.open()
}

func (h *host) note(fn func()) {
	h.mu.Lock()
	fn()
	h.mu.Unlock()
	select {
	case h.news <- struct{}{}:
	default:
	}
}

func (h *host) Out(link uint64, p Push) {
	h.note(func() {
		h.took += p.Took.Lines
		for _, line := range p.Lines {
			if !p.Control {
				h.push[link] = append(h.push[link], string(line))
				continue
			}
			env, _ := wire.ParseEnvelope(line)
			h.kinds[link] = append(h.kinds[link], env.T)
			if env.T == wire.TypeAck {
				h.acks[link] = append(h.acks[link], env.Re)
			} else if env.T == wire.TypeGrant || env.T == wire.TypeIntroduce {
				h.notes[link] = append(h.notes[link], string(line))
			} else if e, err := wire.Decode[wire.Err](line); err == nil {
				h.out[link] = append(h.out[link], e)
			}
		}
		h.last[link] = h.last[link] || p.Last
	})
}

func (h *host) Took(_ uint64, c Credit) { h.note(func() { h.took += c.Lines }) }
func (h *host) Want(w Want)             { h.note(func() { h.wants = append(h.wants, w) }) }
func (h *host) Unwant(awp.Key)          { h.note(func() { h.unwants++ }) }

// until waits until ok holds.
func (h *host) until(what string, ok func() bool) {
	h.t.Helper()
	timeout := time.After(10 * time.Second)
	look := time.NewTicker(5 * time.Millisecond) // not all that is waited for is told
	defer look.Stop()
	for {
		h.mu.Lock()
		done := ok()
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-h.news:
		case <-look.C:
		case <-timeout:
			h.t.Fatalf("never came: %s\n%s", what, h.log.String())
		}
	}
}

// stranger is a peer that the test plays.
type stranger struct {
	h    *host
	id   wire.Identity
	ids  *wire.IDs
	link uint64
	via  string // where it comes from; empty: unix:/x
}

func (h *host) stranger(name string) *stranger {
	id, err := wire.NewIdentity(rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	p := &stranger{h: h, id: id, ids: wire.NewIDs(nil, nil)}
	p.connect(name)
	return p
}

// connect brings the peer's link up, in place of an older one, and resumes with nothing
// seen.
func (p *stranger) connect(name string) Admitted {
	if p.link != 0 {
		p.h.store.Down(p.link, "test")
	}
	a := p.admit(name)
	p.h.store.Resume(p.link, p.encode(wire.Resume{Envelope: p.env(wire.TypeResume, "")}))
	return a
}

func (p *stranger) admit(name string) Admitted {
	p.h.links++
	p.link = p.h.links
	done := make(chan Admitted, 1)
	p.h.store.Admit(NewLink{ID: p.link, Peer: p.id.Key, Via: cmp.Or(p.via, "unix:/x"), Hello: p.encode(wire.Hello{
		Envelope: p.env(wire.TypeHello, ""), Key: p.id.Key.String(), Name: name, Nonce: "AA", About: "a test",
		Caps: []string{"chat"}, Addr: "unix:/" + name,
	})}, func(a Admitted, err error) {
		if err != nil {
			p.h.t.Error(err)
		}
		done <- a
	})
	return <-done
}

func (p *stranger) env(typ string, th awp.ThreadID) wire.Envelope {
	return wire.Envelope{T: typ, ID: p.ids.Next(), TS: wire.Stamp(time.Now()), Th: th}
}

func (p *stranger) encode(v any) []byte {
	line, err := wire.Encode(v)
	if err != nil {
		p.h.t.Fatal(err)
	}
	return line
}

// send hands over lines and waits until they were judged.
func (p *stranger) send(lines ...[]byte) {
	p.h.t.Helper()
	p.h.store.In(p.link, lines)
	if err := p.h.store.w.pass(context.Background(), false); err != nil {
		p.h.t.Fatal(err)
	}
}

func (p *stranger) msg(th awp.ThreadID, parts ...wire.Part) []byte {
	return p.encode(wire.Msg{Envelope: p.env(wire.TypeMsg, th), Subject: "s", Parts: parts})
}

func (p *stranger) text(th awp.ThreadID, text string) []byte {
	return p.msg(th, wire.Part{K: wire.PartText, Text: text})
}

func (p *stranger) chunk(th awp.ThreadID, ref string, n int64, last bool, data string) []byte {
	env := p.env(wire.TypeChunk, th)
	return wire.AppendChunk(nil, env.ID, env.TS, th, ref, n, last, []byte(data))
}

// refusals returns the codes of the errs that the peer's link was told.
func (p *stranger) errs() (codes []string) {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	for _, e := range p.h.out[p.link] {
		codes = append(codes, strings.TrimSuffix(string(e.Code)+" "+e.Ref, " "))
	}
	return codes
}

// inbox returns the texts of unread messages, and "type" of the rest.
func (h *host) inbox(f Filter) (list []string) {
	h.t.Helper()
	if _, err := h.store.ReadUnread(context.Background(), f, 1000, func(e awp.Event) error {
		list = append(list, describe(e))
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
	return list
}

func describe(e awp.Event) string {
	if e.Type != wire.TypeMsg {
		return "(" + e.Type + ")"
	}
	var m struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(e.Msg, &m); err != nil || len(m.Parts) == 0 {
		return fmt.Sprint("(", err, ")")
	}
	return m.Parts[0].Text
}

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// clock is a store's time. The store looks at it on goroutines of its own.
type clock struct{ ms atomic.Int64 }

func newClock(t time.Time) *clock {
	c := &clock{}
	c.ms.Store(t.UnixMilli())
	return c
}

func (c *clock) time() time.Time      { return time.UnixMilli(c.ms.Load()) }
func (c *clock) step(d time.Duration) { c.ms.Add(d.Milliseconds()) }
