package store

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// A pair is two stores and, between them, what two awp-wires and a network would be:
// lines pass in order until the cable is cut, and what is under way then is lost.
type pair struct {
	t     testing.TB
	sides [2]*side
	links atomic.Uint64
}

type side struct {
	pair  *pair
	store *Store
	home  string
	set   Settings
	mu    sync.Mutex
	cable *cable // nil: not connected
	wants chan Want
}

// cable is one link: a number and a queue for each direction.
type cable struct {
	ids   [2]uint64
	ways  [2]chan Push // lines to side i
	cut   chan struct{}
	once  sync.Once
	moved sync.WaitGroup
}

func newPair(t testing.TB, sets ...Settings) *pair {
	p := &pair{t: t}
	for i := range p.sides {
		s := &side{pair: p, home: t.TempDir(), wants: make(chan Want, 100)}
		if i < len(sets) {
			s.set = sets[i]
		}
		s.set.Host = fmt.Sprintf("host%d", i)
		p.sides[i] = s
		s.open()
	}
	t.Cleanup(func() {
		p.unplug()
		for _, s := range p.sides {
			s.store.Close()
		}
	})
	return p
}

func (s *side) open() {
	st, err := Open(s.home, s.set, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		s.pair.t.Fatal(err)
	}
	s.store = st
	if _, err := st.Claim(s); err != nil {
		s.pair.t.Fatal(err)
	}
}

func (s *side) index() int {
	if s.pair.sides[0] == s {
		return 0
	}
	return 1
}

// Out is the store's Wire: lines for the peer go onto the cable.
func (s *side) Out(link uint64, p Push) {
	s.mu.Lock()
	c := s.cable
	s.mu.Unlock()
	if c == nil || c.ids[s.index()] != link {
		return
	}
	select {
	case c.ways[1-s.index()] <- p:
	case <-c.cut:
	}
}

func (s *side) Took(uint64, Credit) {}
func (s *side) Want(w Want) {
	select {
	case s.wants <- w:
	default:
	}
}
func (s *side) Unwant(awp.Key) {}

func helloLine(t testing.TB, s *Store) []byte {
	line, err := wire.Encode(wire.Hello{
		Envelope: wire.Envelope{T: wire.TypeHello, ID: s.ids.Next(), TS: wire.Stamp(time.Now())},
		Key:      s.Key().String(), Name: "agent@" + s.hostname(), Nonce: "AA", Caps: []string{"chat", "blob"}, About: "about",
	})
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (s *side) admit(n NewLink) Admitted {
	done := make(chan Admitted, 1)
	s.store.Admit(n, func(a Admitted, err error) {
		if err != nil {
			s.pair.t.Error(err)
		}
		done <- a
	})
	return <-done
}

// plug connects the two stores, as after a handshake, and lets lines flow.
func (p *pair) plug() *cable {
	c := &cable{cut: make(chan struct{})}
	for i := range p.sides {
		c.ids[i] = p.links.Add(1)
		c.ways[i] = make(chan Push, 4096)
	}
	for i, s := range p.sides {
		s.mu.Lock()
		s.cable = c
		s.mu.Unlock()
		a := s.admit(NewLink{
			ID: c.ids[i], Peer: p.sides[1-i].store.Key(), Hello: helloLine(p.t, p.sides[1-i].store),
			Outbound: i == 0, Via: "unix:/pair",
		})
		seen := a.Seen
		if seen == nil {
			seen = map[awp.ThreadID]awp.MessageID{}
		}
		line, err := wire.Encode(wire.Resume{Envelope: wire.Envelope{T: wire.TypeResume, ID: s.store.ids.Next(), TS: wire.Stamp(time.Now())}, Seen: seen})
		if err != nil {
			p.t.Fatal(err)
		}
		c.ways[1-i] <- Push{Control: true, Lines: [][]byte{line}}
	}
	for i := range p.sides {
		c.moved.Go(func() { p.carry(c, i) })
	}
	return c
}

// carry hands to side i what comes for it, until the cable is cut.
func (p *pair) carry(c *cable, i int) {
	to, from := p.sides[i].store, p.sides[1-i].store
	for {
		select {
		case <-c.cut:
			return
		case m := <-c.ways[i]:
			n := 0
			for _, line := range m.Lines {
				n += len(line)
				if env, err := wire.ParseEnvelope(line); err == nil && env.T == wire.TypeResume {
					to.Resume(c.ids[i], line)
				} else {
					to.In(c.ids[i], [][]byte{append([]byte(nil), line...)})
				}
			}
			if !m.Control {
				from.Written(c.ids[1-i], Credit{len(m.Lines), n})
			}
			if m.Last {
				go c.unplug()
			}
		}
	}
}

func (c *cable) unplug() { c.once.Do(func() { close(c.cut) }) }

// unplug cuts the cable; what is under way is lost.
func (p *pair) unplug() {
	p.sides[0].mu.Lock()
	c := p.sides[0].cable
	p.sides[0].mu.Unlock()
	if c == nil {
		return
	}
	c.unplug()
	c.moved.Wait()
	for i, s := range p.sides {
		s.mu.Lock()
		s.cable = nil
		s.mu.Unlock()
		s.store.Down(c.ids[i], "cut")
	}
}

func token() string { return fmt.Sprintf("tok-%d", rand.Uint64()) }

func (s *side) say(t testing.TB, th awp.ThreadID, text string) Receipt {
	t.Helper()
	r, err := s.store.Send(context.Background(), Message{
		Token: token(), Who: s.pair.sides[1-s.index()].store.Key().String(), Thread: th,
		Parts: []Part{{Kind: wire.PartText, Text: text}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// heard returns the texts that came in a thread, in order.
func (s *side) heard(t testing.TB, th awp.ThreadID) (texts []string) {
	t.Helper()
	_, err := s.store.Read(context.Background(), Filter{Thread: th}, maxLogTest, func(e awp.Event) error {
		if e.Dir != awp.In || e.Type != wire.TypeMsg {
			return nil
		}
		var m struct{ Parts []struct{ Text string } }
		if err := json.Unmarshal(e.Msg, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			return err
		}
		texts = append(texts, m.Parts[0].Text)
		return nil
	})
	if err != nil && awp.CodeOf(err) != awp.NotFound {
		t.Fatal(err)
	}
	return texts
}

const maxLogTest = 1 << 20

// settled waits until neither outbox holds anything.
func (p *pair) settled(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		left := 0
		for _, s := range p.sides {
			var n int
			if err := s.store.ro.QueryRow("SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM chunk)").Scan(&n); err != nil {
				t.Fatal(err)
			}
			left += n
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d lines still in the outboxes", left)
		}
		grew := p.sides[0].store.hub.next()
		select {
		case <-grew:
		case <-time.After(time.Millisecond):
		}
	}
}
