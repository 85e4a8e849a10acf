package store

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// agent makes somebody who has not connected.
func (h *host) agent() *stranger {
	id, err := wire.NewIdentity(rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	return &stranger{h: h, id: id, ids: wire.NewIDs(nil, nil)}
}

// issues makes a grant by p, valid for an hour unless the terms say otherwise.
func (p *stranger) issues(terms grant.Terms) grant.Grant {
	if terms.Expires.IsZero() {
		terms.Expires = p.h.store.now().Add(time.Hour)
	}
	g, err := grant.New(p.id, terms)
	if err != nil {
		p.h.t.Fatal(err)
	}
	return g
}

// presents connects p, as connect does, with grants in its auth.
func (p *stranger) presents(raw ...string) Admitted {
	if p.link != 0 {
		p.h.store.Down(p.link, "test")
	}
	p.h.links++
	p.link = p.h.links
	n := NewLink{ID: p.link, Peer: p.id.Key, Via: "unix:/x", Hello: p.encode(wire.Hello{
		Envelope: p.env(wire.TypeHello, ""), Key: p.id.Key.String(), Name: "p", Nonce: "AA",
	})}
	for _, g := range raw {
		n.Grants = append(n.Grants, []byte(g))
	}
	done := make(chan Admitted, 1)
	p.h.store.Admit(n, func(a Admitted, err error) {
		if err != nil {
			p.h.t.Error(err)
		}
		done <- a
	})
	a := <-done
	if a.Refused == "" {
		p.h.store.Resume(p.link, p.encode(wire.Resume{Envelope: p.env(wire.TypeResume, "")}))
	}
	return a
}

func (h *host) gives(to awp.Key, caps ...string) awp.Grant {
	h.t.Helper()
	g, err := h.store.Grant(context.Background(), Granting{Token: token(), Who: to.String(), Caps: caps})
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

// raw returns the text of a grant that is kept.
func (h *host) raw(hash string) (text string) {
	h.t.Helper()
	if err := h.store.ro.QueryRow("SELECT body FROM grant WHERE hash = ?", hash).Scan(&text); err != nil {
		h.t.Fatal(err)
	}
	return text
}

func (h *host) revoke(hash string) {
	h.t.Helper()
	if _, err := h.store.Revoke(context.Background(), hash); err != nil {
		h.t.Fatal(err)
	}
}

// granted returns what the store shows that a peer may do.
func (h *host) granted(key awp.Key) string {
	h.t.Helper()
	p, err := h.store.Peer(context.Background(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(p.Granted, " ")
}

func (h *host) grants() (list []string) {
	h.t.Helper()
	all, err := h.store.Grants(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, g := range all {
		state := ""
		if !g.Revoked.IsZero() {
			state = " revoked"
		}
		list = append(list, g.Role+" "+strings.Join(g.Caps, ",")+state)
	}
	slices.Sort(list)
	return list
}

// grantLines returns the grants that were pushed to a link.
func (p *stranger) grantLines() (hashes []string) {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	for _, line := range p.h.notes[p.link] {
		if m, err := wire.Decode[wire.Grant]([]byte(line)); err == nil {
			if g, err := grant.Decode(m.Grant); err == nil {
				hashes = append(hashes, g.Hash)
			}
		}
	}
	return hashes
}

// PROTOCOL.md section 8, on receiving resume, (b): unexpired grants without an audience go
// out after every resume; a new one at once.
func TestGrantsGoOut(t *testing.T) {
	c := newClock(time.Now())
	h := newHost(t, Settings{Now: c.time})
	p, other := h.agent(), h.stranger("other")
	first := h.gives(p.id.Key, "exec") // to a key never met
	peers, err := h.store.Peers(context.Background())
	if err != nil || len(peers) != 1 {
		t.Errorf("peers %+v %v: one only granted to is not listed", peers, err)
	}
	p.connect("ann")
	h.until("the grant", func() bool { return len(h.notes[p.link]) == 1 })
	second := h.gives(p.id.Key, "fs:read")
	h.until("the new grant", func() bool { return len(h.notes[p.link]) == 2 })
	equal(t, p.grantLines(), []string{first.Hash, second.Hash})
	h.revoke(first.Hash[:8])
	third, err := h.store.Grant(context.Background(), Granting{Token: token(), Who: "ann", Caps: []string{"admin"}, TTL: 3 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Introduce(context.Background(), Introduction{Token: token(), To: "ann", Who: "other"}); err != nil {
		t.Fatal(err) // its grant has an audience
	}
	c.step(2 * time.Hour) // the second expires
	h.reopen()
	p.link, other.link = 0, 0
	p.connect("ann")
	h.until("what is left", func() bool { return len(h.notes[p.link]) == 1 })
	equal(t, p.grantLines(), []string{third.Hash})
	equal(t, h.grants(), []string{"issued ", "issued admin", "issued exec revoked", "issued fs:read"})
	if got := h.granted(p.id.Key); got != "admin" {
		t.Errorf("holds %q", got)
	}
}

// A grant that a call made is made once, however often the call is repeated.
func TestGrantOnce(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	call := Granting{Token: token(), Who: "ann", Caps: []string{"exec"}}
	first, err := h.store.Grant(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	h.reopen()
	again, err := h.store.Grant(context.Background(), call)
	if err != nil || again.Hash != first.Hash {
		t.Errorf("%+v %v", again, err)
	}
	equal(t, h.grants(), []string{"issued exec"})
	p.link = 0
	for _, tt := range []struct {
		call Granting
		code awp.Code
	}{
		{Granting{Token: token(), Who: "ann"}, awp.Invalid},
		{Granting{Token: token(), Who: "ann", Caps: []string{"root"}}, awp.Invalid},
		{Granting{Token: token(), Who: "ann", Caps: []string{"exec"}, TTL: time.Millisecond}, awp.Invalid},
		{Granting{Token: token(), Who: "ann", Caps: []string{"exec"}, TTL: 1 << 62}, awp.Invalid},
		{Granting{Token: token(), Who: "bob", Caps: []string{"exec"}}, awp.NotFound},
		{Granting{Token: token(), Who: h.store.Key().String(), Caps: []string{"exec"}}, awp.Invalid},
		{Granting{Who: "ann", Caps: []string{"exec"}}, awp.Invalid},
	} {
		if _, err := h.store.Grant(context.Background(), tt.call); awp.CodeOf(err) != tt.code {
			t.Errorf("%+v: %v", tt.call, err)
		}
	}
	for hash, code := range map[string]awp.Code{"": awp.Invalid, "abc": awp.Invalid, "xyzw": awp.Invalid, "00000000": awp.NotFound, first.Hash + "0": awp.Invalid} {
		if _, err := h.store.Revoke(context.Background(), hash); awp.CodeOf(err) != code {
			t.Errorf("revoke %q: %v", hash, err)
		}
	}
}

// Grants to us: kept as held, shown once, presented to whom they concern (PROTOCOL.md
// section 7.2 [rec]) until they expire or we revoke them.
func TestHeldGrants(t *testing.T) {
	c := newClock(time.Now())
	h := newHost(t, Settings{Now: c.time})
	p, other := h.stranger("ann"), h.stranger("other")
	me := h.store.Key()
	grantLine := func(g grant.Grant) []byte {
		return p.encode(wire.Grant{Envelope: p.env(wire.TypeGrant, ""), Grant: g.Raw})
	}
	plain := p.issues(grant.Terms{Subject: me, Caps: []string{"exec"}})
	aimed := p.issues(grant.Terms{Subject: me, Audience: other.id.Key, Caps: []string{"fs:read"}, Expires: c.time().Add(2 * time.Hour)})
	p.send(grantLine(plain), grantLine(plain), grantLine(aimed))
	p.send(grantLine(plain))
	p.send( // and what is none of our business, or no grant; the link stays
		grantLine(p.issues(grant.Terms{Subject: other.id.Key, Caps: []string{"exec"}})),
		grantLine(p.issues(grant.Terms{Subject: me, Expires: c.time().Add(-time.Hour)})),
		[]byte(`{"t":"grant","id":"`+string(p.ids.Next())+`","ts":"x","grant":{"iss":"x"}}`),
		[]byte(`{"t":"grant","id":"`+string(p.ids.Next())+`","ts":"x"}`),
		p.text("th", "still here"),
	)
	equal(t, h.inbox(Filter{}), []string{"(grant)", "(grant)", "still here"})
	equal(t, h.grants(), []string{"held exec", "held fs:read"})
	present := func(to *stranger) []string {
		_, raw, err := h.store.Sign(helloLine(t, h.store), to.encode(wire.Hello{Envelope: to.env(wire.TypeHello, ""), Key: to.id.Key.String(), Nonce: "AA"}))
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(raw)
		return raw
	}
	both := []string{string(plain.Raw), string(aimed.Raw)}
	slices.Sort(both)
	for range 2 {
		equal(t, present(p), both)
		equal(t, present(other), []string{string(aimed.Raw)})
		equal(t, present(h.agent()), nil)
		h.reopen()
	}
	p.link = 0
	c.step(90 * time.Minute)
	equal(t, present(p), []string{string(aimed.Raw)})
	h.revoke(aimed.Hash)
	equal(t, present(other), nil)
	p.connect("ann")
	p.send(grantLine(aimed)) // as after every resume
	equal(t, present(other), nil)
	equal(t, h.grants(), []string{"held exec", "held fs:read revoked"})
	c.step(keepGrants + time.Hour)
	if err := h.store.expire(context.Background()); err != nil {
		t.Fatal(err)
	}
	equal(t, h.grants(), nil)
	p.send([]byte(`{"t":"grant","id":[]}`)) // section 10: undecodable closes
	equal(t, p.errs(), []string{"bad_frame"})
}

// Nor can it keep the home busy checking signatures.
func TestGrantsOfOneLinkAreBounded(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	l := h.store.links.get(p.link)
	l.checked = maxChecked // as after so many
	line := func() []byte {
		return p.encode(wire.Grant{Envelope: p.env(wire.TypeGrant, ""), Grant: p.issues(grant.Terms{Subject: h.store.Key()}).Raw})
	}
	p.send(line(), line(), p.text("th", "x"))
	equal(t, h.inbox(Filter{}), []string{"x"})
	p.connect("ann")
	p.send(line())
	equal(t, h.inbox(Filter{}), []string{"x", "(grant)"})
}

// One peer cannot fill the home with grants.
func TestGrantsOfOnePeerAreBounded(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	var lines [][]byte
	for range maxGiven + 5 {
		for _, sub := range []awp.Key{h.store.Key(), p.id.Key} {
			lines = append(lines, p.encode(wire.Grant{Envelope: p.env(wire.TypeGrant, ""), Grant: p.issues(grant.Terms{Subject: sub}).Raw}))
		}
	}
	p.send(lines...)
	if n := len(h.grants()); n != 2*maxGiven {
		t.Errorf("%d grants", n)
	}
}
