package wire

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"slices"
	"strconv"

	"github.com/awp-suite/awp"
)

// AppendChunk appends the chunk line, without newline, that [Encode] makes of a [Chunk],
// and returns the longer dst. Equal arguments give equal bytes, which is what lets the
// outbox keep a file's offset instead of its lines. It does not check that the line fits
// [MaxLine]: with data of at most [ChunkSize] bytes it does unless th or ref are absurd.
func AppendChunk(dst []byte, id awp.MessageID, ts string, th awp.ThreadID, ref string, n int64, last bool, data []byte) []byte {
	const members = len(`{"t":"chunk","id":"","ts":"","th":"","ref":"","n":,"last":false,"data":""}`) + 20
	encoded := base64.StdEncoding.EncodedLen(len(data))
	dst = slices.Grow(dst, members+len(id)+len(ts)+len(th)+len(ref)+encoded)
	dst = append(dst, `{"t":"chunk","id":`...)
	dst = appendString(dst, string(id))
	dst = append(dst, `,"ts":`...)
	dst = appendString(dst, ts)
	if th != "" {
		dst = append(dst, `,"th":`...)
		dst = appendString(dst, string(th))
	}
	dst = append(dst, `,"ref":`...)
	dst = appendString(dst, ref)
	dst = append(dst, `,"n":`...)
	dst = strconv.AppendInt(dst, n, 10)
	dst = append(dst, `,"last":`...)
	dst = strconv.AppendBool(dst, last)
	dst = append(dst, `,"data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, `"}`...)
}

// appendString writes s as the encoder does. What is not UTF-8 in it becomes U+FFFD; no
// id or ref that ever was in a line has any.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// DecodedChunk is a [Chunk] with its data as bytes.
type DecodedChunk struct {
	Envelope
	Ref  string
	N    int64 // 0 where the line has none
	Last bool  // false where the line has none
	Data []byte
}

// DecodeChunk reads a chunk line as [Decode] does, much faster, and decodes its data from
// base64 in either alphabet, padded or not. A line that Decode refuses is a *[LineError]
// with code [BadFrame]. One whose data alone is bad has code [BlobRefused], and then the
// rest of the result is filled in, since the answer names the blob. The result does not
// refer to line.
func DecodeChunk(line []byte) (DecodedChunk, error) {
	if c, ok := scanChunk(line); ok {
		return c, nil
	}
	return decodeChunkGenerally(line)
}

func decodeChunkGenerally(line []byte) (DecodedChunk, error) {
	w, err := Decode[Chunk](line)
	if err != nil {
		return DecodedChunk{}, err
	}
	c := DecodedChunk{Envelope: w.Envelope, Ref: w.Ref, N: w.N, Last: w.Last}
	if c.Data, err = awp.DecodeBase64(w.Data); err != nil {
		c.Data = nil
		return c, refuse(BlobRefused, "parse chunk: data is not base64")
	}
	return c, nil
}
