package wire

import (
	"errors"
	"strings"
	"testing"
)

func wantCode(t *testing.T, err error, code Code) {
	t.Helper()
	le, ok := errors.AsType[*LineError](err)
	if !ok {
		t.Fatalf("error %v, want a LineError", err)
	}
	if le.Code != code {
		t.Errorf("error %v, want code %s", err, code)
	}
}

func nested(depth int) string {
	return `{"t":"x","d":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

func TestParseEnvelopeRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for name, line := range map[string]string{
		"nothing":             ``,
		"blank":               ` `,
		"no JSON":             `hello`,
		"array":               `["t"]`,
		"string":              `"t"`,
		"null":                `null`,
		"two objects":         `{"t":"x"}{"t":"x"}`,
		"something behind":    `{"t":"x"} x`,
		"cut off":             `{"t":"x"`,
		"bad UTF-8":           "{\"t\":\"x\",\"a\":\"\xff\"}",
		"bad UTF-8 in a name": "{\"t\":\"x\",\"\xff\":1}",
		"half a surrogate":    `{"t":"x","a":"\ud800"}`,
		"t twice":             `{"t":"x","t":"x"}`,
		"unknown name twice":  `{"t":"x","a":1,"a":2}`,
		"twice, escaped":      `{"t":"x","\u0074":"y"}`,
		"inner name twice":    `{"t":"x","a":{"b":[{"c":1,"c":2}]}}`,
		"no t":                `{"id":"1"}`,
		"empty t":             `{"t":""}`,
		"t of another case":   `{"T":"x"}`,
		"t a number":          `{"t":1}`,
		"id a number":         `{"t":"x","id":1}`,
		"ts an object":        `{"t":"x","ts":{}}`,
		"th an array":         `{"t":"x","th":[]}`,
		"re a bool":           `{"t":"x","re":true}`,
		"long id":             `{"t":"x","id":"` + long + `"}`,
		"long th":             `{"t":"x","th":"` + long + `"}`,
		"long re":             `{"t":"x","re":"` + long + `"}`,
		"control character":   "{\"t\":\"x\",\"a\":\"\x01\"}",
		"zero byte":           "{\"t\":\"x\"}\x00",
		"byte order mark":     "\ufeff{\"t\":\"x\"}",
		"comment":             `{"t":"x"/**/}`,
		"trailing comma":      `{"t":"x",}`,
		"NaN":                 `{"t":"x","a":NaN}`,
		"too deep":            nested(MaxDepth + 1),
		"far too deep":        nested(1 << 18),
	} {
		t.Run(name, func(t *testing.T) {
			e, err := ParseEnvelope([]byte(line))
			wantCode(t, err, BadFrame)
			if e != (Envelope{}) {
				t.Errorf("envelope %+v beside an error", e)
			}
		})
	}
}

func TestParseEnvelopeAccepts(t *testing.T) {
	for name, tt := range map[string]struct {
		line string
		want Envelope
	}{
		"t alone":           {`{"t":"x"}`, Envelope{T: "x"}},
		"nulls":             {`{"t":"x","id":null,"ts":null,"th":null,"re":null}`, Envelope{T: "x"}},
		"white space":       {" \t{ \"t\" : \"x\" } \r", Envelope{T: "x"}},
		"any order":         {`{"parts":[{"t":"y"}],"re":"4","th":"3","ts":"2","id":"1","t":"x"}`, Envelope{"x", "1", "2", "3", "4"}},
		"escapes":           {`{"\u0074":"\u0078"}`, Envelope{T: "x"}},
		"other case beside": {`{"t":"x","T":"y","ID":5}`, Envelope{T: "x"}},
		"as deep as may be": {nested(MaxDepth), Envelope{T: "x"}},
		"many brackets":     {`{"t":"x","a":"` + strings.Repeat(`[{\"`, MaxDepth) + `"}`, Envelope{T: "x"}},
	} {
		if got, err := ParseEnvelope([]byte(tt.line)); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tt.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxID+1)
	for _, tt := range []struct{ typ, line string }{
		{TypeMsg, `{"t":"state","id":"1","th":"a","state":"x"}`}, // another type
		{TypeMsg, `null`},
		{TypeMsg, `{"t":"msg","th":"a"}`},
		{TypeMsg, `{"t":"msg","id":"1"}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":{}}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[1]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[null]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{"k":1}]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{"k":"text","text":1}]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{"k":"text","k":"code"}]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{"k":"blob","ref":"r","size":"1"}]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{"k":"blob","ref":"r","size":1.5}]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{"k":"blob","ref":"` + long + `"}]}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","subject":[]}`},
		{TypeState, `{"t":"state","th":"a","state":"x"}`},
		{TypeState, `{"t":"state","id":"1","state":"x"}`},
		{TypeState, `{"t":"state","id":"1","th":"a"}`},
		{TypeState, `{"t":"state","id":"1","th":"a","state":""}`},
		{TypeChunk, `{"t":"chunk","ref":"r"}`},
		{TypeChunk, `{"t":"chunk","id":"1"}`},
		{TypeChunk, `{"t":"chunk","id":"1","ref":"` + long + `"}`},
		{TypeChunk, `{"t":"chunk","id":"1","ref":"r","n":"0"}`},
		{TypeMirror, `{"t":"mirror","th":"a","of":"k"}`},
		{TypeMirror, `{"t":"mirror","id":"1","of":"k"}`},
		{TypeMirror, `{"t":"mirror","id":"1","th":"a","withdraw":true}`},
		{TypePrivate, `{"t":"private","th":"a"}`},
		{TypePrivate, `{"t":"private","id":"1"}`},
		{TypeResume, `{"t":"resume","seen":[]}`},
		{TypeResume, `{"t":"resume","seen":{"a":1}}`},
		{TypeResume, `{"t":"resume","seen":{"a":"1","a":"2"}}`},
		{TypeGrant, `{"t":"grant","id":1}`},
		{TypeIntroduce, `{"t":"introduce","peer":[]}`},
		{TypeIntroduce, `{"t":"introduce","peer":{"key":1}}`},
		{TypeErr, `{"t":"err","code":1}`},
		{TypePresence, `{"t":"presence","hops":"1"}`},
		{TypeHello, `{"t":"hello","v":"0"}`},
		{TypeHello, `{"t":"hello","v":0,"caps":"chat"}`},
		{TypeAuth, `{"t":"auth","sig":1}`},
	} {
		_, err := decodeAs(tt.typ, []byte(tt.line))
		if le, ok := errors.AsType[*LineError](err); !ok || le.Code != BadFrame {
			t.Errorf("%.100s: %v, want bad_frame", tt.line, err)
		}
	}
}

func TestDecodeTolerates(t *testing.T) {
	for _, tt := range []struct{ typ, line string }{
		{TypeMsg, `{"t":"msg","id":"1","th":"a"}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":null,"new":{"x":[1]}}`},
		{TypeMsg, `{"t":"msg","id":"1","th":"a","parts":[{}]}`},
		{TypeResume, `{"t":"resume","seen":null}`},
		{TypeResume, `{"t":"resume"}`},
		{TypeAck, `{"t":"ack"}`},
		{TypePing, `{"t":"ping"}`},
		{TypeBye, `{"t":"bye","x":1}`},
		{TypeErr, `{"t":"err","code":"new_code"}`},
		{TypeErr, `{"t":"err"}`},
		{TypeHello, `{"t":"hello","v":1,"x":2}`},
		{TypeHello, `{"t":"hello"}`},
		{TypeGrant, `{"t":"grant","grant":"not even an object"}`},
		{TypeChunk, `{"t":"chunk","id":"1","ref":"r"}`},
		{TypeMirror, `{"t":"mirror","id":"1","th":"a","of":"k"}`},
	} {
		if _, err := decodeAs(tt.typ, []byte(tt.line)); err != nil {
			t.Errorf("%s: %v", tt.line, err)
		}
	}
}

