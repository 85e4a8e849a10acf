package store

import (
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"fmt"
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

const execMime = "application/vnd.awp.exec+json"

func (p *stranger) asks(th awp.ThreadID, mimes ...string) []byte {
	var parts []wire.Part
	for _, m := range mimes {
		parts = append(parts, wire.Part{K: wire.PartData, Mime: m, Data: []byte(`{}`)})
	}
	return p.msg(th, parts...)
}

// marks returns how the latest message's requests are marked.
func (h *host) marks() (list []string) {
	h.t.Helper()
	if _, err := h.store.Read(context.Background(), Filter{}, 1000, func(e awp.Event) error {
		if e.Type != wire.TypeMsg {
			return nil
		}
		list = nil
		var meta struct {
			Requests []request `json:"requests"`
		}
		if len(e.Meta) == 0 {
			return nil
		}
		err := json.Unmarshal(e.Meta, &meta)
		for _, r := range meta.Requests {
			list = append(list, fmt.Sprint(r.Part, " ", r.Cap, " ", r.Allowed))
		}
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	return list
}

// PROTOCOL.md sections 12 and 13 against peers that cheat. Each of them connects to a home
// with an allowlist, presenting something, and then asks for exec.
func TestHostileGrants(t *testing.T) {
	type cast struct {
		h                          *host
		trusted, introducer, guest *stranger
	}
	const admitted, refused = "admitted", "refused"
	for name, tt := range map[string]struct {
		present func(c cast) []string
		want    string
		exec    bool
	}{
		"nothing": {func(cast) []string { return nil }, refused, false},
		"noise":   {func(cast) []string { return []string{``, `{}`, `[]`, `{"iss":1}`, strings.Repeat("x", wire.MaxGrant)} }, refused, false},
		"ours": {func(c cast) []string {
			return []string{c.h.raw(c.h.gives(c.guest.id.Key, "exec").Hash)}
		}, admitted, true},
		"forged": {func(c cast) []string {
			return []string{strings.Replace(string(c.guest.issues(grant.Terms{Subject: c.guest.id.Key, Caps: []string{"exec"}}).Raw), `"iss":"`+c.guest.id.Key.String(), `"iss":"`+c.h.store.Key().String(), 1)}
		}, refused, false},
		"of its own": {func(c cast) []string {
			return []string{string(c.guest.issues(grant.Terms{Subject: c.guest.id.Key, Caps: []string{"exec"}}).Raw)}
		}, refused, false},
		"another's": {func(c cast) []string {
			return []string{c.h.raw(c.h.gives(c.introducer.id.Key, "exec").Hash)}
		}, refused, false},
		"escalated": {func(c cast) []string {
			raw := c.h.raw(c.h.gives(c.introducer.id.Key, "fs:read").Hash)
			return []string{strings.Replace(raw, c.introducer.id.Key.String(), c.guest.id.Key.String(), 1)}
		}, refused, false},
		"a trusted issuer's": {func(c cast) []string {
			return []string{string(c.trusted.issues(grant.Terms{Subject: c.guest.id.Key, Caps: []string{"exec"}}).Raw)}
		}, admitted, true},
		"a trusted issuer's for somebody else": {func(c cast) []string {
			return []string{string(c.trusted.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.introducer.id.Key, Caps: []string{"exec"}}).Raw)}
		}, refused, false},
		"a trusted issuer's, expired": {func(c cast) []string {
			return []string{string(c.trusted.issues(grant.Terms{Subject: c.guest.id.Key, Caps: []string{"exec"}, Expires: time.Now().Add(-time.Hour)}).Raw)}
		}, refused, false},
		"an introduction": {func(c cast) []string {
			c.h.gives(c.introducer.id.Key, "introduce", "exec")
			return []string{string(c.introducer.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.h.store.Key(), Caps: []string{"exec"}}).Raw)}
		}, admitted, true},
		"an introduction to somebody else": {func(c cast) []string {
			c.h.gives(c.introducer.id.Key, "introduce", "exec")
			return []string{string(c.introducer.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.trusted.id.Key, Caps: []string{"exec"}}).Raw)}
		}, refused, false},
		"an introduction for more than may pass on": {func(c cast) []string {
			c.h.gives(c.introducer.id.Key, "introduce", "fs:read")
			return []string{string(c.introducer.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.h.store.Key(), Caps: []string{"exec", "introduce"}}).Raw)}
		}, admitted, false},
		"an introduction by nobody": {func(c cast) []string {
			return []string{string(c.introducer.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.h.store.Key(), Caps: []string{"exec"}}).Raw)}
		}, refused, false},
		"an introduction of two levels": {func(c cast) []string {
			c.h.gives(c.introducer.id.Key, "introduce", "exec")
			between := c.h.agent()
			if a := between.presents(string(c.introducer.issues(grant.Terms{Subject: between.id.Key, Audience: c.h.store.Key(), Caps: []string{"introduce", "exec"}}).Raw)); a.Refused != "" {
				c.h.t.Error("the one between was refused")
			}
			return []string{
				string(c.introducer.issues(grant.Terms{Subject: between.id.Key, Audience: c.h.store.Key(), Caps: []string{"introduce", "exec"}}).Raw),
				string(between.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.h.store.Key(), Caps: []string{"exec"}}).Raw),
			}
		}, refused, false},
		"an introduction whose introducer presented its grant": {func(c cast) []string {
			raw := string(c.trusted.issues(grant.Terms{Subject: c.introducer.id.Key, Caps: []string{"introduce", "exec"}}).Raw)
			if a := c.introducer.presents(raw); a.Refused != "" {
				c.h.t.Error("the introducer was refused")
			}
			return []string{string(c.introducer.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.h.store.Key(), Caps: []string{"exec"}}).Raw)}
		}, admitted, true},
		"revoked": {func(c cast) []string {
			g := c.h.gives(c.guest.id.Key, "exec")
			c.h.revoke(g.Hash)
			return []string{c.h.raw(g.Hash)}
		}, refused, false},
		"revoked, spelled otherwise": {func(c cast) []string {
			g := c.h.gives(c.guest.id.Key, "exec")
			c.h.revoke(g.Hash)
			raw := c.h.raw(g.Hash)
			at := strings.Index(raw, `"sig":"`) + len(`"sig":"`)
			return []string{raw[:at+86] + "==" + raw[at+86:], "\t" + raw}
		}, refused, false},
		"a trusted issuer's, presented before, then revoked": {func(c cast) []string {
			g := c.trusted.issues(grant.Terms{Subject: c.guest.id.Key, Caps: []string{"exec"}})
			if a := c.guest.presents(string(g.Raw)); a.Refused != "" {
				c.h.t.Error("refused before")
			}
			c.h.revoke(g.Hash)
			c.h.reopen()
			return []string{string(g.Raw)}
		}, refused, false},
		"an introduction whose root was revoked": {func(c cast) []string {
			g := c.h.gives(c.introducer.id.Key, "introduce", "exec")
			c.h.revoke(g.Hash)
			return []string{string(c.introducer.issues(grant.Terms{Subject: c.guest.id.Key, Audience: c.h.store.Key(), Caps: []string{"exec"}}).Raw)}
		}, refused, false},
		"too many to look at": {func(c cast) []string {
			good := string(c.trusted.issues(grant.Terms{Subject: c.guest.id.Key, Caps: []string{"exec"}}).Raw)
			return append(slices.Repeat([]string{`{}`}, wire.MaxGrants), good)
		}, refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := Settings{Accept: AcceptAllowlist}
			h := newHost(t, set)
			c := cast{h, h.agent(), h.agent(), h.agent()}
			h.set.Trust = []awp.Key{c.trusted.id.Key}
			h.reopen()
			got := admitted
			if a := c.guest.presents(tt.present(c)...); a.Refused != "" {
				got = refused
			}
			if got != tt.want {
				t.Fatalf("%s, want %s", got, tt.want)
			}
			if got == refused {
				if may := h.granted(c.guest.id.Key); strings.Contains(may, "exec") && name != "ours" {
					t.Errorf("holds %q", may)
				}
				return
			}
			for range 2 { // and after a restart
				th := awp.ThreadID(token())
				c.guest.send(c.guest.asks(th, execMime))
				equal(t, h.marks(), []string{fmt.Sprint("0 exec ", tt.exec)})
				if denied := slices.Contains(c.guest.errs(), "forbidden"); denied == tt.exec {
					t.Errorf("errs %q", c.guest.errs())
				}
				h.reopen()
				c.guest.link = 0
				if a := c.guest.presents(); a.Refused != "" {
					t.Fatal("refused after a restart")
				}
			}
		})
	}
}

