package render

import (
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

func TestGrants(t *testing.T) {
	me, bob := awp.Key{1}, awp.Key{2}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	if got := string(Grants(nil, nil, now)); got != "no grants\n" {
		t.Errorf("got %q", got)
	}
	got := string(Grants(nil, []awp.Grant{
		{Hash: "aa", Role: "issued", Iss: me, IssName: "me", Sub: bob, SubName: "bob", Caps: []string{"exec", "fs:read"}, Exp: now.Add(time.Hour)},
		{Hash: "bb", Role: "issued", Iss: me, Sub: bob, Audience: me, AudienceName: "me", Caps: []string{}, Exp: now},
		{Hash: "cc", Role: "held", Iss: bob, IssName: "b\x1b", Sub: me, Caps: []string{"x\n"}, Exp: now.Add(time.Hour), Revoked: now},
	}, now))
	want := "" +
		"HASH  ROLE    ISSUER              SUBJECT                         CAPS          EXPIRES\n" +
		"aa    issued  me (AQAAAAAAAA)     bob (AgAAAAAAAA)                exec,fs:read  Nov 30 13:00\n" +
		"bb    issued  AQAAAAAAAA          AgAAAAAAAA for me (AQAAAAAAAA)  -             Nov 30 12:00 (expired)\n" +
		"cc    held    b\\x1b (AgAAAAAAAA)  AQAAAAAAAA                      x\\n           Nov 30 13:00 (revoked)\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if s := Until(now.Add(time.Hour), now); s != "13:00:00" {
		t.Error(s)
	}
	if s := Until(now.Add(13*time.Hour), now); s != "Dec 1 01:00:00" {
		t.Error(s)
	}
}
