package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

const (
	execMime = "application/vnd.awp.exec+json"
	readMime = "application/vnd.awp.fs-read+json"
)

// shows waits until the home's log, as a person reads it, says something.
func (h *home) shows(what string) {
	h.t.Helper()
	eventually(h.t, 20*time.Second, func() error {
		if out := h.ok("read", "--no-mark"); !strings.Contains(out, what) {
			return fmt.Errorf("%s does not see %q:\n%s", h.name, what, out)
		}
		return nil
	})
}

// holds waits until the home lists a grant of that role for those capabilities, and
// returns it.
func (h *home) holds(role string, caps ...string) (found awp.Grant) {
	h.t.Helper()
	eventually(h.t, 20*time.Second, func() error {
		for _, g := range get[[]awp.Grant](h, "grants") {
			if g.Role == role && slices.Equal(g.Caps, caps) {
				found = g
				return nil
			}
		}
		return fmt.Errorf("%s has no %s grant for %q", h.name, role, caps)
	})
	return found
}

func (h *home) restart() {
	h.t.Helper()
	h.ok("down")
	h.ok("up")
}

// A grant lets its holder in and marks what it asks for; once it is revoked neither holds,
// whatever is presented, over every restart.
func TestGrantUseRevokeRefuse(t *testing.T) {
	t.Parallel()
	a := newHome(t, "alice", settings{"policy": map[string]any{"accept": "allowlist"}})
	b := newHome(t, "bob", settings{"advertise": "none"}) // alice does not dial it
	keyA, keyB := a.key(), b.key()
	if st := get[awp.Status](a, "status"); st.Accept != "allowlist" {
		t.Errorf("accept is %q", st.Accept)
	}

	refused := func() {
		t.Helper()
		r := b.awp("connect", a.addr)
		if r.exit != 1 || !strings.Contains(r.err, "not admitted") {
			t.Errorf("connect: %v", r)
		}
	}
	refused()
	a.shows("refused a connection: not admitted by policy")
	if peers := get[[]awp.Peer](a, "peers"); len(peers) != 0 {
		t.Errorf("a stranger became a peer: %+v", peers)
	}

	g := get[awp.Grant](a, "grant", keyB.String(), "exec", "--ttl", "1h")
	if g.Sub != keyB || g.Iss != keyA || g.Role != awp.GrantIssued {
		t.Errorf("%+v", g)
	}
	a.restart()
	b.ok("connect", a.addr)
	if held := b.holds(awp.GrantHeld, "exec"); held.Hash != g.Hash {
		t.Errorf("%+v", held)
	}
	if p, err := a.peer(keyB); err != nil || !slices.Equal(p.Granted, []string{"exec"}) {
		t.Errorf("granted %q %v", p.Granted, err)
	}
	request := func(mime string) awp.Sent {
		t.Helper()
		sent := get[awp.Sent](b, "send", keyA.String(), "--mime", mime, "--data", `{"cmd":["true"]}`, "please", "--wait-ack", "30s")
		if !sent.Acked {
			t.Errorf("not acknowledged: %+v", sent)
		}
		return sent
	}
	request(execMime)
	a.shows("(asks for exec: the peer holds a grant)")
	denied := request(readMime)
	a.shows("(asks for fs:read WITHOUT a grant: denied)")
	b.shows("err forbidden: no grant for fs:read (re " + string(denied.ID) + ")")

	// Its holder presents it at the next handshake. A link must not be lost after that: once
	// the grant is revoked it does not come back.
	a.restart()
	b.restart()
	b.ok("connect", a.addr)
	a.holds(awp.GrantPresented, "exec")

	a.ok("revoke", g.Hash[:8])
	denied = request(execMime)
	a.shows("(asks for exec WITHOUT a grant: denied)")
	b.shows("err forbidden: no grant for exec (re " + string(denied.ID) + ")")
	b.restart() // and presents what it holds
	refused()
	a.restart()
	refused()
	for _, g := range get[[]awp.Grant](a, "grants") {
		if g.Revoked.IsZero() {
			t.Errorf("not revoked: %+v", g)
		}
	}
	if p, err := a.peer(keyB); err != nil || len(p.Granted) != 0 || p.Connected {
		t.Errorf("%+v %v", p, err)
	}
}

