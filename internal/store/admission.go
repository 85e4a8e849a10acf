package store

import (
	"slices"

	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// refusedReason is what a refused peer is told. It says nothing of who would be admitted.
const refusedReason = "not admitted by policy"

// refusal returns why a peer may not connect, or nothing (PROTOCOL.md section 12). Under
// the allowlist a peer comes in that we dial, or once dialed; that is allowed or trusted;
// or that holds, or presents now, a grant which is honored, if only with no capability.
func (t *tx) refusal(n NewLink, presented []grant.Grant) (string, error) {
	if t.s.set.Accept == AcceptAny || n.Outbound || slices.Contains(t.s.set.Allow, n.Peer) || slices.Contains(t.s.set.Trust, n.Peer) {
		return "", nil
	}
	p, err := t.peer(n.Peer)
	if err != nil {
		return "", err
	}
	if p != nil {
		var dialled bool
		if err := t.row("SELECT EXISTS (SELECT 1 FROM addr WHERE peer = ? AND source = ?)", p.n, sourceConnect).Scan(&dialled); err != nil || dialled {
			return "", err
		}
	}
	book, err := t.book(n.Peer, presented...)
	if err != nil {
		return "", err
	}
	if _, honored := book.Allows(n.Peer, t.now); honored {
		return "", nil
	}
	return refusedReason, nil
}

// usable returns the grants that a peer presents about itself, and that are worth a look:
// not expired, not revoked.
func (t *tx) usable(n NewLink) (list []grant.Grant, err error) {
	for _, g := range n.presented {
		if g.Subject != n.Peer || !g.Valid(t.now) {
			continue
		}
		revoked, err := t.revoked(g.Hash)
		if err != nil {
			return nil, err
		}
		if !revoked {
			list = append(list, g)
		}
	}
	return list, nil
}

// decodeGrants reads the grants that a peer presented. A bad one is dropped (section 7.2).
func (s *Store) decodeGrants(n NewLink) (list []grant.Grant) {
	bad := 0
	for _, raw := range n.Grants[:min(len(n.Grants), wire.MaxGrants)] {
		if g, err := grant.Decode(raw); err == nil {
			list = append(list, g)
		} else {
			bad++
		}
	}
	if bad > 0 {
		s.log.Info("bad grants presented", "link", n.ID, "grants", bad)
	}
	return list
}
