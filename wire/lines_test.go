package wire

import (
	"encoding/json/jsontext"
	"reflect"
	"testing"

	"github.com/awp-suite/awp"
)

const (
	testID  = "01K6B0Z3M0000000000000000A"
	testRe  = "01K6B0Z3M00000000000000009"
	testTS  = "2026-09-29T17:03:11.000Z"
	testTh  = "thr_abcd2345"
	testRef = "b_01K6B0Z3M0000000000000000B"
	testKey = "ed25519:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
	head    = `"id":"` + testID + `","ts":"` + testTS + `"`
	headTh  = head + `,"th":"` + testTh + `"`
)

func env(typ string) Envelope { return Envelope{T: typ, ID: testID, TS: testTS} }

func envTh(typ string) Envelope {
	e := env(typ)
	e.Th = testTh
	return e
}

func envRe(typ string, th awp.ThreadID) Envelope {
	e := env(typ)
	e.Th, e.Re = th, testRe
	return e
}

// goldenLines has every type, with all members and with as few as there can be.
var goldenLines = []struct {
	name  string
	value any
	line  string
}{
	{"hello, all", Hello{env(TypeHello), 0, testKey, "a@x", "AQE", []string{CapChat, CapBlob}, "über <us> & co", "tcp:h:1", []string{testKey}},
		`{"t":"hello",` + head + `,"v":0,"key":"` + testKey + `","name":"a@x","nonce":"AQE","caps":["chat","blob"],"about":"über <us> & co","addr":"tcp:h:1","shares":["` + testKey + `"]}`},
	{"hello, least", Hello{Envelope: env(TypeHello), Caps: []string{}},
		`{"t":"hello",` + head + `,"v":0,"key":"","name":"","nonce":"","caps":[],"about":""}`},
	{"hello, other version", Hello{Envelope: env(TypeHello), V: 99, Caps: []string{}},
		`{"t":"hello",` + head + `,"v":99,"key":"","name":"","nonce":"","caps":[],"about":""}`},
	{"auth, all", Auth{env(TypeAuth), "c2ln", []jsontext.Value{jsontext.Value(`{"iss": "\u00e9\/"}`), jsontext.Value(`{}`)}},
		`{"t":"auth",` + head + `,"sig":"c2ln","grants":[{"iss": "\u00e9\/"},{}]}`},
	{"auth, least", Auth{Envelope: env(TypeAuth)}, `{"t":"auth",` + head + `,"sig":""}`},
	{"resume, all", Resume{env(TypeResume), map[awp.ThreadID]awp.MessageID{"b": "2", "a": "1", "c": "3"}},
		`{"t":"resume",` + head + `,"seen":{"a":"1","b":"2","c":"3"}}`},
	{"resume, least", Resume{env(TypeResume), map[awp.ThreadID]awp.MessageID{}}, `{"t":"resume",` + head + `,"seen":{}}`},
	{"msg, all", Msg{envRe(TypeMsg, testTh), "Build <it>", []Part{
		{K: PartText, Text: "a & b\u2028\n"},
		{K: PartCode, Lang: "go", Text: "x := \"y\""},
		{K: PartData, Mime: "application/json", Data: jsontext.Value(`{"n":1.50}`)},
		{K: PartBlob, Ref: testRef, Name: "a.txt", Mime: "text/plain", Size: 7},
	}},
		`{"t":"msg",` + headTh + `,"re":"` + testRe + `","subject":"Build <it>","parts":[{"k":"text","text":"a & b` + "\u2028" + `\n"},` +
			`{"k":"code","lang":"go","text":"x := \"y\""},{"k":"data","mime":"application/json","data":{"n":1.50}},` +
			`{"k":"blob","ref":"` + testRef + `","name":"a.txt","mime":"text/plain","size":7}]}`},
	{"msg, least", Msg{Envelope: envTh(TypeMsg), Parts: []Part{}}, `{"t":"msg",` + headTh + `,"parts":[]}`},
	{"msg, empty parts", Msg{Envelope: envTh(TypeMsg), Parts: []Part{{K: PartText}, {K: PartCode}, {K: PartData, Data: jsontext.Value("null")}, {K: PartBlob, Ref: "r"}}},
		`{"t":"msg",` + headTh + `,"parts":[{"k":"text","text":""},{"k":"code","text":""},{"k":"data","data":null},{"k":"blob","ref":"r","size":0}]}`},
	{"msg, unknown parts and members", Msg{Envelope: envTh(TypeMsg), Parts: []Part{
		{K: "image", X: jsontext.Value(`{"size":"big","alt":[1.0]}`)},
		{K: PartText, Text: "t", X: jsontext.Value(`{"size":"big","w":{}}`)},
	}},
		`{"t":"msg",` + headTh + `,"parts":[{"k":"image","size":"big","alt":[1.0]},{"k":"text","text":"t","size":"big","w":{}}]}`},
	{"state, all", State{envTh(TypeState), StateWorking, "on it"}, `{"t":"state",` + headTh + `,"state":"working","note":"on it"}`},
	{"state, least", State{Envelope: envTh(TypeState), State: "x"}, `{"t":"state",` + headTh + `,"state":"x"}`},
	{"ack", Ack{envRe(TypeAck, testTh)}, `{"t":"ack",` + headTh + `,"re":"` + testRe + `"}`},
	{"chunk, all", Chunk{envTh(TypeChunk), testRef, 3, true, "AAE="}, `{"t":"chunk",` + headTh + `,"ref":"` + testRef + `","n":3,"last":true,"data":"AAE="}`},
	{"chunk, least", Chunk{Envelope: env(TypeChunk), Ref: "r"}, `{"t":"chunk",` + head + `,"ref":"r","n":0,"last":false,"data":""}`},
	{"ping", Ping{env(TypePing)}, `{"t":"ping",` + head + `}`},
	{"pong", Pong{envRe(TypePong, "")}, `{"t":"pong",` + head + `,"re":"` + testRe + `"}`},
	{"bye, all", Bye{env(TypeBye), "done"}, `{"t":"bye",` + head + `,"reason":"done"}`},
	{"bye, least", Bye{Envelope: env(TypeBye)}, `{"t":"bye",` + head + `}`},
	{"err, all", NewErr(testID, testTS, testRe, BlobRefused, "too much", testRef),
		`{"t":"err",` + head + `,"re":"` + testRe + `","code":"blob_refused","detail":"too much","ref":"` + testRef + `"}`},
	{"err, least", NewErr(testID, testTS, "", BadFrame, "", ""), `{"t":"err",` + head + `,"code":"bad_frame"}`},
	{"grant", Grant{env(TypeGrant), jsontext.Value(`{"z": 1, "a":"\/"}`)}, `{"t":"grant",` + head + `,"grant":{"z": 1, "a":"\/"}}`},
	{"introduce, all", Introduce{envTh(TypeIntroduce), Introduced{testKey, "c", "tcp:h:1"}, jsontext.Value(`{"iss" : 1}`)},
		`{"t":"introduce",` + headTh + `,"peer":{"key":"` + testKey + `","name":"c","address":"tcp:h:1"},"grant":{"iss" : 1}}`},
	{"introduce, least", Introduce{Envelope: env(TypeIntroduce)}, `{"t":"introduce",` + head + `,"peer":{"key":""}}`},
	{"presence", Presence{env(TypePresence), jsontext.Value(`{"seq":1.0e3, "doc":null,"name":"\u0041"}`), 7},
		`{"t":"presence",` + head + `,"doc":{"seq":1.0e3, "doc":null,"name":"\u0041"},"hops":7}`},
	{"mirror, line", Mirror{Envelope: envTh(TypeMirror), Of: testKey, OfName: "b", Subject: "s", Dir: awp.Out, Line: jsontext.Value(`{"t":"msg","x": 0.10}`)},
		`{"t":"mirror",` + headTh + `,"of":"` + testKey + `","of_name":"b","subject":"s","dir":"out","line":{"t":"msg","x": 0.10}}`},
	{"mirror, withdraw", Mirror{Envelope: envTh(TypeMirror), Of: testKey, Withdraw: true},
		`{"t":"mirror",` + headTh + `,"of":"` + testKey + `","withdraw":true}`},
	{"private", Private{envTh(TypePrivate)}, `{"t":"private",` + headTh + `}`},
}

