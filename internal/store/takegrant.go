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

// maxChecked bounds the signatures of grants that are checked for one link: it is by far
// the dearest thing that a line can ask for, and every peer waits for it. The bound is
// ours. Later grants on the link are ignored; the next link begins anew.
const maxChecked = 1024

// check decodes a grant that came with a line; nil: a bad one, or one too many. It runs on
// the goroutine that calls In.
func (s *Store) check(l *link, raw []byte) *grant.Grant {
	if l.checked++; l.checked > maxChecked {
		if l.checked == maxChecked+1 {
			s.log.Warn("grants of a peer ignored: too many on one link", "link", l.id, "limit", maxChecked)
		}
		return nil
	}
	g, err := grant.Decode(raw)
	if err != nil {
		s.log.Info("bad grant from a peer", "link", l.id)
		return nil
	}
	return &g
}

// judgeGrant decodes a grant line. An invalid grant is logged and forgotten; only a line
// that cannot be read ends the link.
func (s *Store) judgeGrant(l *link, line []byte) (judgement, error) {
	m, err := wire.Decode[wire.Grant](line)
	if err != nil {
		return ignored, err
	}
	g := s.check(l, m.Grant)
	if g == nil {
		return ignored, nil
	}
	return judgement{apply: func(t *tx) error { return t.takeGrant(l, m, *g, line) }}, nil
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
	if err := t.present(g); err != nil {
		return err
	}
	return t.logGrant(logRow{peer: p, dir: dirIn, id: m.ID, body: line, unread: true}, g)
}

// present shows a grant that we were just given to whom it is for, if it is connected:
// its next handshake may be days away. Who is not sees it then, in our auth.
func (t *tx) present(g grant.Grant) error {
	if g.Audience.IsZero() {
		return nil
	}
	line, err := t.grantLine(g)
	if err == nil {
		t.then(func() { t.s.links.notify(g.Audience, line) })
	}
	return err
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
		if held = s.check(l, m.Grant); held != nil && (held.Issuer != l.key || held.Subject != s.Key()) {
			held = nil
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
	key, bad := awp.ParseKey(m.Peer.Key)
	if bad != nil || key.IsZero() || key == t.s.Key() {
		return nil // ignored
	}
	if row.id == "" {
		row.id = t.nextID()
	}
	about := introducedMeta{Key: key, Name: wire.Clip(m.Peer.Name, clipName)}
	if addr, err := wire.ParseAddr(m.Peer.Address); err == nil {
		about.Address = addr.String()
	}
	if held != nil && held.Valid(t.now) {
		held.Audience = key // as told, also where the grant itself does not say so
		about.Caps = held.Caps
	} else {
		held = nil
	}
	if row.meta, err = about.text(); err != nil {
		return err
	}
	if _, fresh, err := t.log(row); err != nil || !fresh {
		return err
	}
	if row.thread != nil {
		t.active(row.thread, "")
	}
	return t.learn(from, about, held)
}

// introducedMeta is what is logged with an introduction, in either direction.
type introducedMeta struct {
	Key     awp.Key  `json:"key"`
	Name    string   `json:"name"`
	Address string   `json:"address"`
	Caps    []string `json:"caps,omitzero"` // of its grant, if there is a good one
}

func (m introducedMeta) text() (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("note introduction: %w", err)
	}
	return string(text), nil
}

// learn keeps what a peer told of another one, and the grant that came along; nil: none.
func (t *tx) learn(from *peerRow, about introducedMeta, held *grant.Grant) error {
	p, err := t.introduced(from, about.Key, about.Name)
	if p == nil || err != nil {
		return err
	}
	if about.Address != "" {
		if err := t.addHint(p, about.Address); err != nil {
			return err
		}
	}
	if held == nil {
		return nil
	}
	fresh, err := t.keepGrant(grantRow{*held, roleHeld, from})
	if err != nil || !fresh {
		return err
	}
	return t.present(*held)
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
			t.s.log.Warn("introduction not followed: a peer told of too many", "limit", maxIntroduced)
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
