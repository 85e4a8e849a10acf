package grant

import (
	"slices"
	"time"

	"github.com/awp-suite/awp"
)

// Book is what a home knows about who may do what: the grants that it issued, and those
// that peers presented about themselves. Not in it are revoked ones. The zero Book with
// Me set is an empty one. It is not safe for concurrent use.
type Book struct {
	Me    awp.Key
	Trust []awp.Key // issuers whose grants count like ours

	grants map[awp.Key][]Grant // by subject
}

// Add enters a grant, which [Decode] or [New] made.
func (b *Book) Add(g Grant) {
	if b.grants == nil {
		b.grants = make(map[awp.Key][]Grant)
	}
	b.grants[g.Subject] = append(b.grants[g.Subject], g)
}

// Allows returns what a peer may do at a time, sorted, and whether any grant of it is
// honored at all: one may be that confers nothing but to be admitted (sections 12 and 13).
//
// Honored are grants to the peer that are for us, and that
//
//   - we or somebody we trust issued: with all that they say;
//   - somebody issued to whom we, or somebody we trust, granted introduce: with at most
//     the other capabilities of that grant. Introduce itself never passes on, and whoever
//     was introduced introduces nobody.
func (b *Book) Allows(peer awp.Key, now time.Time) (caps []string, honored bool) {
	caps = []string{}
	for _, g := range b.grants[peer] {
		if !g.Valid(now) || !g.For(b.Me) {
			continue
		}
		if b.rooted(g.Issuer) {
			caps, honored = append(caps, g.Caps...), true
			continue
		}
		most, may := b.passes(g.Issuer, now)
		if !may {
			continue
		}
		honored = true
		for _, c := range g.Caps {
			if slices.Contains(most, c) {
				caps = append(caps, c)
			}
		}
	}
	return sorted(caps), honored
}

// May reports whether a peer holds a capability at a time.
func (b *Book) May(peer awp.Key, capability string, now time.Time) bool {
	caps, _ := b.Allows(peer, now)
	return slices.Contains(caps, capability)
}

// rooted reports whether the issuer's word is enough.
func (b *Book) rooted(issuer awp.Key) bool {
	return issuer == b.Me || slices.Contains(b.Trust, issuer)
}

// passes returns what an introducer may pass on at most, and whether it is one.
func (b *Book) passes(introducer awp.Key, now time.Time) (caps []string, may bool) {
	for _, g := range b.grants[introducer] {
		if !g.Valid(now) || !g.For(b.Me) || !b.rooted(g.Issuer) || !slices.Contains(g.Caps, Introduce) {
			continue
		}
		may = true
		for _, c := range g.Caps {
			if c != Introduce {
				caps = append(caps, c)
			}
		}
	}
	return caps, may
}
