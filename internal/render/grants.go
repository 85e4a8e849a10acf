package render

import (
	"strings"
	"time"

	"github.com/awp-suite/awp"
)

// Grants appends a table of grants.
func Grants(b []byte, grants []awp.Grant, now time.Time) []byte {
	if len(grants) == 0 {
		return append(b, "no grants\n"...)
	}
	t := newTable("HASH", "ROLE", "ISSUER", "SUBJECT", "CAPS", "EXPIRES")
	for _, g := range grants {
		subject := named(g.SubName, g.Sub)
		if !g.Audience.IsZero() {
			subject += " for " + named(g.AudienceName, g.Audience)
		}
		caps := strings.Join(g.Caps, ",")
		if caps == "" {
			caps = "-"
		}
		t.row(g.Hash, g.Role, named(g.IssName, g.Iss), subject, caps, expiry(g, now))
	}
	return t.append(b)
}

// named returns a name with the beginning of its key beside it.
func named(name string, key awp.Key) string {
	if name == "" {
		return key.Short()
	}
	return Clip(Line(name), cellClip) + " (" + key.Short() + ")"
}

func expiry(g awp.Grant, now time.Time) string {
	at := g.Exp.In(now.Location()).Format("Jan 2 15:04")
	switch {
	case !g.Revoked.IsZero():
		return at + " (revoked)"
	case !now.Before(g.Exp):
		return at + " (expired)"
	}
	return at
}

// Until spells the time that something lasts to: the clock, with the day if that is
// another one.
func Until(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Sub(now) < day && t.Day() == now.Day() {
		return t.Format("15:04:05")
	}
	return t.Format("Jan 2 15:04:05")
}
