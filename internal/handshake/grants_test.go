package handshake

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp/wire"
)

// PROTOCOL.md section 7.2: grants travel with the auth, as the bytes they are; a bad one
// never fails it. Past our bounds they are not looked at.
func TestGrantsTravelWithAuth(t *testing.T) {
	us, them := identity(t, 1), identity(t, 2)
	ours, theirs := helloLine(t, us, "o"), helloLine(t, them, "t")
	now := time.Now()
	for name, tt := range map[string]struct {
		presented []string
		want      []string
	}{
		"none":       {nil, nil},
		"as spelled": {[]string{`{"b":1.50, "a":"\u0041"}`}, []string{`{"b":1.50, "a":"\u0041"}`}},
		"no grants":  {[]string{`1`, `null`, `"x"`, `[]`}, []string{`1`, `null`, `"x"`, `[]`}},
		"too long":   {[]string{`"` + strings.Repeat("x", wire.MaxGrant) + `"`, `{}`}, []string{`{}`}},
		"too many":   {slices.Repeat([]string{`{}`}, wire.MaxGrants+1), slices.Repeat([]string{`{}`}, wire.MaxGrants)},
	} {
		m := New(now, Config{Own: us.Key, Hello: ours})
		m, _ = m.Step(now, Line{theirs})
		m, fx := m.Step(now, Signed{Sig: "S", Grants: []string{`{"x": 1}`}})
		auth := fx[0].(Send).Line.(wire.Auth)
		if auth.Sig != "S" || len(auth.Grants) != 1 || string(auth.Grants[0]) != `{"x": 1}` {
			t.Errorf("%s: our auth is %+v", name, auth)
		}
		line := wire.Auth{Envelope: wire.Envelope{T: wire.TypeAuth, ID: "a", TS: "x"}, Sig: them.SignAuth(theirs, ours)}
		for _, g := range tt.presented {
			line.Grants = append(line.Grants, jsontext.Value(g))
		}
		raw, err := wire.Encode(line)
		if err != nil {
			t.Fatal(err)
		}
		m, fx = m.Step(now, Line{raw})
		if m.State() != Admitting {
			t.Errorf("%s: %v", name, m.State())
			continue
		}
		var got []string
		for _, g := range fx[0].(Admit).Peer.Grants {
			got = append(got, string(g))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
