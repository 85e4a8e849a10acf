package store

import (
	"testing"

	"github.com/awp-suite/awp"
)

// PROTOCOL.md section 12: who gets in under the allowlist.
func TestWhoGetsInUnderTheAllowlist(t *testing.T) {
	h := newHost(t, Settings{Accept: AcceptAllowlist})
	stranger, allowed, trusted, dialed := h.agent(), h.agent(), h.agent(), h.agent()
	granted := h.agent()
	h.set.Allow, h.set.Trust = []awp.Key{allowed.id.Key}, []awp.Key{trusted.id.Key}
	h.reopen()
	h.gives(granted.id.Key, "admin")
	for name, p := range map[string]*guest{"allowed": {allowed, true}, "trusted": {trusted, true}, "stranger": {stranger, false}, "granted": {granted, true}} {
		if a := p.presents(); (a.Refused == "") != p.in {
			t.Errorf("%s: refused %q", name, a.Refused)
		}
	}
	if a := dialed.presents(); a.Refused == "" {
		t.Error("admitted before it was dialed")
	}
	h.links++
	dialed.link = h.links
	done := make(chan Admitted, 1)
	h.store.Admit(NewLink{ID: dialed.link, Peer: dialed.id.Key, Via: "unix:/d", Outbound: true, Hello: []byte(`{"t":"hello","key":"` + dialed.id.Key.String() + `"}`)},
		func(a Admitted, _ error) { done <- a })
	if a := <-done; a.Refused != "" {
		t.Error("refused though we dialed")
	}
	h.reopen()
	dialed.link = 0
	if a := dialed.presents(); a.Refused != "" {
		t.Error("refused though we once dialed it")
	}
}

type guest struct {
	*stranger
	in bool
}
