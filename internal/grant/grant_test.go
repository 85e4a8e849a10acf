package grant

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

var now = time.Date(2026, 9, 25, 12, 0, 0, 0, time.UTC)

// Agents of the tests, by letter.
func agent(t testing.TB, letter byte) wire.Identity {
	t.Helper()
	id, err := wire.IdentityFromSeed([]byte(strings.Repeat(string(letter), wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func signed(t testing.TB, by wire.Identity, terms Terms) Grant {
	t.Helper()
	if terms.Expires.IsZero() {
		terms.Expires = now.Add(time.Hour)
	}
	g, err := New(by, terms)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// PROTOCOL.md section 6 [rec]: signed and verified over the one canonical form. The
// vectors are another implementation's.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../wire/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Keys  map[string]struct{ Key awp.Key }
		Plain vector `json:"grant_plain"`
		Aud   vector `json:"grant_aud"`
	}
	if err := json.Unmarshal(text, &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		vector
		iss, sub, aud string
		caps          []string
	}{
		"plain":    {v.Plain, "A", "B", "", []string{"exec", "fs:read"}},
		"audience": {v.Aud, "B", "C", "A", []string{"fs:read"}},
	} {
		g, err := Decode(tt.Grant)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.Hash != tt.Hash || g.Issuer != v.Keys[tt.iss].Key || g.Subject != v.Keys[tt.sub].Key || g.Audience != v.Keys[tt.aud].Key || !slices.Equal(g.Caps, tt.caps) {
			t.Errorf("%s: %+v", name, g)
		}
		if !g.Expires.Equal(time.Date(2099, 9, 25, 20, 0, 0, 0, time.UTC)) || string(g.Raw) != string(tt.Grant) {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

type vector struct {
	Grant jsontext.Value
	Hash  string
}

func TestNew(t *testing.T) {
	a, b, c := agent(t, 'a'), agent(t, 'b'), agent(t, 'c')
	g := signed(t, a, Terms{Subject: b.Key, Caps: []string{"fs:read", "exec", "exec"}, Expires: now.Add(1500 * time.Millisecond)})
	if !slices.Equal(g.Caps, []string{"exec", "fs:read"}) || !g.Expires.Equal(now.Add(2*time.Second)) {
		t.Errorf("%+v", g)
	}
	if !strings.Contains(string(g.Raw), `"exp":"2026-09-25T12:00:02Z"`) || strings.Contains(string(g.Raw), "aud") {
		t.Errorf("%s", g.Raw)
	}
	// Section 13: caps is always there, may be empty.
	g = signed(t, a, Terms{Subject: b.Key, Audience: c.Key})
	if g.Audience != c.Key || !strings.Contains(string(g.Raw), `"caps":[]`) {
		t.Errorf("%s", g.Raw)
	}
	if other := signed(t, a, Terms{Subject: b.Key, Audience: c.Key}); other.Hash == g.Hash {
		t.Error("two grants with the same terms are one")
	}
}

func TestDecodeRefuses(t *testing.T) {
	a, b := agent(t, 'a'), agent(t, 'b')
	good := signed(t, a, Terms{Subject: b.Key, Caps: []string{"exec"}})
	sign := func(text string) string {
		raw, err := a.SignObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	base := `"iss":"` + a.Key.String() + `","sub":"` + b.Key.String() + `","exp":"2099-01-01T00:00:00Z","nonce":"AA"`
	if _, err := Decode([]byte(sign(`{` + base + `}`))); err != nil {
		t.Errorf("without caps: %v", err)
	}
	if _, err := Decode([]byte(sign(`{` + base + `,"caps":[],"more":{"x":1.50}}`))); err != nil {
		t.Errorf("with more members: %v", err)
	}
	for name, raw := range map[string]string{
		"nothing":             ``,
		"no object":           `[]`,
		"text behind":         string(good.Raw) + `{}`,
		"no signature":        `{` + base + `,"caps":["exec"]}`,
		"empty signature":     `{` + base + `,"caps":["exec"],"sig":""}`,
		"sig is a number":     `{` + base + `,"caps":["exec"],"sig":1}`,
		"another's signature": strings.Replace(string(good.Raw), a.Key.String(), b.Key.String(), 1),
		"more capabilities":   strings.Replace(string(good.Raw), `["exec"]`, `["admin","exec"]`, 1),
		"another subject":     strings.Replace(string(good.Raw), b.Key.String(), agent(t, 'c').Key.String(), 1),
		"a longer life":       strings.Replace(string(good.Raw), `2026-`, `2027-`, 1),
		"an audience taken":   strings.Replace(string(signed(t, a, Terms{Subject: b.Key, Audience: b.Key}).Raw), `"aud":"`+b.Key.String()+`",`, ``, 1),
		"member twice":        strings.Replace(string(good.Raw), `{`, `{"caps":["admin"],`, 1),
		"bad key":             sign(`{"iss":"ed25519:AA","sub":"` + b.Key.String() + `","exp":"2099-01-01T00:00:00Z","caps":[]}`),
		"nobody's key":        sign(`{"iss":"` + a.Key.String() + `","sub":"` + awp.Key{}.String() + `","exp":"2099-01-01T00:00:00Z","caps":[]}`),
		"nobody's audience":   sign(`{` + base + `,"aud":"` + awp.Key{}.String() + `","caps":[]}`),
		"bad audience":        sign(`{` + base + `,"aud":"everybody","caps":[]}`),
		"no time":             sign(`{"iss":"` + a.Key.String() + `","sub":"` + b.Key.String() + `","caps":[]}`),
		"caps no list":        sign(`{` + base + `,"caps":"exec"}`),
		"an empty capability": sign(`{` + base + `,"caps":[""]}`),
		"a long capability":   sign(`{` + base + `,"caps":["` + strings.Repeat("x", 65) + `"]}`),
		"many capabilities":   sign(`{` + base + `,"caps":[` + strings.Repeat(`"x",`, 64) + `"x"]}`),
		"too long":            sign(`{` + base + `,"caps":[],"x":"` + strings.Repeat("x", wire.MaxGrant) + `"}`),
	} {
		if g, err := Decode([]byte(raw)); err == nil {
			t.Errorf("%s: accepted as %+v", name, g)
		}
	}
}

// Section 5 takes any spelling of base64. A grant spelled otherwise is the same grant all
// the same: its revocation holds.
func TestHashIsNotAMatterOfSpelling(t *testing.T) {
	a, b := agent(t, 'a'), agent(t, 'b')
	g := signed(t, a, Terms{Subject: b.Key, Caps: []string{"exec"}})
	var o object
	if err := json.Unmarshal(g.Raw, &o); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []string{o.Sig + "==", strings.NewReplacer("-", "+", "_", "/").Replace(o.Sig) + "=="} {
		again, err := Decode([]byte(" " + strings.Replace(string(g.Raw), o.Sig, sig, 1)))
		if err != nil || again.Hash != g.Hash {
			t.Errorf("%s: %v %v", sig, again.Hash, err)
		}
	}
	if plain, err := wire.GrantHash(g.Raw); err != nil || plain != g.Hash {
		t.Errorf("%s, section 6 has %s", g.Hash, plain)
	}
}

func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		part      wire.Part
		cap, mime string
	}{
		{wire.Part{K: "data", Mime: "application/vnd.awp.exec+json"}, Exec, "application/vnd.awp.exec+json"},
		{wire.Part{K: "data", Mime: " Application/VND.AWP.fs-Read+JSON\t"}, ReadFile, "application/vnd.awp.fs-read+json"},
		{wire.Part{K: "data", Mime: "application/vnd.awp.fs-write+json"}, WriteFile, "application/vnd.awp.fs-write+json"},
		{wire.Part{K: "data", Mime: "application/vnd.awp.admin+json"}, Admin, "application/vnd.awp.admin+json"},
		{wire.Part{K: "data", Mime: "application/vnd.awp.exec-result+json"}, "", ""},
		{wire.Part{K: "data"}, "", ""},
		{wire.Part{K: "text", Mime: "application/vnd.awp.exec+json"}, "", ""},
	} {
		if c, m := Request(tt.part); c != tt.cap || m != tt.mime {
			t.Errorf("%+v: %q %q", tt.part, c, m)
		}
	}
}

// Whatever Decode accepts is signed by its issuer, within the bounds, and is itself again.
func FuzzDecode(f *testing.F) {
	a, b := agent(f, 'a'), agent(f, 'b')
	f.Add([]byte(signed(f, a, Terms{Subject: b.Key, Caps: []string{"exec", "introduce"}}).Raw))
	f.Add([]byte(signed(f, a, Terms{Subject: b.Key, Audience: b.Key}).Raw))
	f.Add([]byte(`{"iss":"ed25519:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","sub":"ed25519:Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc","caps":["exec","fs:read"],"exp":"2099-09-25T20:00:00Z","nonce":"AwMDAwMDAwMDAwMDAwMDAw","sig":"UOxjnoTaEShCKEC1W7NHPln-YmOnUF6ZFf2329MYGNXIEdIPdpdYowNmEZrEzrVpZuLnJpJncLIg8VCHs9S0CA"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		g, err := Decode(raw)
		if err != nil {
			return
		}
		if wire.VerifySigned(raw, g.Issuer) != nil || len(raw) > wire.MaxGrant || len(g.Caps) > maxCaps || g.Subject.IsZero() || !slices.IsSorted(g.Caps) {
			t.Errorf("%+v", g)
		}
		text, err := wire.Canonical(raw)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode(text); err != nil || again.Hash != g.Hash {
			t.Errorf("canonical: %v %v", again.Hash, err)
		}
	})
}
