package store

import (
	"encoding/json/jsontext"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// NewLink describes a connection whose peer proved its key.
type NewLink struct {
	ID       uint64
	Peer     awp.Key
	Hello    []byte   // the peer's line
	Grants   [][]byte // that the peer presented, at most wire.MaxGrants of them count
	Outbound bool
	Via      string

	era       int // of the registry, when the wire asked
	presented []grant.Grant
}

// Admitted is what our resume line says, or why there will be none.
type Admitted struct {
	Refused string
	Known   bool // the home chose to deal with the peer, see known.go
	Seen    map[awp.ThreadID]awp.MessageID
}

// maxSeen bounds the bytes of the seen map, so that the resume line fits. Threads left
// out are replayed whole, and their lines dropped as known.
const maxSeen = wire.MaxLine - 4096

// Admit judges and records a new link, and hands the outcome to done, which must not
// wait. Lines that an older link to the peer handed over before this call count as seen.
func (s *Store) Admit(n NewLink, done func(Admitted, error)) {
	hello, err := wire.Decode[wire.Hello](n.Hello)
	if err != nil {
		done(Admitted{}, &awp.Error{Code: awp.Invalid, Message: "admit: " + err.Error(), Cause: err})
		return
	}
	n.era, n.presented = s.links.ask(n.ID, n.Peer), s.decodeGrants(n)
	hello.Name, hello.About, hello.Caps = wire.Clip(hello.Name, clipName), wire.Clip(hello.About, clipAbout), clipCaps(hello.Caps)
	var out Admitted
	s.w.submit(op{
		size:  len(n.Hello),
		whose: n.Peer,
		apply: func(t *tx) (err error) { out, err = t.admit(n, hello); return err },
		done: func(err error) {
			s.links.asked(n.ID)
			done(out, err)
		},
	})
}

func (t *tx) admit(n NewLink, hello wire.Hello) (Admitted, error) {
	presented, err := t.usable(n)
	if err != nil {
		return Admitted{}, err
	}
	refused, err := t.refusal(n, presented)
	if err != nil {
		return Admitted{}, err
	}
	if refused != "" {
		t.s.log.Info("connection refused", "link", n.ID, "reason", refused)
		return Admitted{Refused: refused}, t.refuse(n, hello.Name, refused)
	}
	p, err := t.ensurePeer(n.Peer)
	if err != nil {
		return Admitted{}, err
	}
	for _, g := range presented {
		if _, err := t.keepPresented(p, g); err != nil {
			return Admitted{}, err
		}
	}
	if err := t.met(p, hello.Name, hello.About, hello.Caps); err != nil {
		return Admitted{}, err
	}
	if err := t.park(p, false); err != nil {
		return Admitted{}, err
	}
	if n.Outbound {
		if err := t.addAddr(p, n.Via, sourceConnect); err != nil {
			return Admitted{}, err
		}
		if err := t.tried(p, n.Via, ""); err != nil {
			return Admitted{}, err
		}
	} else if a, err := wire.ParseAddr(hello.Addr); err == nil && dialable(a, n.Via) {
		if err := t.addAddr(p, a.String(), sourceHello); err != nil {
			return Admitted{}, err
		}
	}
	if err := t.note(p, noteConnected, false, map[string]any{"name": hello.Name, "about": hello.About, "via": n.Via, "outbound": n.Outbound, "caps": hello.Caps}); err != nil {
		return Admitted{}, err
	}
	known, err := t.known(p)
	if err != nil {
		return Admitted{}, err
	}
	seen, err := t.seenBy(p)
	if err != nil {
		return Admitted{}, err
	}
	l := &link{
		id: n.ID, key: n.Peer, peer: p.n, outbound: n.Outbound, via: n.Via, since: t.now,
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	t.then(func() {
		if t.s.links.add(l, n.era) {
			t.s.running.Go(func() { t.s.pump(l) })
		} else { // the wire ended meanwhile
			t.s.left(l, "awp-wire ended")
		}
	})
	return Admitted{Seen: seen, Known: known}, nil
}

// seenBy returns what our resume line tells a peer: the largest id of each thread that
// changed within the retention, newest threads first when not all fit.
func (t *tx) seenBy(p *peerRow) (map[awp.ThreadID]awp.MessageID, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	rows, err := t.rows("SELECT th, seen FROM thread WHERE peer = ? AND seen <> '' AND seen_at >= ? ORDER BY seen_at DESC",
		p.n, ms(t.now.Add(-t.s.set.OutboxTTL)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := make(map[awp.ThreadID]awp.MessageID)
	used := 0
	for rows.Next() {
		var th awp.ThreadID
		var id awp.MessageID
		if err := rows.Scan(&th, &id); err != nil {
			return nil, err
		}
		member, err := jsontext.AppendQuote(nil, th)
		if err == nil {
			member, err = jsontext.AppendQuote(member, id)
		}
		if err != nil {
			continue
		}
		if used += len(member) + 2; used > maxSeen {
			break
		}
		seen[th] = id
	}
	return seen, rows.Err()
}
