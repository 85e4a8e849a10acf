package wire

import (
	"bytes"
	"strings"
	"testing"
)

const (
	benchID  = "01K6B0Z3M0000000000000000A"
	benchTS  = "2026-09-29T17:03:11.000Z"
	benchRef = "b_01K6B0Z3M0000000000000000B"
)

func benchChunk() (line, data []byte) {
	data = bytes.Repeat([]byte{0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, 'x'}, ChunkSize/8)
	return AppendChunk(nil, benchID, benchTS, "thr_abcd2345", benchRef, 3, false, data), data
}

func benchMsg(b *testing.B) []byte {
	line, err := Encode(Msg{
		Envelope: Envelope{T: TypeMsg, ID: benchID, TS: benchTS, Th: "thr_abcd2345"},
		Subject:  "Build it",
		Parts: []Part{
			{K: PartText, Text: strings.Repeat("some words ", 20)},
			{K: PartData, Mime: "application/json", Data: []byte(`{"a":[1,2,3],"b":{"c":"d"},"e":null}`)},
			{K: PartBlob, Ref: benchRef, Name: "a.txt", Mime: "text/plain", Size: 9},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return line
}

func BenchmarkAppendChunk(b *testing.B) {
	line, data := benchChunk()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		line = AppendChunk(line[:0], benchID, benchTS, "thr_abcd2345", benchRef, 3, false, data)
	}
}

func BenchmarkDecodeChunk(b *testing.B) {
	line, _ := benchChunk()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := DecodeChunk(line); err != nil {
			b.Fatal(err)
		}
	}
}

// The way DecodeChunk goes for a line of an unusual shape.
func BenchmarkDecodeChunkGeneral(b *testing.B) {
	line, _ := benchChunk()
	line = append(line, ' ')
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := DecodeChunk(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseEnvelope(b *testing.B) {
	chunk, _ := benchChunk()
	for name, line := range map[string][]byte{"chunk": chunk, "msg": benchMsg(b)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := ParseEnvelope(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeMsg(b *testing.B) {
	line := benchMsg(b)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Decode[Msg](line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeMsg(b *testing.B) {
	line := benchMsg(b)
	msg, _ := Decode[Msg](line)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Encode(msg); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodePresence(b *testing.B) {
	doc := []byte(`{"name":"a@x","about":"` + strings.Repeat("x", 300) + `","seq":1}`)
	p := Presence{Envelope: Envelope{T: TypePresence, ID: benchID, TS: benchTS}, Doc: doc, Hops: 1}
	for b.Loop() {
		if _, err := Encode(p); err != nil {
			b.Fatal(err)
		}
	}
}

// The worst that a peer can ask of VerifySigned: text to be moved at every level.
func BenchmarkVerifySignedWorst(b *testing.B) {
	const levels = MaxDepth - 1
	raw := []byte(strings.Repeat(`{"b":`, levels) + `"` + strings.Repeat("x", MaxSigned-12*MaxDepth-2) + `"` + strings.Repeat(`,"a":1}`, levels))
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if err := VerifySigned(raw, [32]byte{1}); err == nil {
			b.Fatal("it verifies")
		}
	}
}
