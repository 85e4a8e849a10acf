package wire

import (
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestEncodeRefuses(t *testing.T) {
	for name, v := range map[string]any{
		"no t":             Ping{Envelope{ID: testID, TS: testTS}},
		"another t":        Ping{env(TypePong)},
		"no id":            Ping{Envelope{T: TypePing, TS: testTS}},
		"no ts":            Ping{Envelope{T: TypePing, ID: testID}},
		"msg without th":   Msg{Envelope: env(TypeMsg)},
		"state without":    State{Envelope: envTh(TypeState)},
		"mirror without":   Mirror{Envelope: envTh(TypeMirror)},
		"bad UTF-8":        Bye{env(TypeBye), "\xff"},
		"X not an object":  Msg{Envelope: envTh(TypeMsg), Parts: []Part{{K: PartText, X: jsontext.Value(`1`)}}},
		"X repeats text":   Msg{Envelope: envTh(TypeMsg), Parts: []Part{{K: PartText, X: jsontext.Value(`{"text":1}`)}}},
		"data not JSON":    Msg{Envelope: envTh(TypeMsg), Parts: []Part{{K: PartData, Data: jsontext.Value(`{`)}}},
		"grant not JSON":   Grant{env(TypeGrant), jsontext.Value(`{"a":1,"a":2}`)},
		"grant with tail":  Grant{env(TypeGrant), jsontext.Value(`{},"x":1`)},
		"grant empty":      Grant{env(TypeGrant), jsontext.Value{}},
		"no line at all":   make(chan int),
		"among two grants": Auth{env(TypeAuth), "", []jsontext.Value{jsontext.Value(`{}`), jsontext.Value(`}`)}},
	} {
		line, err := Encode(v)
		if _, ok := errors.AsType[*LineError](err); err == nil || ok {
			t.Errorf("%s: %s, %v; want a plain error", name, line, err)
		}
	}
}

func TestEncodeBounds(t *testing.T) {
	bye := Bye{Envelope: env(TypeBye)}
	line, _ := Encode(Bye{env(TypeBye), "x"})
	room := MaxLine - len(line) + 1
	bye.Reason = strings.Repeat("x", room)
	if line, err := Encode(bye); err != nil || len(line) != MaxLine {
		t.Errorf("a line of just the bound: %d bytes, %v", len(line), err)
	}
	bye.Reason += "x"
	_, err := Encode(bye)
	wantCode(t, err, TooLarge)

	deep := func(depth int) jsontext.Value {
		return jsontext.Value(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	}
	if _, err := Encode(Grant{env(TypeGrant), deep(MaxDepth - 1)}); err != nil {
		t.Errorf("a line of just the depth: %v", err)
	}
	_, err = Encode(Grant{env(TypeGrant), deep(MaxDepth)})
	wantCode(t, err, TooLarge)
}

// Line breaks are the one thing in a raw value that a line cannot carry.
func TestEncodeUnbreaksRaw(t *testing.T) {
	raw := jsontext.Value("{\n  \"a\": \"\\u00e9\\n\",\r\n  \"n\": 1.0\n}")
	before := string(raw)
	got, err := Encode(Grant{env(TypeGrant), raw})
	if want := `{"t":"grant",` + head + `,"grant":{"a":"\u00e9\n","n":1.0}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if string(raw) != before {
		t.Error("the caller's value was changed")
	}
}

func TestStamp(t *testing.T) {
	at := time.Date(2026, 9, 29, 19, 3, 11, 4_999_999, time.FixedZone("", 2*3600))
	const want = "2026-09-29T17:03:11.004Z"
	if got := Stamp(at); got != want {
		t.Errorf("Stamp = %s, want %s", got, want)
	}
	for _, s := range []string{want, "2026-09-29t17:03:11.004z", "2026-09-29T19:03:11.004000+02:00"} {
		if got, err := ParseStamp(s); err != nil || Stamp(got) != want {
			t.Errorf("ParseStamp(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "2026-09-29", "2026-09-29T17:03:11", "yesterday"} {
		if _, err := ParseStamp(s); err == nil {
			t.Errorf("ParseStamp(%q) succeeded", s)
		}
	}
}
