package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/awp-suite/awp"
)

// targetsQuery lists a peer's addresses, the most promising first (PROTOCOL.md section 9).
const targetsQuery = "SELECT addr, source FROM addr WHERE peer = ? ORDER BY last_ok DESC, source, added DESC LIMIT 8"

// keepWarm is how long after the last message a link is kept up that nothing needs: the
// next message of a conversation should not pay for a dial (doc/adr/0014-warm-links.md).
const keepWarm = 24 * time.Hour

// wantedQuery says whether lines wait for a peer; and whether there is other unfinished
// business with it: a thread is open and was active within the retention (PROTOCOL.md
// section 9), or any was within keepWarm. A parked peer is never wanted.
const wantedQuery = `SELECT EXISTS (SELECT 1 FROM outbox WHERE peer = ?1) OR EXISTS (SELECT 1 FROM chunk WHERE peer = ?1),
	EXISTS (SELECT 1 FROM thread WHERE peer = ?1 AND updated >= ?2 AND shown = 1
		AND (updated >= ?3 OR my_state NOT IN ('done', 'failed', 'closed') AND their_state NOT IN ('done', 'failed', 'closed')))`

// want has awp-wire told whether a link to the peer is wanted.
func (t *tx) want(p *peerRow) error {
	if err := t.flush(); err != nil {
		return err
	}
	var waiting, open bool
	if !p.parked {
		retained, warm := t.now.Add(-t.s.set.OutboxTTL), t.now.Add(-keepWarm)
		if err := t.row(wantedQuery, p.n, ms(retained), ms(warm)).Scan(&waiting, &open); err != nil {
			return err
		}
	}
	if !waiting && !open {
		key := p.key
		t.then(func() { t.s.links.tell(func(w Wire) { w.Unwant(key) }) })
		return nil
	}
	return t.wantLink(p, Want{Waiting: waiting})
}

// wantSome looks at the next peers behind the row numbered n, and returns the number of
// the last, 0 at the end.
func (t *tx) wantSome(n int64) (last int64, err error) {
	peers, err := t.peersAfter(n, wantBatch)
	if err != nil {
		return 0, err
	}
	for _, p := range peers {
		if err := t.want(p); err != nil {
			return 0, err
		}
		last = p.n
	}
	if len(peers) < wantBatch {
		last = 0
	}
	return last, nil
}

func (t *tx) peersAfter(n int64, limit int) (peers []*peerRow, err error) {
	rows, err := t.rows("SELECT key FROM peer WHERE n > ? ORDER BY n LIMIT ?", n, limit)
	if err != nil {
		return nil, err
	}
	var keys []awp.Key
	for rows.Next() {
		var raw []byte
		if err := rows.Scan(&raw); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		keys = append(keys, awp.Key(raw))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, key := range keys {
		p, err := t.peer(key)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// wantNew has awp-wire told that there is new work for a peer it is not connected to.
func (t *tx) wantNew(p *peerRow) error {
	if t.s.links.connected(p.key) {
		return nil
	}
	return t.wantLink(p, Want{Waiting: true, New: true})
}

func (t *tx) wantLink(p *peerRow, want Want) error {
	rows, err := t.rows(targetsQuery, p.n)
	if err != nil {
		return err
	}
	targets, err := scanTargets(rows)
	if err != nil {
		return err
	}
	want.Peer, want.Addrs = p.key, targets
	t.then(func() { t.s.links.want(want) })
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
