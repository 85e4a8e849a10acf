package store

import "time"

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
		AND (updated >= ?3 OR ` + threadOpen + `))`

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
	keys, err := scanAll(rows, err, scanKey)
	if err != nil {
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
	targets, err := scanAll(rows, err, scanTarget)
	if err != nil {
		return err
	}
	want.Peer, want.Addrs = p.key, targets
	t.then(func() { t.s.links.want(want) })
	return nil
}

func scanTarget(row scanner) (a Target, err error) {
	var source int
	err = row.Scan(&a.Addr, &source)
	a.Source = sourceNames[source]
	return a, err
}