// decodeAs decodes line as the type with the name typ.
func decodeAs(typ string, line []byte) (any, error) {
	switch typ {
	case TypeHello:
		return decodeAny[Hello](line)
	case TypeAuth:
		return decodeAny[Auth](line)
	case TypeResume:
		return decodeAny[Resume](line)
	case TypeMsg:
		return decodeAny[Msg](line)
	case TypeState:
		return decodeAny[State](line)
	case TypeAck:
		return decodeAny[Ack](line)
	case TypeChunk:
		return decodeAny[Chunk](line)
	case TypePing:
		return decodeAny[Ping](line)
	case TypePong:
		return decodeAny[Pong](line)
	case TypeBye:
		return decodeAny[Bye](line)
	case TypeErr:
		return decodeAny[Err](line)
	case TypeGrant:
		return decodeAny[Grant](line)
	case TypeIntroduce:
		return decodeAny[Introduce](line)
	case TypePresence:
		return decodeAny[Presence](line)
	case TypeMirror:
		return decodeAny[Mirror](line)
	case TypePrivate:
		return decodeAny[Private](line)
	}
	return decodeAny[Envelope](line)
}

func decodeAny[T any](line []byte) (any, error) {
	v, err := Decode[T](line)
	return v, err
}

func TestGoldenLines(t *testing.T) {
	types := map[string]bool{}
	for _, tt := range goldenLines {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Encode(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.line {
				t.Errorf("encoded\n%s, want\n%s", got, tt.line)
			}
			e, err := ParseEnvelope([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.value.(typed).envelope(); e != want {
				t.Errorf("envelope %+v, want %+v", e, want)
			}
			types[e.T] = true
			value, err := decodeAs(e.T, []byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(value, tt.value) {
				t.Errorf("decoded\n%+v, want\n%+v", value, tt.value)
			}
		})
	}
	if len(types) != 16 {
		t.Errorf("%d types have a golden line, want 16: %v", len(types), types)
	}
}

func TestEncodeFillsWhatIsAlwaysWritten(t *testing.T) {
	for _, tt := range []struct {
		value any
		line  string
	}{
		{&Hello{Envelope: env(TypeHello)}, `{"t":"hello",` + head + `,"v":0,"key":"","name":"","nonce":"","caps":[],"about":""}`},
		{&Resume{Envelope: env(TypeResume)}, `{"t":"resume",` + head + `,"seen":{}}`},
		{&Msg{Envelope: envTh(TypeMsg)}, `{"t":"msg",` + headTh + `,"parts":[]}`},
		{Msg{Envelope: envTh(TypeMsg), Parts: []Part{{K: PartData}}}, `{"t":"msg",` + headTh + `,"parts":[{"k":"data","data":null}]}`},
		{&Presence{Envelope: env(TypePresence)}, `{"t":"presence",` + head + `,"doc":null,"hops":0}`},
	} {
		if got, err := Encode(tt.value); err != nil || string(got) != tt.line {
			t.Errorf("Encode(%T) = %s, %v; want %s", tt.value, got, err, tt.line)
		}
	}
}
