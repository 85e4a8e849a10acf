package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// What the owner says of grants (PROTOCOL.md section 13).

// Granting is a grant to give.
type Granting struct {
	Token string
	Who   string
	Caps  []string
	TTL   time.Duration // 0: wire.GrantTTL
}

// Grant gives a peer capabilities for a time, and sends it the grant: at once if it is
// connected, else when it next is. It need not be known. Errors: invalid for a word that
// is no capability, not_found and ambiguous as by Find.
func (s *Store) Grant(ctx context.Context, m Granting) (awp.Grant, error) {
	if err := checkToken(m.Token); err != nil {
		return awp.Grant{}, err
	}
	if len(m.Caps) == 0 {
		return awp.Grant{}, &awp.Error{Code: awp.Invalid, Message: "no capability was named", Hint: "capabilities are " + capabilities()}
	}
	if err := checkTerms(m.Caps, &m.TTL); err != nil {
		return awp.Grant{}, err
	}
	key, err := s.Find(m.Who)
	if err != nil {
		return awp.Grant{}, err
	}
	var out awp.Grant
	err = s.w.do(ctx, func(t *tx) error {
		var ok bool
		if out, ok, err = scanResult[awp.Grant](t.row(findToken, m.Token)); ok || err != nil {
			return err
		}
		out, err = t.grant(m, key)
		return err
	})
	return out, err
}

func (t *tx) grant(m Granting, key awp.Key) (awp.Grant, error) {
	p, err := t.ensurePeer(key)
	if err != nil {
		return awp.Grant{}, err
	}
	g, err := grant.New(t.s.identity, grant.Terms{Subject: key, Caps: m.Caps, Expires: t.now.Add(m.TTL)})
	if err != nil {
		return awp.Grant{}, err
	}
	if _, err := t.keepGrant(grantRow{Grant: g, role: roleIssued}); err != nil {
		return awp.Grant{}, err
	}
	id := t.nextID()
	line, err := wire.Encode(wire.Grant{Envelope: wire.Envelope{T: wire.TypeGrant, ID: id, TS: t.stamp()}, Grant: g.Raw})
	if err != nil {
		return awp.Grant{}, err
	}
	if err := t.logGrant(logRow{peer: p, dir: dirOut, id: id, body: line}, g); err != nil {
		return awp.Grant{}, err
	}
	t.then(func() { t.s.links.notify(key, line) })
	out, err := t.grantRecord(g.Hash, roleIssued)
	if err != nil {
		return awp.Grant{}, err
	}
	return out, t.remember(m.Token, out)
}

func (t *tx) grantRecord(hash string, role int) (awp.Grant, error) {
	return scanGrantRecord(t.row(grantRecords+"WHERE g.hash = ? AND g.role = ?", hash, role))
}

func capabilities() string { return strings.Join(grant.Capabilities(), ", ") }

// checkTerms judges what a grant is to say, and fills in how long.
func checkTerms(caps []string, ttl *time.Duration) error {
	for _, c := range caps {
		if !slices.Contains(grant.Capabilities(), c) {
			return &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("%q is no capability", c), Hint: "capabilities are " + capabilities()}
		}
	}
	switch {
	case *ttl == 0:
		*ttl = wire.GrantTTL
	case *ttl < time.Second:
		return &awp.Error{Code: awp.Invalid, Message: "a grant lasts a second or more", Hint: "--ttl 1h"}
	case *ttl > maxTTL:
		return &awp.Error{Code: awp.Invalid, Message: "a grant lasts ten years at most", Hint: "short ones are safer: --ttl 1h"}
	}
	return nil
}

const maxTTL = 10 * 366 * 24 * time.Hour

// minHash is the shortest prefix that names a grant, and hashLen the length of a hash, in
// characters.
const (
	minHash = 4
	hashLen = 32
)

// Revoke stops honoring a grant, or presenting it, in every role. hash may be cut short
// to what is unique, of 4 characters or more. It is remembered, until after the grant
// expires, so that the grant cannot be presented again. Revoking twice is revoking once.
// Errors: not_found, ambiguous.
func (s *Store) Revoke(ctx context.Context, hash string) ([]awp.Grant, error) {
	hash = strings.ToLower(hash)
	if len(hash) < minHash || len(hash) > hashLen || strings.Trim(hash, "0123456789abcdef") != "" {
		return nil, &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("%q is no grant's hash", hash), Hint: "awp grants shows them; 4 characters are enough if they are unique"}
	}
	var out []awp.Grant
	err := s.w.do(ctx, func(t *tx) error {
		rows, err := t.rows("SELECT DISTINCT hash FROM grant WHERE hash >= ? AND hash < ? ORDER BY hash LIMIT 4", hash, hash+"g")
		found, err := scanAll(rows, err, scanString)
		if err != nil {
			return err
		}
		switch len(found) {
		case 0:
			return &awp.Error{Code: awp.NotFound, Message: "no grant " + hash, Hint: "awp grants lists them"}
		case 1:
		default:
			return &awp.Error{Code: awp.Ambiguous, Message: fmt.Sprintf("%s could be any of %s", hash, strings.Join(found, ", ")), Hint: "give more of it"}
		}
		if err := t.exec("UPDATE grant SET revoked = ? WHERE hash = ? AND revoked = 0", ms(t.now), found[0]); err != nil {
			return err
		}
		rows, err = t.rows(grantRecords+"WHERE g.hash = ? ORDER BY g.role", found[0])
		out, err = scanAll(rows, err, scanGrantRecord)
		return err
	})
	return out, err
}

