package store

import (
	"database/sql"

	"github.com/awp-suite/awp"
)

// What awp-wire reports and asks beside the lines.

// RTT records a measured round trip, in milliseconds.
func (s *Store) RTT(id uint64, rtt int64) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	if l := s.links.links[id]; l != nil {
		l.rtt = max(1, rtt)
	}
}

// SetListening records where awp-wire listens.
func (s *Store) SetListening(at Listening) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	s.links.listening = at
}

// Dialled records the state of the dialling loop for a peer and, with addr, how an attempt
// ended.
func (s *Store) Dialled(key awp.Key, running bool, addr, failure string) {
	s.links.mu.Lock()
	d := s.links.dials[key]
	d.running = running
	if addr != "" {
		d.err = failure
	}
	if s.links.dials[key] = d; !running && d.err == "" {
		delete(s.links.dials, key)
	}
	s.links.mu.Unlock()
	if addr == "" {
		return
	}
	s.w.submit(op{whose: key, apply: func(t *tx) error {
		p, err := t.peer(key)
		if p == nil || err != nil {
			return err
		}
		return t.tried(p, addr, failure)
	}})
}

// LookUp returns the dial targets of a peer, named by its key or by an address at which it
// was reached. What a peer says of its own address is no proof that it is there.
func (s *Store) LookUp(key awp.Key, addr string) (Want, error) {
	if key.IsZero() {
		var raw []byte
		err := s.ro.QueryRow("SELECT p.key FROM addr a JOIN peer p ON p.n = a.peer WHERE a.addr = ? AND a.source = ? AND a.last_ok > 0 ORDER BY a.last_ok DESC LIMIT 1", addr, sourceConnect).Scan(&raw)
		if err == sql.ErrNoRows {
			return Want{}, &awp.Error{Code: awp.NotFound, Message: "no peer is known at this address"}
		}
		if err != nil {
			return Want{}, err
		}
		key = awp.Key(raw)
	}
	var n int64
	err := s.ro.QueryRow("SELECT n FROM peer WHERE key = ?", key[:]).Scan(&n)
	if err == sql.ErrNoRows {
		return Want{}, &awp.Error{Code: awp.NotFound, Message: "no such peer: " + key.Short()}
	}
	if err != nil {
		return Want{}, err
	}
	rows, err := s.ro.Query(targetsQuery, n)
	targets, err := scanAll(rows, err, scanTarget)
	return Want{Peer: key, Addrs: targets}, err
}
