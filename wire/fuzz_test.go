package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"testing"
)

func addLines(f *testing.F) {
	for _, tt := range goldenLines {
		f.Add([]byte(tt.line))
	}
	for _, tt := range chunkLines {
		f.Add([]byte(tt.line))
	}
	f.Add([]byte(`{"t":"msg","id":"1","th":"a","parts":[{"k":"text","size":[],"text":""},{"x":1}]}`))
	f.Add([]byte(nested(20)))
}

// What ParseEnvelope accepts is one JSON object, and what it refuses is refused by Decode.
func FuzzParseEnvelope(f *testing.F) {
	addLines(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEnvelope(line)
		_, again := Decode[Envelope](line)
		if err != nil {
			wantCode(t, err, BadFrame)
			return
		}
		if again != nil {
			t.Errorf("Decode: %v", again)
		}
		if v := jsontext.Value(line); e.T == "" || v.Kind() != '{' || !v.IsValid() {
			t.Errorf("accepted, type %q", e.T)
		}
	})
}

// A decoded line can be encoded, and that line decodes and encodes to itself.
func FuzzDecode(f *testing.F) {
	addLines(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEnvelope(line)
		if err != nil {
			return
		}
		v, err := decodeAs(e.T, line)
		if err != nil {
			if le, ok := errors.AsType[*LineError](err); !ok || le.Code != BadFrame && le.Code != BadVersion {
				t.Errorf("error %v", err)
			}
			return
		}
		once, err := Encode(v)
		if err != nil {
			if e.ID != "" && e.TS != "" {
				t.Errorf("encode %+v: %v", v, err)
			}
			return
		}
		if bytes.IndexByte(once, '\n') >= 0 {
			t.Errorf("line break in %q", once)
		}
		v, err = decodeAs(e.T, once)
		if err != nil {
			t.Fatalf("decode %s again: %v", once, err)
		}
		if twice, err := Encode(v); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("encoded\n%s, then\n%s, %v", once, twice, err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	addLines(f)
	f.Add([]byte(`{"b":[1.0,{"\u0062":"\u000b"}],"a":"\/"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := Canonical(raw)
		if err != nil {
			if jsontext.Value(raw).IsValid() && !tooDeep(raw) {
				t.Errorf("valid JSON refused: %v", err)
			}
			return
		}
		if !jsontext.Value(raw).IsValid() {
			t.Errorf("not JSON, accepted as %s", once)
		}
		if twice, err := Canonical(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%s, then %s, %v", once, twice, err)
		}
		if jsontext.Value(raw).Kind() == '{' {
			if _, err := CanonicalWithout(raw, "sig"); err != nil {
				t.Error(err)
			}
		}
	})
}

// The quick scanner reads what the general decoder reads, or leaves it alone.
func FuzzDecodeChunk(f *testing.F) {
	addLines(f)
	f.Add([]byte("{\"t\":\"chunk\",\"id\":\"1\",\"ref\":\"r\",\"data\":\"AA\r==\"}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		quick, ok := scanChunk(line)
		general, err := decodeChunkGenerally(line)
		if ok && (err != nil || !equalChunks(quick, general)) {
			t.Errorf("quick %+v, general %+v, %v", quick, general, err)
		}
		if got, gotErr := DecodeChunk(line); !equalChunks(got, general) || (gotErr == nil) != (err == nil) {
			t.Errorf("DecodeChunk = %+v, %v; general %+v, %v", got, gotErr, general, err)
		}
		if err == nil && general.TS != "" && general.Re == "" {
			c := general
			line := AppendChunk(nil, c.ID, c.TS, c.Th, c.Ref, c.N, c.Last, c.Data)
			if back, err := DecodeChunk(line); err != nil || !equalChunks(back, c) {
				t.Errorf("%s reads %+v, %v; want %+v", line, back, err, c)
			}
		}
	})
}

func FuzzParseAddr(f *testing.F) {
	for _, s := range []string{tcAddr, "tailcat:" + tcAddr, "tcp:h:1", "tcp://[::1%a]:01", "unix:///a", "unix:/a/../b", "bob"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddr(s)
		if err != nil {
			return
		}
		if back, err := ParseAddr(a.String()); err != nil || back != a {
			t.Errorf("%q is %q, which is %q, %v", s, a, back, err)
		}
	})
}

func FuzzSafeName(f *testing.F) {
	f.Add("../a b")
	f.Fuzz(func(t *testing.T, s string) {
		safe := SafeName(s)
		if safe == "" || len(safe) > maxSafeName || safe[0] == '.' || !only(safe, "_.-") {
			t.Errorf("SafeName(%q) = %q", s, safe)
		}
		if SafeName(safe) != safe {
			t.Errorf("SafeName(%q) = %q, then %q", s, safe, SafeName(safe))
		}
	})
}
