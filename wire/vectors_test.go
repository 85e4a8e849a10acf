package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"testing"

	"github.com/awp-suite/awp"
)

// vectors is testdata/vectors.json, made by another implementation.
type vectors struct {
	Keys map[string]struct{ Seed, Key string } `json:"keys"`
	Auth struct {
		HelloA string `json:"hello_a"`
		HelloB string `json:"hello_b"`
		Len    int    `json:"payload_a_len"`
		SHA256 string `json:"payload_a_sha256"`
		SigA   string `json:"sig_a"`
		SigB   string `json:"sig_b"`
	} `json:"auth"`
	Canonical struct {
		Value  jsontext.Value `json:"value"`
		Bytes  string         `json:"bytes"`
		SHA256 string         `json:"sha256"`
	} `json:"canonical"`
	GrantPlain grantVector `json:"grant_plain"`
	GrantAud   grantVector `json:"grant_aud"`
	Presence   struct {
		Canonical string `json:"canonical"`
		DocWire   string `json:"doc_wire"`
	} `json:"presence"`
	FingerprintA string `json:"fingerprint_a"`
}

type grantVector struct {
	Canonical string         `json:"canonical"`
	Grant     jsontext.Value `json:"grant"`
	Hash      string         `json:"hash"`
}

func readVectors(t *testing.T) (vectors, map[string]Identity) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	ids := map[string]Identity{}
	for name, k := range v.Keys {
		seed, err := awp.DecodeBase64(k.Seed)
		if err != nil {
			t.Fatal(err)
		}
		id, err := IdentityFromSeed(seed)
		if err != nil {
			t.Fatal(err)
		}
		if id.Key.String() != k.Key {
			t.Errorf("key %s is %s, want %s", name, id.Key, k.Key)
		}
		ids[name] = id
	}
	if len(ids) != 3 {
		t.Fatalf("%d keys", len(ids))
	}
	return v, ids
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func TestVectorsAuth(t *testing.T) {
	v, ids := readVectors(t)
	helloA, helloB := []byte(v.Auth.HelloA), []byte(v.Auth.HelloB)
	transcript := AuthTranscript(helloA, helloB)
	if len(transcript) != v.Auth.Len || hexSum(transcript) != v.Auth.SHA256 {
		t.Errorf("transcript of %d bytes, %s; want %d, %s", len(transcript), hexSum(transcript), v.Auth.Len, v.Auth.SHA256)
	}
	if got := ids["A"].SignAuth(helloA, helloB); got != v.Auth.SigA {
		t.Errorf("A signs %s, want %s", got, v.Auth.SigA)
	}
	if got := ids["B"].SignAuth(helloB, helloA); got != v.Auth.SigB {
		t.Errorf("B signs %s, want %s", got, v.Auth.SigB)
	}
	if err := VerifyAuth(ids["A"].Key, v.Auth.SigA, helloA, helloB); err != nil {
		t.Error(err)
	}
	if err := VerifyAuth(ids["B"].Key, v.Auth.SigB, helloB, helloA); err != nil {
		t.Error(err)
	}
	for _, line := range [][]byte{helloA, helloB} {
		if _, err := Decode[Hello](line); err != nil {
			t.Error(err)
		}
	}
	if got := ids["A"].Key.Fingerprint(); got != v.FingerprintA {
		t.Errorf("fingerprint %s, want %s", got, v.FingerprintA)
	}
}

func TestVectorsCanonical(t *testing.T) {
	v, _ := readVectors(t)
	got, err := Canonical(v.Canonical.Value)
	if err != nil || string(got) != v.Canonical.Bytes || hexSum(got) != v.Canonical.SHA256 {
		t.Errorf("canonical %s, %v; want %s", got, err, v.Canonical.Bytes)
	}
}

func TestVectorsGrants(t *testing.T) {
	v, ids := readVectors(t)
	for name, tt := range map[string]struct {
		grantVector
		issuer string
	}{"plain": {v.GrantPlain, "A"}, "aud": {v.GrantAud, "B"}} {
		unsigned, err := CanonicalWithout(tt.Grant, "sig")
		if err != nil || string(unsigned) != tt.Canonical {
			t.Errorf("%s: canonical %s, %v; want %s", name, unsigned, err, tt.Canonical)
		}
		if err := VerifySigned(tt.Grant, ids[tt.issuer].Key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := VerifySigned(tt.Grant, ids["C"].Key); err == nil {
			t.Errorf("%s: C is taken for the issuer", name)
		}
		if hash, err := GrantHash(tt.Grant); err != nil || hash != tt.Hash {
			t.Errorf("%s: hash %s, %v; want %s", name, hash, err, tt.Hash)
		}
		signed, err := ids[tt.issuer].SignObject(unsigned)
		want, _ := Canonical(tt.Grant)
		if err != nil || string(signed) != string(want) {
			t.Errorf("%s: signed %s, %v; want %s", name, signed, err, want)
		}
	}
}

func TestVectorsPresence(t *testing.T) {
	v, ids := readVectors(t)
	doc := []byte(v.Presence.DocWire)
	if err := VerifySigned(doc, ids["A"].Key); err != nil {
		t.Error(err)
	}
	unsigned, err := CanonicalWithout(doc, "sig")
	if err != nil || string(unsigned) != v.Presence.Canonical {
		t.Errorf("canonical %s, %v; want %s", unsigned, err, v.Presence.Canonical)
	}
	signed, err := ids["A"].SignObject(unsigned)
	if err != nil || string(signed) != v.Presence.DocWire {
		t.Errorf("signed %s, %v; want %s", signed, err, v.Presence.DocWire)
	}
}
