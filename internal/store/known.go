package store

import "slices"

// known reports whether this home chose to deal with a peer: it was named in the settings,
// given an alias, dialled, or ever written to. What a peer did by itself, such
// as to write to us, makes it no less a stranger, nor what others said of it: anybody can.
func (t *tx) known(p *peerRow) (known bool, err error) {
	if p.alias != "" || slices.Contains(t.s.set.Allow, p.key) || slices.Contains(t.s.set.Trust, p.key) {
		return true, nil
	}
	err = t.row(`SELECT EXISTS (SELECT 1 FROM addr WHERE peer = ?1 AND source = ?2)
		OR EXISTS (SELECT 1 FROM line WHERE peer = ?1 AND dir = ?3 AND id IS NOT NULL)`, p.n, sourceConnect, dirOut).Scan(&known)
	return known, err
}
