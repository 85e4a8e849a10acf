package store

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/wire"
)

// Grants as they are kept. What they are worth is package grant's to say (PROTOCOL.md
// section 13).

// maxGiven bounds the grants of a role that one peer handed over and that have not
// expired. The bound is ours.
const maxGiven = 64

// keepGrants is how long a grant is kept after it expired: to be shown, and so that a
// clock set back brings no revoked one to life.
const keepGrants = 7 * 24 * time.Hour

// grantRow is a grant to keep.
type grantRow struct {
	grant.Grant
	role  int
	giver *peerRow // nil: ours
}

// keepGrant stores a grant and reports whether it is a new one. It is not when the hash
// is known in that role, revoked or not, or when its giver has handed over too many.
func (t *tx) keepGrant(g grantRow) (fresh bool, err error) {
	var giver int64
	if g.giver != nil {
		giver = g.giver.n
		var n int
		err := t.row("SELECT count(*) FROM grant WHERE giver = ? AND role = ? AND exp > ?", giver, g.role, ms(t.now)).Scan(&n)
		if err != nil {
			return false, err
		}
		if n >= maxGiven {
			t.s.log.Warn("grant not kept: a peer handed over too many", "limit", maxGiven)
			return false, nil
		}
	}
	caps, err := json.Marshal(g.Caps)
	if err != nil {
		return false, err
	}
	var aud any
	if !g.Audience.IsZero() {
		aud = g.Audience[:]
	}
	n, err := t.changed(`INSERT INTO grant (hash, role, iss, sub, aud, caps, exp, body, giver, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		g.Hash, g.role, g.Issuer[:], g.Subject[:], aud, string(caps), ms(g.Expires), []byte(g.Raw), giver, ms(t.now))
	return n > 0, err
}

// revoked reports whether a grant was revoked, in whatever role it was known.
func (t *tx) revoked(hash string) (revoked bool, err error) {
	err = t.row("SELECT EXISTS (SELECT 1 FROM grant WHERE hash = ? AND revoked > 0)", hash).Scan(&revoked)
	return revoked, err
}

// grantColumns are what scanGrant reads.
const grantColumns = "g.iss, g.sub, g.aud, g.caps, g.exp, g.hash, g.body FROM grant g "

// counts is the condition for a grant to count at a time: see package grant for the rest.
const counts = "g.revoked = 0 AND g.exp > ? "

func scanGrant(row scanner) (g grant.Grant, err error) {
	var iss, sub, aud, body []byte
	var caps string
	var exp int64
	if err := row.Scan(&iss, &sub, &aud, &caps, &exp, &g.Hash, &body); err != nil {
		return g, err
	}
	g.Issuer, g.Subject, g.Expires, g.Raw = awp.Key(iss), awp.Key(sub), fromMS(exp), jsontext.Value(body)
	if aud != nil {
		g.Audience = awp.Key(aud)
	}
	return g, json.Unmarshal([]byte(caps), &g.Caps)
}

// aboutPeer is the condition for what decides what a peer may do: grants to it, and those
// to whoever issued them.
const aboutPeer = `AND g.role <> 1 AND (g.sub = ?2 OR g.sub IN (SELECT iss FROM grant WHERE sub = ?2 AND role = 2 AND revoked = 0 AND exp > ?1))`

// book returns what decides what a peer may do now, with grants that it presents at the
// moment.
func (t *tx) book(peer awp.Key, presented ...grant.Grant) (*grant.Book, error) {
	b := t.s.emptyBook()
	for _, g := range presented {
		b.Add(g)
	}
	rows, err := t.rows("SELECT "+grantColumns+"WHERE g.revoked = 0 AND g.exp > ?1 "+aboutPeer, ms(t.now), peer[:])
	known, err := scanAll(rows, err, scanGrant)
	if err != nil {
		return nil, err
	}
	for _, g := range known {
		b.Add(g)
	}
	for _, g := range presented { // their issuers', which may be no issuer of a known one
		rows, err := t.rows("SELECT "+grantColumns+"WHERE "+counts+"AND g.role <> 1 AND g.sub = ?", ms(t.now), g.Issuer[:])
		known, err := scanAll(rows, err, scanGrant)
		if err != nil {
			return nil, err
		}
		for _, g := range known {
			b.Add(g)
		}
	}
	return b, nil
}

func (s *Store) emptyBook() *grant.Book { return &grant.Book{Me: s.Key(), Trust: s.set.Trust} }

// wholeBook returns all that counts now.
func (s *Store) wholeBook(ctx context.Context) (*grant.Book, error) {
	known, err := collect(ctx, s.ro, scanGrant, "SELECT "+grantColumns+"WHERE "+counts+"AND g.role <> 1", ms(s.now()))
	if err != nil {
		return nil, err
	}
	b := s.emptyBook()
	for _, g := range known {
		b.Add(g)
	}
	return b, nil
}

// presentable returns what to present to a peer with our auth: unexpired grants that we
// hold, from it or for it, the newest first (PROTOCOL.md section 7.2 [rec]: the relevant
// ones only). Whoever claims its key gets to read them, and can do nothing with them.
func (s *Store) presentable(ctx context.Context, peer awp.Key) ([]string, error) {
	held, err := collect(ctx, s.ro, scanGrant, "SELECT "+grantColumns+"WHERE "+counts+
		"AND g.role = 1 AND (g.iss = ?2 OR g.aud = ?2) ORDER BY g.created DESC LIMIT ?3", ms(s.now()), peer[:], wire.MaxGrants)
	var list []string
	for _, g := range held {
		list = append(list, string(g.Raw))
	}
	return list, err
}

// grantedLines builds a line for each unexpired grant without an audience that we issued
// to a peer. Nobody acknowledges those, so they go out after every resume (PROTOCOL.md
// section 8); who has one drops it by its hash.
func (t *tx) grantedLines(p *peerRow) (lines [][]byte, err error) {
	rows, err := t.rows("SELECT "+grantColumns+"WHERE "+counts+"AND g.role = 0 AND g.sub = ? AND g.aud IS NULL ORDER BY g.created", ms(t.now), p.key[:])
	issued, err := scanAll(rows, err, scanGrant)
	if err != nil {
		return nil, err
	}
	for _, g := range issued {
		line, err := t.grantLine(g)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// grantLine builds the line that hands a grant over, or presents it.
func (t *tx) grantLine(g grant.Grant) ([]byte, error) {
	return wire.Encode(wire.Grant{Envelope: wire.Envelope{T: wire.TypeGrant, ID: t.nextID(), TS: t.stamp()}, Grant: g.Raw})
}

// expireGrants forgets what expired long ago.
func (t *tx) expireGrants() error {
	return t.exec("DELETE FROM grant WHERE exp < ?", ms(t.now.Add(-keepGrants)))
}

// Grants returns every grant that is kept: issued ones first, then held, then presented;
// in each the newest first.
func (s *Store) Grants(ctx context.Context) ([]awp.Grant, error) {
	list, err := collect(ctx, s.ro, scanGrantRecord, grantRecords+"ORDER BY g.role, g.created DESC, g.hash")
	if err != nil || len(list) == 0 {
		return list, err
	}
	memory, err := s.recall(ctx)
	for i := range list { // nobody is a peer of its own
		for key, name := range map[awp.Key]*string{list[i].Iss: &list[i].IssName, list[i].Sub: &list[i].SubName, list[i].Audience: &list[i].AudienceName} {
			if key == s.Key() {
				*name = memory["name"]
			}
		}
	}
	return list, err
}

// grantRecords asks for what scanGrantRecord reads.
const grantRecords = `SELECT g.hash, g.role, g.iss, coalesce(i.alias, ''), coalesce(i.name, ''),
	g.sub, coalesce(o.alias, ''), coalesce(o.name, ''), g.aud, coalesce(a.alias, ''), coalesce(a.name, ''), g.caps, g.exp, g.created, g.revoked
	FROM grant g LEFT JOIN peer i ON i.key = g.iss LEFT JOIN peer o ON o.key = g.sub LEFT JOIN peer a ON a.key = g.aud `

func scanGrantRecord(row scanner) (g awp.Grant, err error) {
	var role int
	var iss, sub, aud []byte
	var issAlias, issName, subAlias, subName, audAlias, audName, caps string
	var exp, created, revoked int64
	err = row.Scan(&g.Hash, &role, &iss, &issAlias, &issName, &sub, &subAlias, &subName, &aud, &audAlias, &audName, &caps, &exp, &created, &revoked)
	if err != nil {
		return g, err
	}
	g.Role, g.Iss, g.Sub = roleNames[role], awp.Key(iss), awp.Key(sub)
	g.IssName, g.SubName, g.AudienceName = cmp.Or(issAlias, issName), cmp.Or(subAlias, subName), cmp.Or(audAlias, audName)
	if aud != nil {
		g.Audience = awp.Key(aud)
	}
	g.Exp, g.Created, g.Revoked = fromMS(exp), fromMS(created), fromMS(revoked)
	return g, json.Unmarshal([]byte(caps), &g.Caps)
}
