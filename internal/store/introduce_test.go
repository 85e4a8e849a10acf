package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

func (h *host) peersByName() map[string]awp.Peer {
	h.t.Helper()
	list, err := h.store.Peers(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	all := make(map[string]awp.Peer)
	for _, p := range list {
		all[p.Label()] = p
	}
	return all
}

// PROTOCOL.md section 13, introduce: what the receiver makes of it.
func TestIntroduced(t *testing.T) {
	h := newHost(t, Settings{})
	p, eve := h.stranger("ann"), h.agent()
	me := h.store.Key()
	good := p.issues(grant.Terms{Subject: me, Caps: []string{"fs:read"}}) // [P] says no audience
	intro := func(th awp.ThreadID, peer wire.Introduced, g []byte) []byte {
		return p.encode(wire.Introduce{Envelope: p.env(wire.TypeIntroduce, th), Peer: peer, Grant: g})
	}
	h.mu.Lock()
	h.wants = nil
	h.mu.Unlock()
	line := intro("th", wire.Introduced{Key: eve.id.Key.String(), Name: "eve", Address: "tcp:10.0.0.9:7000"}, good.Raw)
	p.send(line, line)
	equal(t, h.inbox(Filter{}), []string{"(introduce)"})
	got := h.peersByName()["eve"]
	if got.Key != eve.id.Key || len(got.Addrs) != 1 || got.Addrs[0].Source != "introduce" || got.Addrs[0].Addr != "tcp:10.0.0.9:7000" {
		t.Errorf("%+v", got)
	}
	equal(t, h.grants(), []string{"held fs:read"})
	// Its audience is who was introduced, though it does not say so: eve gets to see it.
	_, raw, err := h.store.Sign(helloLine(t, h.store), eve.encode(wire.Hello{Envelope: eve.env(wire.TypeHello, ""), Key: eve.id.Key.String(), Nonce: "AA"}))
	if err != nil || len(raw) != 1 || raw[0] != string(good.Raw) {
		t.Errorf("presented %q %v", raw, err)
	}
	h.mu.Lock()
	if len(h.wants) > 0 || len(h.acks[p.link]) > 0 {
		t.Errorf("wants %+v, acks %v: nobody is dialed, nothing acknowledged", h.wants, h.acks[p.link])
	}
	h.mu.Unlock()
	// Section 8: with a thread it counts as seen, and is not asked for again.
	env, _ := wire.ParseEnvelope(line)
	p.h.store.Down(p.link, "test")
	p.link = 0
	if a := p.admit("ann"); a.Seen["th"] != env.ID {
		t.Errorf("seen %v", a.Seen)
	}

	// A name that is known stays; so does an address that is better.
	p.send(intro("", wire.Introduced{Key: eve.id.Key.String(), Name: "mallory", Address: "tcp:10.0.0.10:7000"}, nil))
	if got := h.peersByName()["eve"]; len(got.Addrs) != 2 {
		t.Errorf("%+v", got)
	}
	for i := range 10 {
		p.send(intro("", wire.Introduced{Key: eve.id.Key.String(), Address: fmt.Sprintf("tcp:10.0.1.%d:1", i)}, nil))
	}
	if got := h.peersByName()["eve"]; len(got.Addrs) != maxHints {
		t.Errorf("%d addresses", len(got.Addrs))
	}

	// What is off is ignored, and the link stays.
	third := h.agent()
	before := len(h.inbox(Filter{}))
	last := intro("other", wire.Introduced{Key: "ed25519:x"}, nil)
	p.send(intro("", wire.Introduced{Key: me.String()}, nil), intro("", wire.Introduced{Key: ""}, nil), last)
	if n := len(h.inbox(Filter{})); n != before {
		t.Errorf("%d shown", n-before)
	}
	for name, g := range map[string][]byte{
		"no grant":             []byte(`{"iss":1}`),
		"not from the sender":  third.issues(grant.Terms{Subject: me, Caps: []string{"exec"}}).Raw,
		"not to us":            p.issues(grant.Terms{Subject: third.id.Key, Caps: []string{"exec"}}).Raw,
		"expired":              p.issues(grant.Terms{Subject: me, Caps: []string{"exec"}, Expires: time.Now().Add(-time.Hour)}).Raw,
		"over the bytes of it": []byte(`"` + strings.Repeat("x", wire.MaxGrant) + `"`),
	} {
		p.send(intro("", wire.Introduced{Key: third.id.Key.String(), Address: "nowhere"}, g))
		equal(t, h.grants(), []string{"held fs:read"})
		if errs := p.errs(); len(errs) > 0 {
			t.Errorf("%s: %q", name, errs)
		}
	}
	h.reopen()
	equal(t, h.grants(), []string{"held fs:read"})
	if got := h.peersByName()["eve"]; got.Key != eve.id.Key {
		t.Error("forgotten over a restart")
	}
}

// A grant for somebody who is connected is presented at once, and counts there: nobody has
// to reconnect for it.
func TestGrantForAConnectedPeerIsPresentedAtOnce(t *testing.T) {
	h := newHost(t, Settings{})
	ann, eve := h.stranger("ann"), h.stranger("eve")
	g := ann.issues(grant.Terms{Subject: h.store.Key(), Caps: []string{"fs:read"}})
	for range 2 {
		ann.send(ann.encode(wire.Introduce{Envelope: ann.env(wire.TypeIntroduce, ""), Peer: wire.Introduced{Key: eve.id.Key.String()}, Grant: g.Raw}))
	}
	h.until("the grant", func() bool { return len(h.notes[eve.link]) == 1 })
	equal(t, eve.grantLines(), []string{g.Hash})
	equal(t, ann.grantLines(), nil)

	// The other side of it: what is presented in a line counts as in an auth.
	given := h.gives(ann.id.Key, "introduce", "fs:read")
	shown := ann.issues(grant.Terms{Subject: eve.id.Key, Audience: h.store.Key(), Caps: []string{"exec", "fs:read"}})
	eve.send(eve.encode(wire.Grant{Envelope: eve.env(wire.TypeGrant, ""), Grant: shown.Raw}))
	if got := h.granted(eve.id.Key); got != "fs:read" {
		t.Errorf("holds %q", got)
	}
	h.revoke(given.Hash)
	if got := h.granted(eve.id.Key); got != "" {
		t.Errorf("holds %q without its introducer's", got)
	}
}

// One peer cannot fill the home with peers.
func TestIntroductionsAreBounded(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	var lines [][]byte
	for i := range maxIntroduced + 10 {
		lines = append(lines, p.encode(wire.Introduce{Envelope: p.env(wire.TypeIntroduce, ""), Peer: wire.Introduced{Key: awp.Key{1, byte(i), byte(i >> 8)}.String(), Name: "n"}}))
	}
	p.send(lines...)
	if n := len(h.peersByName()); n > maxIntroduced+1 {
		t.Errorf("%d peers", n)
	}
	var n int
	if err := h.store.ro.QueryRow("SELECT count(*) FROM peer").Scan(&n); err != nil || n != maxIntroduced+1 {
		t.Errorf("%d rows %v", n, err)
	}
}

// PROTOCOL.md section 13, introduce: the sender. Without a thread it is said once, to a
// connected peer; with one it is queued, and leaves the outbox with the next acknowledged
// line of the thread, or at a resume that has seen it (section 8).
func TestIntroduce(t *testing.T) {
	h := newHost(t, Settings{})
	to, who := h.stranger("to"), h.stranger("who")
	ctx := context.Background()
	call := Introduction{Token: token(), To: "to", Who: "who", Caps: []string{"fs:read"}, TTL: time.Hour}
	if _, err := h.store.Introduce(ctx, call); err != nil {
		t.Fatal(err)
	}
	if r, err := h.store.Introduce(ctx, call); err != nil || r.Acked { // the answer was lost
		t.Fatalf("%+v %v", r, err)
	}
	h.until("the introduction", func() bool { return len(h.notes[to.link]) > 0 })
	h.mu.Lock()
	said := h.notes[to.link]
	h.mu.Unlock()
	m, err := wire.Decode[wire.Introduce]([]byte(said[0]))
	if err != nil || len(said) != 1 {
		t.Fatalf("%q %v", said, err)
	}
	g, err := grant.Decode(m.Grant)
	if err != nil || g.Issuer != h.store.Key() || g.Subject != to.id.Key || g.Audience != who.id.Key || !slices.Equal(g.Caps, []string{"fs:read"}) {
		t.Errorf("%+v %v", g, err)
	}
	if m.Peer.Key != who.id.Key.String() || m.Peer.Name != "who" || m.Peer.Address != "unix:/who" || m.Th != "" {
		t.Errorf("%+v", m)
	}
	equal(t, h.grants(), []string{"issued fs:read"})
	if p := h.peersByName()["to"]; p.Granted != nil { // so that it is left out of JSON
		t.Errorf("%q", p.Granted)
	}
	if got := h.granted(to.id.Key); got != "" {
		t.Errorf("the grant confers %q here", got)
	}

	var event awp.Event
	if _, err := h.store.Read(ctx, Filter{Who: "to"}, 10, func(e awp.Event) error {
		if e.Type == wire.TypeIntroduce {
			event = e
		}
		return nil
	}); err != nil || event.Acked || event.Dir != awp.Out || string(event.Meta) != `{"key":"`+who.id.Key.String()+`","name":"who","address":"unix:/who","caps":["fs:read"]}` {
		t.Errorf("%+v %v", event, err)
	}

	r, err := h.store.Send(ctx, Message{Token: token(), Who: "to", Parts: []Part{{Kind: wire.PartText, Text: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	h.store.Down(to.link, "test")
	to.link = 0
	if _, err := h.store.Introduce(ctx, Introduction{Token: token(), To: "to", Who: "who"}); awp.CodeOf(err) != awp.Unreachable {
		t.Errorf("not connected, no thread: %v", err)
	}
	queued, err := h.store.Introduce(ctx, Introduction{Token: token(), To: "to", Who: "who", Thread: r.Th})
	if err != nil || queued.Acked || queued.Th != r.Th {
		t.Fatalf("%+v %v", queued, err)
	}
	after, err := h.store.Send(ctx, Message{Token: token(), Who: "to", Thread: r.Th, Parts: []Part{{Kind: wire.PartText, Text: "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if p := h.peersByName()["to"]; p.Outbox != 3 {
			t.Errorf("%d queued", p.Outbox)
		}
		h.reopen()
	}
	to.link, who.link = 0, 0
	to.connect("to")
	h.until("the outbox", func() bool { return len(h.push[to.link]) == 3 })
	ack := func(id awp.MessageID) []byte {
		env := to.env(wire.TypeAck, r.Th)
		env.Re = id
		return to.encode(wire.Ack{Envelope: env})
	}
	to.send(ack(r.ID)) // an earlier line takes nothing along
	if p := h.peersByName()["to"]; p.Outbox != 2 {
		t.Errorf("%d queued", p.Outbox)
	}
	to.send(ack(after.ID))
	if p := h.peersByName()["to"]; p.Outbox != 0 {
		t.Errorf("%d queued", p.Outbox)
	}
	if _, err := h.store.Introduce(ctx, Introduction{Token: token(), To: "to", Who: "who", Thread: r.Th}); err != nil {
		t.Fatal(err)
	}
	h.store.Down(to.link, "test")
	to.admit("to")
	h.store.Resume(to.link, to.encode(wire.Resume{Envelope: to.env(wire.TypeResume, ""), Seen: map[awp.ThreadID]awp.MessageID{r.Th: h.store.ids.Next()}}))
	h.until("an empty outbox", func() bool {
		var n int
		return h.store.ro.QueryRow("SELECT count(*) FROM outbox").Scan(&n) == nil && n == 0
	})

	stray := h.agent()
	for _, tt := range []struct {
		call Introduction
		code awp.Code
	}{
		{Introduction{To: "to", Who: "who"}, awp.Invalid},
		{Introduction{Token: token(), To: "to", Who: "to"}, awp.Invalid},
		{Introduction{Token: token(), To: "to", Who: "who", Caps: []string{"introduce"}}, awp.Invalid},
		{Introduction{Token: token(), To: "to", Who: "who", Caps: []string{"x"}}, awp.Invalid},
		{Introduction{Token: token(), To: "to", Who: "nobody"}, awp.NotFound},
		{Introduction{Token: token(), To: "to", Who: stray.id.Key.String()}, awp.NotFound}, // no address
		{Introduction{Token: token(), To: "to", Who: "who", Thread: "thr_x"}, awp.NotFound},
	} {
		if _, err := h.store.Introduce(ctx, tt.call); awp.CodeOf(err) != tt.code {
			t.Errorf("%+v: %v", tt.call, err)
		}
	}
}

// Grant, introduction and use between three real stores' worth of keys: what one home
// mints, another honors.
func TestIntroductionIsHonored(t *testing.T) {
	a, b := newHost(t, Settings{Accept: AcceptAllowlist}), newHost(t, Settings{})
	// On a: b may introduce, and pass on fs:read.
	a.gives(b.store.Key(), "introduce", "fs:read")
	// On b: c gets a's key, with a grant.
	c := b.stranger("c")
	onB := &stranger{h: b, id: a.store.identity, ids: wire.NewIDs(nil, nil)}
	onB.connect("a")
	if _, err := b.store.Introduce(context.Background(), Introduction{Token: token(), To: "c", Who: "a", Caps: []string{"fs:read", "exec"}}); err != nil {
		t.Fatal(err)
	}
	b.until("the introduction", func() bool { return len(b.notes[c.link]) > 0 })
	b.mu.Lock()
	m, err := wire.Decode[wire.Introduce]([]byte(b.notes[c.link][0]))
	b.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	// c connects to a and presents it.
	onA := &stranger{h: a, id: c.id, ids: wire.NewIDs(nil, nil)}
	if x := onA.presents(); x.Refused == "" {
		t.Error("admitted without")
	}
	if x := onA.presents(string(m.Grant)); x.Refused != "" {
		t.Fatal(x.Refused)
	}
	if got := a.granted(c.id.Key); got != "fs:read" {
		t.Errorf("holds %q", got)
	}
	equal(t, a.grants(), []string{"issued fs:read,introduce", "presented exec,fs:read"})
	if got := b.granted(c.id.Key); got != "" {
		t.Errorf("holds %q where it was minted", got)
	}
}
