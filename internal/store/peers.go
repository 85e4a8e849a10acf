package store

import (
	"database/sql"
	"encoding/json/v2"

	"github.com/awp-suite/awp"
)

// peer returns the row of a peer, or nil when it is not known.
func (t *tx) peer(key awp.Key) (*peerRow, error) {
	if p := t.peers[key]; p != nil {
		return p, nil
	}
	p := &peerRow{key: key}
	err := t.row("SELECT n, name, alias, about, parked FROM peer WHERE key = ?", key[:]).
		Scan(&p.n, &p.name, &p.alias, &p.about, &p.parked)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t.peers[key] = p
	return p, nil
}

// peerByRow returns the row of that number.
func (t *tx) peerByRow(n int64) (*peerRow, error) {
	var key []byte
	if err := t.row("SELECT key FROM peer WHERE n = ?", n).Scan(&key); err != nil {
		return nil, err
	}
	return t.peer(awp.Key(key))
}

// ensurePeer returns the row of a peer, and makes it when there is none.
func (t *tx) ensurePeer(key awp.Key) (*peerRow, error) {
	p, err := t.peer(key)
	if p != nil || err != nil {
		return p, err
	}
	if err := t.exec("INSERT INTO peer (key) VALUES (?)", key[:]); err != nil {
		return nil, err
	}
	return t.peer(key)
}

// park records that one side said bye, or that this no longer holds.
func (t *tx) park(p *peerRow, parked bool) error {
	if p.parked == parked {
		return nil
	}
	p.parked = parked
	return t.exec("UPDATE peer SET parked = ? WHERE n = ?", parked, p.n)
}

// met records what a peer said about itself in its hello.
func (t *tx) met(p *peerRow, name, about string, caps []string) error {
	p.name, p.about = name, about
	list, err := json.Marshal(caps)
	if err != nil {
		return err
	}
	return t.exec("UPDATE peer SET name = ?, about = ?, caps = ?, last_seen = ? WHERE n = ?",
		name, about, string(list), ms(t.now), p.n)
}

// addAddr remembers an address hint. A better source replaces a worse one; the address a
// peer gave itself replaces the one it gave before.
func (t *tx) addAddr(p *peerRow, addr string, source int) error {
	if source == sourceHello {
		if err := t.exec("DELETE FROM addr WHERE peer = ? AND source = ? AND addr <> ?", p.n, sourceHello, addr); err != nil {
			return err
		}
	}
	return t.exec(`INSERT INTO addr (peer, addr, source, added) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET source = min(source, excluded.source)`, p.n, addr, source, ms(t.now))
}

// tried records how an attempt at an address ended.
func (t *tx) tried(p *peerRow, addr, failure string) error {
	if failure == "" {
		return t.exec("UPDATE addr SET last_ok = ?, last_err = '' WHERE peer = ? AND addr = ?", ms(t.now), p.n, addr)
	}
	return t.exec("UPDATE addr SET last_err = ? WHERE peer = ? AND addr = ?", failure, p.n, addr)
}
