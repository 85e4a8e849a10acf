package store

import (
	"encoding/json/v2"
	"slices"
	"time"

	"github.com/awp-suite/awp"
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
		s.log.Info("bad grants presented", "peer", n.Peer.Short(), "grants", bad)
	}
	return list
}

// Strangers cost nothing to make, so their refusals are not all told: one of a key, and
// so many in all, in a period.
const (
	refusedPeriod = time.Hour
	refusedTold   = 12
)

// refusals remembers which refusals were told. The committer's goroutine alone uses it.
type refusals struct {
	since  time.Time
	told   map[awp.Key]refusedLink
	untold int // since the last that was told
}

// refusedLink is the link whose refusal was told. That of a change that is done again,
// after another one of its batch failed, is told again.
type refusedLink struct {
	era int
	id  uint64
}

// tell reports whether to tell of a refusal, and how many were not told before it.
func (r *refusals) tell(n NewLink, now time.Time) (untold int, yes bool) {
	if age := now.Sub(r.since); r.told == nil || age >= refusedPeriod || age < 0 {
		r.since, r.told = now, make(map[awp.Key]refusedLink)
	}
	this := refusedLink{n.era, n.ID}
	if was, known := r.told[n.Peer]; known && was == this {
		return 0, true
	} else if known || len(r.told) >= refusedTold {
		r.untold++
		return 0, false
	}
	r.told[n.Peer] = this
	untold, r.untold = r.untold, 0
	return untold, true
}

// refused tells the owner of a refusal, if it is to be told. A stranger does not become a
// peer by being refused: its key stands beside the line. What it calls itself is told as
// that, and is nobody's label: it may be the name of a peer.
func (t *tx) refused(n NewLink, name, reason string) error {
	untold, yes := t.refusals.tell(n, t.now)
	if !yes {
		return nil
	}
	t.s.log.Info("connection refused", "peer", n.Peer.Short(), "reason", reason, "untold", untold)
	about := map[string]any{"reason": reason, "name": name, "via": n.Via}
	if untold > 0 {
		about["untold"] = untold
	}
	p, err := t.peer(n.Peer)
	if err != nil {
		return err
	}
	if p != nil {
		return t.note(p, noteRefused, true, about)
	}
	meta, err := json.Marshal(about, json.Deterministic(true))
	if err != nil {
		return err
	}
	seq, _, err := t.log(logRow{peer: new(peerRow), dir: dirSys, typ: noteRefused, meta: string(meta), unread: true, notice: true})
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO stranger (seq, key) VALUES (?, ?)", seq, n.Peer[:])
}
