package store

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// refusals returns the notices of refused connections: who, its label, what is told.
func (h *host) refusals() (list []string) {
	h.t.Helper()
	if _, err := h.store.ReadUnread(context.Background(), Filter{}, 1000, func(e awp.Event) error {
		if e.Type == noteRefused {
			list = append(list, e.Peer.Short()+" "+e.PeerName+" "+string(e.Meta))
		}
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
	return list
}

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

// Refusals are told, but not all of them, and nobody becomes a peer by one.
func TestRefusalsAreTold(t *testing.T) {
	c := newClock(time.Now())
	h := newHost(t, Settings{Accept: AcceptAllowlist, Now: c.time})
	first := h.agent()
	for range 3 {
		first.presents()
	}
	list := h.refusals()
	if len(list) != 1 || list[0] != first.id.Key.Short()+`  {"name":"p","reason":"not admitted by policy","via":"unix:/x"}` {
		t.Errorf("%q", list)
	}
	for range 3 * refusedTold {
		h.agent().presents()
	}
	if n := len(h.refusals()); n != refusedTold {
		t.Errorf("%d told in an hour", n)
	}
	st, err := h.store.Status(context.Background())
	if err != nil || st.Notices != refusedTold || len(st.Peers) != 0 || st.Unread != 0 || st.Accept != AcceptAllowlist {
		t.Errorf("%+v %v", st, err)
	}
	var rows int
	if err := h.store.ro.QueryRow("SELECT count(*) FROM peer").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d peers %v", rows, err)
	}
	c.step(refusedPeriod)
	first.presents()
	list = h.refusals()
	var meta struct {
		Untold int `json:"untold"`
	}
	last := list[len(list)-1]
	if err := json.Unmarshal([]byte(last[strings.Index(last, "{"):]), &meta); err != nil || meta.Untold != 2*refusedTold+1 {
		t.Errorf("%q: untold %d %v", last, meta.Untold, err)
	}
	// They can be read, after a restart, too, and marked.
	h.reopen()
	var seqs []int64
	if _, err := h.store.Read(context.Background(), Filter{}, 1000, func(e awp.Event) error {
		seqs = append(seqs, e.Seq)
		return nil
	}); err != nil || len(seqs) != refusedTold+1 {
		t.Errorf("%d events %v", len(seqs), err)
	}
	if err := h.store.Mark(context.Background(), seqs); err != nil {
		t.Fatal(err)
	}
	if list := h.refusals(); len(list) != 0 {
		t.Errorf("still unread: %q", list)
	}
}
