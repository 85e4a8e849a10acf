package store

import (
	"time"

	"github.com/awp-suite/awp"
)

// refusedEvery is the least time between two notices of refused peers.
const refusedEvery = time.Minute

// refuse notes that a peer was refused, so that its owner is told whom to admit. Whoever
// can call can be refused as often as it likes, under as many keys: so a stranger leaves no
// row of its own, and there is no further notice within refusedEvery, nor while one about
// the same peer, or any stranger, is unread.
func (t *tx) refuse(n NewLink, name, reason string) error {
	p, err := t.peer(n.Peer)
	if err != nil {
		return err
	}
	if p == nil {
		p = &peerRow{key: n.Peer} // row 0 is nobody's: the note itself says whose it is
	}
	if t.now.Sub(t.refusedAt).Abs() < refusedEvery {
		return nil
	}
	var unread bool
	err = t.row("SELECT EXISTS (SELECT 1 FROM unread u JOIN line l USING (seq) WHERE u.notice = 1 AND u.peer = ? AND l.type = ?)", p.n, noteRefused).Scan(&unread)
	if err != nil || unread {
		return err
	}
	t.refusedAt = t.now
	return t.note(p, noteRefused, true, map[string]any{"reason": reason, "name": name, "via": n.Via, "key": n.Peer.String()})
}

// refusedStranger is what the note of a refusal says of a peer that has no row.
type refusedStranger struct {
	Key  awp.Key `json:"key"`
	Name string  `json:"name"`
}