// What the documentation tells of introductions, with the flags of up: bob brings carol
// and alice together, and can pass on no more than it may.
func TestIntroductionOfThree(t *testing.T) {
	t.Parallel()
	a, b, c := newHome(t, "alice", nil), newHome(t, "bob", nil), newHome(t, "carol", settings{"advertise": "none"})
	keyB := b.key()
	a.ok("up", "--accept", "allowlist", "--allow", keyB.String())
	keyA, keyC := a.key(), c.key()
	b.ok("connect", a.addr)
	c.ok("connect", b.addr)
	if r := c.awp("connect", a.addr); r.exit != 1 {
		t.Errorf("connect without a grant: %v", r)
	}
	a.ok("grant", "bob", "introduce", "fs:read")
	b.holds(awp.GrantHeld, "fs:read", "introduce")

	th := get[awp.Sent](b, "send", "carol", "work with alice", "--wait-ack", "30s").Th
	c.ok("down") // the introduction waits for it
	if sent := get[awp.Sent](b, "introduce", "carol", "alice", "fs:read", "exec", "--thread", string(th)); sent.Th != th || sent.Acked {
		t.Errorf("%+v", sent)
	}
	b.kill("awp-store")
	c.ok("up")
	c.ok("connect", b.addr)
	c.shows("introduces alice (" + keyA.String() + ") at " + a.addr + " with a grant for [exec, fs:read]")
	if p, err := c.peer(keyA); err != nil || p.Connected || p.Dialing {
		t.Errorf("connected by itself: %+v %v", p, err)
	}
	if g := c.holds(awp.GrantHeld, "exec", "fs:read"); g.Audience != keyA || g.Iss != keyB {
		t.Errorf("%+v", g)
	}

	c.ok("connect", "alice")
	if p, err := a.peer(keyC); err != nil || !slices.Equal(p.Granted, []string{"fs:read"}) {
		t.Errorf("granted %q %v", p.Granted, err)
	}
	get[awp.Sent](c, "send", "alice", "--mime", readMime, "--data", `{"path":"x"}`, "--data", `{}`, "please", "--wait-ack", "30s")
	a.shows("(asks for fs:read: the peer holds a grant)")
	get[awp.Sent](c, "send", "alice", "--mime", execMime, "--data", `{"cmd":["true"]}`, "please", "--wait-ack", "30s")
	a.shows("(asks for exec WITHOUT a grant: denied)")
	c.shows("err forbidden: no grant for exec")

	// Without bob's grant carol's is worth nothing.
	a.ok("revoke", a.holds(awp.GrantIssued, "fs:read", "introduce").Hash)
	if p, err := a.peer(keyC); err != nil || len(p.Granted) != 0 {
		t.Errorf("granted %q %v", p.Granted, err)
	}
}

// Whom the owner trusts gives grants that count like the owner's, and is let in itself: by
// the environment.
func TestTrustedIssuer(t *testing.T) {
	t.Parallel()
	a, b, c := newHome(t, "alice", nil), newHome(t, "bob", nil), newHome(t, "carol", settings{"advertise": "none"})
	keyB, keyC := b.key(), c.key()
	a.env = append(a.env, "AWP_ACCEPT=allowlist", "AWP_TRUST="+keyB.String())
	a.ok("up")
	b.ok("connect", a.addr)
	c.ok("connect", b.addr)
	if r := c.awp("connect", a.addr); r.exit != 1 {
		t.Errorf("connect without a grant: %v", r)
	}
	b.ok("introduce", "carol", "alice", "exec")
	c.holds(awp.GrantHeld, "exec")
	c.ok("connect", "alice")
	a.kill("awp-store")
	if p, err := a.peer(keyC); err != nil || !slices.Equal(p.Granted, []string{"exec"}) {
		t.Errorf("granted %q %v", p.Granted, err)
	}
	if p, err := b.peer(keyC); err != nil || len(p.Granted) != 0 {
		t.Errorf("granted where it was issued: %q %v", p.Granted, err)
	}
}
