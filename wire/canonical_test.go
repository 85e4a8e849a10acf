package wire

import (
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { } `:                       `{}`,
		"[ 1 , \n2\t]":                `[1,2]`,
		`{"b":1,"a":{"d":2,"c":[]}}`:  `{"a":{"c":[],"d":2},"b":1}`,
		`[2.50,1E3,-0,1e+1,0.0]`:      `[2.50,1E3,-0,1e+1,0.0]`,
		`123456789012345678901234567`: `123456789012345678901234567`,
		`[true,false,null,""]`:        `[true,false,null,""]`,
		`"\/\u002f\u003c<>&\u007f"`:   "\"//<<>&\x7f\"",
		`"\u0000\u0008\u0009\u000a\u000b\u000c\u000d\u001F"`: `"\u0000\b\t\n\u000b\f\r\u001f"`,
		`"\u00e9\u2028\ud83d\ude00\"\\"`:                     "\"é\u2028😀\\\"\\\\\"",
		// By bytes U+FFFD comes before U+1F600; by UTF-16 units, after it.
		`{"😀":1,"\ufffd":2,"a":3,"B":4,"":5}`: "{\"\":5,\"B\":4,\"a\":3,\"\ufffd\":2,\"😀\":1}",
		`{"\u0061b":1,"a":2,"a\u0000":3}`:     `{"a":2,"a\u0000":3,"ab":1}`,
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `}`, `[1`, `[1,]`, `{"a":}`, `{"a":1`, `{"a":1}{`, `1 2`, `{}x`,
		`{"a":1,"a":1}`, `{"a":1,"\u0061":1}`, `[{"x":{"a":1,"a":2}}]`,
		"\"\xff\"", `"\ud800"`, "{\"\xff\":1}", `01`, `+1`, `nul`, "\"\n\"", "\ufeff{}",
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		strings.Repeat("[", 1<<20),
	} {
		if got, err := Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%.40q) = %s", in, got)
		}
	}
}

func TestCanonicalWithout(t *testing.T) {
	for in, want := range map[string]string{
		`{"sig":"x","b":{"sig":1},"a":[{"sig":2}]}`: `{"a":[{"sig":2}],"b":{"sig":1}}`,
		` {"\u0073ig":1} `:                          `{}`,
		`{"SIG":1}`:                                 `{"SIG":1}`,
		`{}`:                                        `{}`,
	} {
		if got, err := CanonicalWithout([]byte(in), "sig"); err != nil || string(got) != want {
			t.Errorf("CanonicalWithout(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `[]`, `"x"`, `null`, `{"sig":1,"sig":2}`, `{"sig":}`} {
		if got, err := CanonicalWithout([]byte(in), "sig"); err == nil {
			t.Errorf("CanonicalWithout(%s) = %s", in, got)
		}
	}
}

func TestSignObject(t *testing.T) {
	id, err := NewIdentity(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{`{}`, `{"z":1,"a":2}`, `{"sig":"old","n":1.50}`, `{"\u0073ig":5}`} {
		signed, err := id.SignObject([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifySigned(signed, id.Key); err != nil {
			t.Errorf("%s: %v", signed, err)
		}
		if again, err := Canonical(signed); err != nil || string(again) != string(signed) {
			t.Errorf("%s is not canonical", signed)
		}
		spaced := []byte(strings.Replace(string(signed), ":", " :\t", 1))
		if err := VerifySigned(spaced, id.Key); err != nil {
			t.Errorf("spelled otherwise, %s: %v", spaced, err)
		}
		more := append([]byte(`{"more":1,`), signed[1:]...)
		if err := VerifySigned(more, id.Key); err == nil {
			t.Errorf("with a member more, %s: no error", more)
		}
	}
	for _, in := range []string{``, `[]`, `{"a":1,"a":2}`} {
		if signed, err := id.SignObject([]byte(in)); err == nil {
			t.Errorf("SignObject(%s) = %s", in, signed)
		}
		if err := VerifySigned([]byte(in), id.Key); err == nil {
			t.Errorf("VerifySigned(%s) succeeded", in)
		}
		if hash, err := GrantHash([]byte(in)); err == nil && in != `[]` {
			t.Errorf("GrantHash(%s) = %s", in, hash)
		}
	}
	long := `{"a":"` + strings.Repeat("x", MaxSigned-len(`{"a":"","sig":"",}`)-86) + `"}`
	signed, err := id.SignObject([]byte(long))
	if err != nil || len(signed) > MaxSigned || VerifySigned(signed, id.Key) != nil {
		t.Errorf("%d bytes signed: %v", len(signed), err)
	}
	longer := strings.Replace(long, "x", "xxx", 1)
	if _, err := id.SignObject([]byte(longer)); err == nil {
		t.Error("an object that is too long was signed")
	}
	if err := VerifySigned(append(signed, "  "...), id.Key); err == nil {
		t.Error("an object that is too long was verified")
	}
	for _, in := range []string{`{}`, `{"sig":null}`, `{"sig":1}`, `{"sig":"x"}`, `{"sig":["x"]}`} {
		if err := VerifySigned([]byte(in), id.Key); err == nil {
			t.Errorf("VerifySigned(%s) succeeded", in)
		}
	}
}