// A hello of a later version need not look like ours: it must fail for its version.
func TestDecodeForeignHello(t *testing.T) {
	_, err := Decode[Hello]([]byte(`{"t":"hello","v":1,"caps":{"chat":2}}`))
	wantCode(t, err, BadVersion)
	_, err = Decode[Hello]([]byte(`{"t":"hello","v":1,"v":1}`))
	wantCode(t, err, BadFrame)
}

// What a line decodes to must survive the reader's buffer.
func TestDecodedDoesNotAlias(t *testing.T) {
	line := []byte(`{"t":"msg","id":"1","th":"abc","parts":[{"k":"data","data":{"a":"b"},"x":"y"},{"k":"text","text":"hello"}]}`)
	msg, err := Decode[Msg](line)
	if err != nil {
		t.Fatal(err)
	}
	clear(line)
	if got := string(msg.Parts[0].Data) + string(msg.Parts[0].X) + msg.Parts[1].Text + string(msg.Th); got != `{"a":"b"}{"x":"y"}helloabc` {
		t.Errorf("after the line was overwritten: %q", got)
	}
}

func TestLineErrorCanBeSent(t *testing.T) {
	_, err := ParseEnvelope([]byte("{\"t\":\"x\",\"" + strings.Repeat("\xff", 5000) + "\":"))
	le, ok := errors.AsType[*LineError](err)
	if !ok {
		t.Fatal(err)
	}
	if _, err := Encode(NewErr(testID, testTS, "", le.Code, le.Detail, "")); err != nil {
		t.Error(err)
	}
	if n := len([]rune(le.Detail)); n > 200 {
		t.Errorf("detail has %d code points", n)
	}
	if got := (&LineError{Code: Internal}).Error(); got != "internal" {
		t.Errorf("without detail: %q", got)
	}
}
