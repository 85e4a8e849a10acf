package store

import (
	"encoding/json/v2"
	"fmt"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// What peers say of grants and of each other (PROTOCOL.md section 13).

// maxIntroduced bounds the peers that one peer introduced and that we have not met, and
// maxHints the addresses of a peer that others named. The bounds are ours.
const (
	maxIntroduced = 256
	maxHints      = 4
)

// judgeGrant decodes a grant line. An invalid grant is logged and forgotten; only a line
// that cannot be read ends the link.
func (s *Store) judgeGrant(l *link, line []byte) (judgement, error) {
	m, err := wire.Decode[wire.Grant](line)
	if err != nil {
		return ignored, err
	}
	g, err := grant.Decode(m.Grant)
	if err != nil {
		s.log.Info("bad grant from a peer", "peer", l.key.Short(), "err", err)
		return ignored, nil
	}
	return judgement{apply: func(t *tx) error { return t.takeGrant(l, m, g, line) }}, nil
}

// takeGrant keeps a grant to us, which shows in the inbox once, or one that its subject
// presents. Others are none of our business.
func (t *tx) takeGrant(l *link, m wire.Grant, g grant.Grant, line []byte) error {
	p, err := t.ensurePeer(l.key)
	if err != nil || !g.Valid(t.now) {
		return err
	}
	if g.Subject == l.key {
		_, err := t.keepPresented(p, g)
		return err
	}
	if g.Subject != t.s.Key() {
		return nil
	}
	fresh, err := t.keepGrant(grantRow{g, roleHeld, p})
	if err != nil || !fresh {
		return err
	}
	return t.logGrant(logRow{peer: p, dir: dirIn, id: m.ID, body: line, unread: true}, g)
}

// logGrant logs a grant that was given, in either direction.
func (t *tx) logGrant(row logRow, g grant.Grant) error {
	about := map[string]any{"caps": g.Caps, "exp": g.Expires}
	if row.dir == dirIn {
		about["iss"] = g.Issuer.String()
	}
	meta, err := json.Marshal(about, json.Deterministic(true))
	if err != nil {
		return err
	}
	if row.id == "" {
		row.id = t.nextID()
	}
	row.typ, row.meta = wire.TypeGrant, string(meta)
	_, _, err = t.log(row)
	return err
}

// keepPresented stores a grant that its subject showed, and reports whether it is good for
// anything: revoked ones are not.
func (t *tx) keepPresented(p *peerRow, g grant.Grant) (good bool, err error) {
	revoked, err := t.revoked(g.Hash)
	if err != nil || revoked {
		return false, err
	}
	_, err = t.keepGrant(grantRow{g, rolePresented, p})
	return true, err
}

// judgeIntroduce decodes an introduction, and checks its grant: for us, from whoever
// introduces.
func (s *Store) judgeIntroduce(l *link, line []byte) (judgement, error) {
	m, err := wire.Decode[wire.Introduce](line)
	if err != nil {
		return ignored, err
	}
	var held *grant.Grant
	if len(m.Grant) > 0 {
		g, err := grant.Decode(m.Grant)
		switch {
		case err != nil:
			s.log.Info("bad grant in an introduction", "peer", l.key.Short(), "err", err)
		case g.Issuer == l.key && g.Subject == s.Key():
			held = &g
		}
	}
	return judgement{apply: func(t *tx) error { return t.takeIntroduce(l, m, held, line) }}, nil
}

// takeIntroduce learns of another agent. Nothing is acknowledged and nobody is dialed: it
// is for the owner to connect, or not. With a thread it counts as seen, whatever it says.
func (t *tx) takeIntroduce(l *link, m wire.Introduce, held *grant.Grant, line []byte) error {
	from, err := t.ensurePeer(l.key)
	if err != nil {
		return err
	}
	row := logRow{peer: from, dir: dirIn, typ: wire.TypeIntroduce, id: m.ID, body: line, unread: true}
	if m.Th != "" {
		if row.thread, err = t.ensureThread(from, m.Th, false); err != nil {
			return err
		}
		t.saw(row.thread, m.ID)
	}
	key, err := awp.ParseKey(m.Peer.Key)
	if err != nil || key.IsZero() || key == t.s.Key() {
		return nil //nolint:nilerr // ignored, section 13
	}
	if row.id == "" {
		row.id = t.nextID()
	}
	about := map[string]any{"key": key.String(), "name": wire.Clip(m.Peer.Name, clipName), "address": ""}
	addr, err := wire.ParseAddr(m.Peer.Address)
	if err == nil {
		about["address"] = addr.String()
	}
	if held != nil && held.Valid(t.now) {
		about["caps"] = held.Caps
	} else {
		held = nil
	}
	meta, err := json.Marshal(about, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("note introduction: %w", err)
	}
	row.meta = string(meta)
	if _, fresh, err := t.log(row); err != nil || !fresh {
		return err
	}
	if row.thread != nil {
		t.active(row.thread, "")
	}
	p, err := t.introduced(from, key, wire.Clip(m.Peer.Name, clipName))
	if p == nil || err != nil {
		return err
	}
	if addr != (wire.Addr{}) {
		if err := t.addHint(p, addr.String()); err != nil {
			return err
		}
	}
	if held == nil {
		return nil
	}
	held.Audience = key // as told, also where the grant itself does not say so
	_, err = t.keepGrant(grantRow{*held, roleHeld, from})
	return err
}

// introduced returns the row of a peer that another one told us of, under that name if we
// know none; nil: it told of too many.
func (t *tx) introduced(by *peerRow, key awp.Key, name string) (*peerRow, error) {
	p, err := t.peer(key)
	if err != nil {
		return nil, err
	}
	if p == nil {
		var n int
		if err := t.row("SELECT count(*) FROM peer WHERE introducer = ? AND last_seen = 0", by.n).Scan(&n); err != nil {
			return nil, err
		}
		if n >= maxIntroduced {
			t.s.log.Warn("introduction not followed: a peer told of too many", "peer", by.key.Short(), "limit", maxIntroduced)
			return nil, nil
		}
		if p, err = t.ensurePeer(key); err != nil {
			return nil, err
		}
		if err := t.exec("UPDATE peer SET introducer = ? WHERE n = ?", by.n, p.n); err != nil {
			return nil, err
		}
	}
	if p.name == "" && name != "" {
		p.name = name
		return p, t.exec("UPDATE peer SET name = ? WHERE n = ?", name, p.n)
	}
	return p, nil
}

// addHint remembers an address that somebody else named for a peer: the latest few.
func (t *tx) addHint(p *peerRow, addr string) error {
	if err := t.exec(`DELETE FROM addr WHERE peer = ?1 AND source = ?2 AND last_ok = 0 AND addr IN
		(SELECT addr FROM addr WHERE peer = ?1 AND source = ?2 AND addr <> ?3 ORDER BY added DESC LIMIT -1 OFFSET ?4)`,
		p.n, sourceIntroduce, addr, maxHints-1); err != nil {
		return err
	}
	return t.addAddr(p, addr, sourceIntroduce)
}
