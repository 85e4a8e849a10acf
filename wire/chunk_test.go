package wire

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"testing"

	"github.com/awp-suite/awp"
)

func TestAppendChunkIsEncode(t *testing.T) {
	for _, tt := range []struct {
		th   awp.ThreadID
		ref  string
		n    int64
		last bool
		data string
	}{
		{testTh, testRef, 0, true, ""},
		{testTh, testRef, 17, false, "some data"},
		{"", "r", 1, true, "\x00\xff\xfe>?"},
		{"a\"b\\c\n\u2028é<&>\x7f", "/..\x01", 1 << 40, false, "x"},
		{testTh, testRef, -1, false, "xx"},
	} {
		e := env(TypeChunk)
		e.Th = tt.th
		want, err := Encode(Chunk{e, tt.ref, tt.n, tt.last, base64.StdEncoding.EncodeToString([]byte(tt.data))})
		if err != nil {
			t.Fatal(err)
		}
		got := AppendChunk([]byte("before "), testID, testTS, tt.th, tt.ref, tt.n, tt.last, []byte(tt.data))
		if string(got) != "before "+string(want) {
			t.Errorf("AppendChunk\n%s, Encode\n%s", got, want)
		}
		c, err := DecodeChunk(want)
		if wantC := (DecodedChunk{e, tt.ref, tt.n, tt.last, []byte(tt.data)}); err != nil || !reflect.DeepEqual(c, wantC) {
			t.Errorf("DecodeChunk = %+v, %v; want %+v", c, err, wantC)
		}
	}
}

func TestAppendChunkFits(t *testing.T) {
	line := AppendChunk(nil, testID, testTS, testTh, testRef, 1<<62, false, make([]byte, ChunkSize))
	if len(line) > MaxLine/2 {
		t.Errorf("a full chunk is a line of %d bytes", len(line))
	}
	if allocs := testing.AllocsPerRun(10, func() {
		line = AppendChunk(line[:0], testID, testTS, testTh, testRef, 1, false, make([]byte, 0, 8))
	}); allocs > 0 {
		t.Errorf("%v allocations into a long enough buffer", allocs)
	}
}

// plain says whether the quick scanner should read the line by itself.
var chunkLines = []struct {
	name, line string
	plain      bool
	want       DecodedChunk
}{
	{"n and last missing", `{"t":"chunk","id":"1","ref":"r","data":"AA=="}`, true,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, []byte{0}}},
	{"data first", `{"data":"","last":true,"n":7,"ref":"r","th":"a","ts":"b","id":"1","t":"chunk"}`, true,
		DecodedChunk{Envelope{"chunk", "1", "b", "a", ""}, "r", 7, true, []byte{}}},
	{"no data", `{"t":"chunk","id":"1","ref":"r"}`, true,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, nil}},
	{"unpadded", `{"t":"chunk","id":"1","ref":"r","data":"AA"}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, []byte{0}}},
	{"other alphabet", `{"t":"chunk","id":"1","ref":"r","data":"_-8="}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, []byte{0xff, 0xef}}},
	{"white space", `{ "t" : "chunk" , "id":"1","ref":"r","data":"AA==" }`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, []byte{0}}},
	{"escapes", `{"t":"chunk","id":"1","ref":"\u0072","data":"\u0041A\u003d="}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, []byte{0}}},
	{"not ASCII", `{"t":"chunk","id":"1","ref":"é","data":""}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "é", 0, false, []byte{}}},
	{"unknown member, re", `{"t":"chunk","id":"1","re":"5","ref":"r","new":[{}],"data":""}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1", Re: "5"}, "r", 0, false, []byte{}}},
	{"nulls", `{"t":"chunk","id":"1","ref":"r","n":null,"last":null,"data":null}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 0, false, []byte{}}},
	{"largest n", `{"t":"chunk","id":"1","ref":"r","n":9223372036854775807}`, false,
		DecodedChunk{Envelope{T: "chunk", ID: "1"}, "r", 1<<63 - 1, false, nil}},
}

func TestDecodeChunk(t *testing.T) {
	for _, tt := range chunkLines {
		got, err := DecodeChunk([]byte(tt.line))
		if err != nil || !equalChunks(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
		if _, plain := scanChunk([]byte(tt.line)); plain != tt.plain {
			t.Errorf("%s: plain is %v", tt.name, plain)
		}
	}
}

func equalChunks(a, b DecodedChunk) bool {
	return a.Envelope == b.Envelope && a.Ref == b.Ref && a.N == b.N && a.Last == b.Last && bytes.Equal(a.Data, b.Data)
}

func TestDecodeChunkRefuses(t *testing.T) {
	for _, line := range []string{
		``, `{`, `{}`, `{"t":"chunk"`, `{"t":"chunk","id":"1","ref":"r",}`,
		`{"t":"chunk","id":"1","ref":"r"}x`,
		`{"t":"chunk","id":"1","ref":"r","ref":"r"}`,
		`{"t":"msg","id":"1","ref":"r"}`,
		`{"t":"chunk","id":"1","ref":""}`,
		`{"t":"chunk","id":"1","ref":"r","n":01}`,
		`{"t":"chunk","id":"1","ref":"r","n":}`,
		`{"t":"chunk","id":"1","ref":"r","n":9223372036854775808}`,
		`{"t":"chunk","id":"1","ref":"r","last":falsetrue}`,
		`{"t":"chunk","id":"1","ref":"r","last":0}`,
		`{"t":"chunk","id":"1","ref":"r","data":"AA==`,
		"{\"t\":\"chunk\",\"id\":\"1\",\"ref\":\"r\",\"data\":\"AA\r==\"}",
	} {
		t.Run(line, func(t *testing.T) {
			c, err := DecodeChunk([]byte(line))
			wantCode(t, err, BadFrame)
			if !equalChunks(c, DecodedChunk{}) {
				t.Errorf("%+v beside an error", c)
			}
		})
	}
}

func TestDecodeChunkBadData(t *testing.T) {
	for _, data := range []string{"A", "AB", "!!!!", "A A=", "AA==AA==", `\"`, "\u00e9"} {
		line := `{"t":"chunk","id":"1","th":"a","ref":"r","n":4,"last":true,"data":"` + data + `"}`
		c, err := DecodeChunk([]byte(line))
		wantCode(t, err, BlobRefused)
		if want := (DecodedChunk{Envelope{T: "chunk", ID: "1", Th: "a"}, "r", 4, true, nil}); !reflect.DeepEqual(c, want) {
			t.Errorf("%q: %+v, want %+v", data, c, want)
		}
	}
}

func TestDecodeChunkDoesNotAlias(t *testing.T) {
	line := AppendChunk(nil, testID, testTS, testTh, testRef, 1, true, []byte("data"))
	c, err := DecodeChunk(line)
	if err != nil {
		t.Fatal(err)
	}
	clear(line)
	if string(c.Data) != "data" || c.Ref != testRef || c.ID != testID {
		t.Errorf("after the line was overwritten: %+v", c)
	}
}