// Introduction brings a peer together with another one.
type Introduction struct {
	Token  string
	To     string       // who is told
	Who    string       // of whom
	Thread awp.ThreadID // empty: said once, to a connected peer
	Caps   []string     // what the grant is to confer, if Who lets us introduce
	TTL    time.Duration
}

// Introduce tells a peer another's key and address, with a grant for it that the other
// honors if it let us introduce. In a thread the line is queued; without one the peer must
// be connected. Errors: not_found without an address of the other, unreachable without a
// thread and a connection, invalid, ambiguous.
func (s *Store) Introduce(ctx context.Context, m Introduction) (Receipt, error) {
	if err := checkToken(m.Token); err != nil {
		return Receipt{}, err
	}
	if slices.Contains(m.Caps, grant.Introduce) {
		return Receipt{}, &awp.Error{Code: awp.Invalid, Message: "introduce does not pass on: whoever is introduced introduces nobody", Hint: "leave it out"}
	}
	if err := checkTerms(m.Caps, &m.TTL); err != nil {
		return Receipt{}, err
	}
	to, err := s.Find(m.To)
	if err != nil {
		return Receipt{}, err
	}
	other, err := s.Find(m.Who)
	if err != nil {
		return Receipt{}, err
	}
	if to == other {
		return Receipt{}, &awp.Error{Code: awp.Invalid, Message: "that is the same peer twice", Hint: "awp introduce TO WHOM"}
	}
	var r Receipt
	err = s.w.do(ctx, func(t *tx) error {
		var ok bool
		if r, ok, err = t.repeated(m.Token); ok || err != nil {
			return err
		}
		r, err = t.introduce(m, to, other)
		return err
	})
	return s.answer(r, err)
}

func (t *tx) introduce(m Introduction, to, other awp.Key) (Receipt, error) {
	p, err := t.ensurePeer(to)
	if err != nil {
		return Receipt{}, err
	}
	line, err := t.introduction(m, to, other)
	if err != nil {
		return Receipt{}, err
	}
	meta, err := introducedMeta{other, line.Peer.Name, line.Peer.Address, append([]string{}, m.Caps...)}.text()
	if err != nil {
		return Receipt{}, err
	}
	body, err := wire.Encode(line)
	if err != nil {
		return Receipt{}, lineTooLarge(err)
	}
	if m.Thread == "" {
		if !t.s.links.hears(to) {
			return Receipt{}, &awp.Error{
				Code: awp.Unreachable, Message: p.label() + " is not connected",
				Hint: "connect to it first, or queue the introduction in a thread: --thread",
			}
		}
		seq, _, err := t.log(logRow{peer: p, dir: dirOut, typ: wire.TypeIntroduce, id: line.ID, body: body, meta: meta})
		if err != nil {
			return Receipt{}, err
		}
		t.then(func() { t.s.links.notify(to, body) })
		r := Receipt{Sent: awp.Sent{ID: line.ID, Peer: to, PeerName: cmp.Or(p.alias, p.name)}, Seq: seq, Label: p.label()}
		return r, t.remember(m.Token, r)
	}
	r, err := t.knownThread(p, m.Thread)
	if err != nil {
		return Receipt{}, err
	}
	seq, err := t.enqueueNoted(r, wire.TypeIntroduce, line.ID, body, meta)
	if err != nil {
		return Receipt{}, err
	}
	t.active(r, "")
	return t.receipt(m.Token, r, seq, line.ID, false)
}

// introduction builds the line, and issues its grant: to the one, for the other alone.
func (t *tx) introduction(m Introduction, to, other awp.Key) (wire.Introduce, error) {
	o, err := t.peer(other)
	if err != nil {
		return wire.Introduce{}, err
	}
	addr := ""
	if o != nil {
		rows, err := t.rows(targetsQuery, o.n)
		targets, err := scanAll(rows, err, scanTarget)
		if err != nil {
			return wire.Introduce{}, err
		}
		if len(targets) > 0 {
			addr = targets[0].Addr
		}
	}
	if addr == "" {
		return wire.Introduce{}, &awp.Error{Code: awp.NotFound, Message: "no address of " + m.Who + " is known", Hint: "connect to it once: awp connect <address>"}
	}
	g, err := grant.New(t.s.identity, grant.Terms{Subject: to, Audience: other, Caps: m.Caps, Expires: t.now.Add(m.TTL)})
	if err != nil {
		return wire.Introduce{}, err
	}
	if _, err := t.keepGrant(grantRow{Grant: g, role: roleIssued}); err != nil {
		return wire.Introduce{}, err
	}
	return wire.Introduce{
		Envelope: wire.Envelope{T: wire.TypeIntroduce, ID: t.nextID(), TS: t.stamp(), Th: m.Thread},
		Peer:     wire.Introduced{Key: other.String(), Name: o.name, Address: addr},
		Grant:    g.Raw,
	}, nil
}