// PROTOCOL.md section 17: each request is judged by itself, the message is acknowledged
// all the same, and the mark stands.
func TestRequestsAreMarked(t *testing.T) {
	c := newClock(time.Now())
	h := newHost(t, Settings{Now: c.time})
	p := h.stranger("ann")
	h.gives(p.id.Key, "fs:read")
	line := p.asks("th", "application/vnd.awp.fs-read+json", "text/plain", execMime, " APPLICATION/vnd.awp.fs-write+json ", "application/vnd.awp.admin+json")
	p.send(line)
	want := []string{"0 fs:read true", "2 exec false", "3 fs:write false", "4 admin false"}
	equal(t, h.marks(), want)
	equal(t, p.errs(), []string{"forbidden", "forbidden", "forbidden"})
	h.mu.Lock()
	acks, errs := len(h.acks[p.link]), h.out[p.link]
	h.mu.Unlock()
	if env, _ := wire.ParseEnvelope(line); acks != 1 || errs[0].Re != env.ID || errs[0].Detail != "no grant for exec" {
		t.Errorf("%d acks, %+v", acks, errs)
	}
	equal(t, h.inbox(Filter{}), []string{""})

	// Replayed, because its sender does not know: the same answer, though the grant expired.
	c.step(2 * time.Hour)
	p.connect("ann")
	p.send(line)
	equal(t, p.errs(), []string{"forbidden", "forbidden", "forbidden"})
	equal(t, h.marks(), want)
	p.send(p.asks("th", "application/vnd.awp.fs-read+json"))
	equal(t, h.marks(), []string{"0 fs:read false"})
}

// A message of a thousand requests is not answered with a thousand lines.
func TestManyRequests(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	p.send(p.asks("th", slices.Repeat([]string{execMime}, wire.MaxParts)...))
	if n := len(p.errs()); n != maxForbidden {
		t.Errorf("%d errs", n)
	}
	if n := len(h.marks()); n != wire.MaxParts {
		t.Errorf("%d marks", n)
	}
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
