package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestIdentityFile(t *testing.T) {
	id, err := NewIdentity(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := id.MarshalFile()
	back, err := ParseIdentity(file)
	if err != nil || back.Key != id.Key || !bytes.Equal(back.Seed(), id.Seed()) {
		t.Errorf("ParseIdentity(%s) = %v, %v", file, back, err)
	}
	const seed = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	known := `{"key":"` + testKey + `","seed":"` + seed + `"}`
	if id, err = ParseIdentity([]byte(known)); err != nil || id.Key.String() != testKey {
		t.Fatalf("ParseIdentity = %v, %v", id, err)
	}
	if got := string(id.MarshalFile()); got != known+"\n" {
		t.Errorf("MarshalFile = %s, want %s", got, known)
	}
}

func TestParseIdentityRefuses(t *testing.T) {
	const seed = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	const other = "ed25519:Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc"
	for name, text := range map[string]string{
		"empty":         ``,
		"null":          `null`,
		"no key":        `{"seed":"` + seed + `"}`,
		"no seed":       `{"key":"` + testKey + `"}`,
		"another's key": `{"key":"` + other + `","seed":"` + seed + `"}`,
		"short seed":    `{"key":"` + testKey + `","seed":"` + seed[:40] + `"}`,
		"bad base64":    `{"key":"` + testKey + `","seed":"!` + seed + `"}`,
		"cut off":       `{"key":"` + testKey + `","seed":"` + seed,
		"seed twice":    `{"key":"` + testKey + `","seed":"` + seed + `","seed":"` + seed + `"}`,
	} {
		_, err := ParseIdentity([]byte(text))
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), seed[:10]) {
			t.Errorf("%s: the error shows the seed: %v", name, err)
		}
	}
	if _, err := NewIdentity(strings.NewReader("short")); err == nil {
		t.Error("an identity from a dry source")
	}
}

func TestIdentityPrintsNoSecret(t *testing.T) {
	id, err := IdentityFromSeed(bytes.Repeat([]byte("s"), SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{id, &id} {
			if got := fmt.Sprintf(verb, v); got != id.Key.String() {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
}

func TestVerifyAuthRefuses(t *testing.T) {
	a, _ := NewIdentity(nil)
	b, _ := NewIdentity(nil)
	mine, theirs := []byte(`{"t":"hello","a":1}`), []byte(`{"t":"hello","b":1}`)
	sig := a.SignAuth(mine, theirs)
	if err := VerifyAuth(a.Key, sig, mine, theirs); err != nil {
		t.Fatal(err)
	}
	if err := VerifyAuth(a.Key, sig+"==", mine, theirs); err != nil {
		t.Errorf("padded: %v", err)
	}
	wantCode(t, VerifyAuth(b.Key, sig, mine, theirs), AuthFailed)
	wantCode(t, VerifyAuth(a.Key, sig, theirs, mine), AuthFailed)
	wantCode(t, VerifyAuth(a.Key, sig, append(mine, '\r'), theirs), AuthFailed)
	wantCode(t, VerifyAuth(a.Key, sig[:80], mine, theirs), AuthFailed)
	wantCode(t, VerifyAuth(a.Key, "!", mine, theirs), AuthFailed)
	wantCode(t, VerifyAuth(a.Key, "", mine, theirs), AuthFailed)
	// The zero key is a point of small order, under which some signatures hold for any text.
	var nobody Identity
	wantCode(t, VerifyAuth(nobody.Key, sig, mine, theirs), AuthFailed)
}
