package store

import (
	"database/sql"
)

// targetsQuery lists a peer's addresses, the most promising first (PROTOCOL.md section 9).
const targetsQuery = "SELECT addr, source FROM addr WHERE peer = ? ORDER BY last_ok DESC, source, added DESC LIMIT 16"

// wanted says whether there is unfinished business with a peer: it is not parked and the
// outbox holds something for it, or a thread with it is open and was active within the
// retention (PROTOCOL.md section 9).
const wantedQuery = `SELECT EXISTS (SELECT 1 FROM outbox WHERE peer = ?1) OR EXISTS (SELECT 1 FROM chunk WHERE peer = ?1)
	OR EXISTS (SELECT 1 FROM thread WHERE peer = ?1 AND updated >= ?2 AND shown = 1
		AND my_state NOT IN ('done', 'failed', 'closed') AND their_state NOT IN ('done', 'failed', 'closed'))`

// want has awp-wire told whether a link to the peer is wanted.
func (t *tx) want(p *peerRow) error {
	if err := t.flush(); err != nil {
		return err
	}
	wanted := false
	if !p.parked {
		if err := t.row(wantedQuery, p.n, ms(t.now.Add(-t.s.set.OutboxTTL))).Scan(&wanted); err != nil {
			return err
		}
	}
	if !wanted {
		key := p.key
		t.then(func() { t.s.links.tell(func(w Wire) { w.Unwant(key) }) })
		return nil
	}
	return t.wantLink(p, false)
}

// wantNew has awp-wire told that there is new work for a peer it is not connected to.
func (t *tx) wantNew(p *peerRow) error {
	if t.s.links.connected(p.key) {
		return nil
	}
	return t.wantLink(p, true)
}

func (t *tx) wantLink(p *peerRow, fresh bool) error {
	rows, err := t.rows(targetsQuery, p.n)
	if err != nil {
		return err
	}
	targets, err := scanTargets(rows)
	if err != nil {
		return err
	}
	want := Want{Peer: p.key, Addrs: targets, New: fresh}
	t.then(func() {
		if !t.s.links.connected(want.Peer) {
			t.s.links.tell(func(w Wire) { w.Want(want) })
		}
	})
	return nil
}

func scanTargets(rows *sql.Rows) (targets []Target, err error) {
	defer rows.Close()
	for rows.Next() {
		var a Target
		var source int
		if err := rows.Scan(&a.Addr, &source); err != nil {
			return nil, err
		}
		a.Source = sourceNames[source]
		targets = append(targets, a)
	}
	return targets, rows.Err()
}
