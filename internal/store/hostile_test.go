package store

import (
	"context"
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
	acks, errs, kinds := len(h.acks[p.link]), h.out[p.link], h.kinds[p.link]
	h.mu.Unlock()
	equal(t, kinds, []string{"grant", "ack", "err", "err", "err"}) // the ack first
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
