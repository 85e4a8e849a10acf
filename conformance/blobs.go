package conformance

import (
	"encoding/base64"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

func (t *trial) chunk(th awp.ThreadID, ref string, n int64, last bool, data []byte) wire.Chunk {
	c := wire.Chunk{Envelope: t.env(wire.TypeChunk), Ref: ref, N: n, Last: last, Data: base64.StdEncoding.EncodeToString(data)}
	c.Th = th
	return c
}

// file is a blob scenario's: a thread, a ref, and means to send its parts.
type file struct {
	*conn
	th  awp.ThreadID
	ref string
}

func (f file) chunk(n int64, last bool, data string) {
	f.send(f.t.chunk(f.th, f.ref, n, last, []byte(data)))
}

func (f file) msg(size int64) {
	m := f.t.msg(f.th, "a file")
	m.Parts = append(m.Parts, wire.Part{K: wire.PartBlob, Ref: f.ref, Name: "../../.conform\x00.txt", Mime: "text/plain", Size: size})
	f.send(m)
	f.acked(m.ID, f.th)
}

// fine wants no err for a while, and a live link.
func (f file) fine() {
	f.quiet(short, "no err for the file", nil)
	f.alive()
}

// refusedBlob wants err blob_refused with ref, and a live link.
func (f file) refusedBlob() {
	f.want(wire.TypeErr, "err blob_refused with ref", func(o map[string]any) bool {
		return o["code"] == string(wire.BlobRefused) && o["ref"] == f.ref
	})
	f.alive()
}

func blob(name, section, doc string, run func(f file)) Scenario {
	return Scenario{Name: name, Section: section, Doc: doc, Cap: wire.CapBlob, run: func(t *trial) {
		run(file{t.open(), t.thread(), "conform-" + string(t.r.ids.Next())})
	}}
}

func blobs() []Scenario {
	const a, b = "thirteen byte", "s and so more" // 26 bytes in all
	return []Scenario{
		blob("chunk", "16", "message first, then two chunks: no err", func(f file) { f.msg(26); f.chunk(0, false, a); f.chunk(1, true, b); f.fine() }),
		blob("chunk-first", "16", "chunks first, then the message: no err", func(f file) { f.chunk(0, false, a); f.chunk(1, true, b); f.msg(26); f.fine() }),
		blob("chunk-around", "16", "a chunk, the message, a chunk: no err", func(f file) { f.chunk(0, false, a); f.msg(26); f.chunk(1, true, b); f.fine() }),
		blob("chunk-empty-file", "16", "a file of no bytes is one chunk without data", func(f file) { f.chunk(0, true, ""); f.msg(0); f.fine() }),
		blob("chunk-twice", "16", "a chunk that comes twice is ignored", func(f file) {
			f.msg(26)
			f.chunk(0, false, a)
			f.chunk(0, false, a)
			f.chunk(1, true, b)
			f.chunk(1, true, b)
			f.fine()
		}),
		blob("chunk-full", "1, 16", "chunks of 256 KiB", func(f file) {
			whole := strings.Repeat("x", wire.ChunkSize)
			f.chunk(0, false, whole)
			f.chunk(1, true, whole)
			f.msg(2 * wire.ChunkSize)
			f.fine()
		}),
		blob("chunk-interleaved", "16", "two files whose chunks alternate: no err", func(f file) {
			g := file{f.conn, f.th, f.ref + "-2"}
			f.chunk(0, false, a)
			g.chunk(0, false, b)
			f.chunk(1, true, b)
			g.chunk(1, true, a)
			f.msg(26)
			g.msg(26)
			f.fine()
		}),
		blob("chunk-odd-base64", "5", "data in the other alphabet and without padding is taken", func(f file) {
			data := []byte{0xfb, 0xff, 0xfe, 0x3f}
			c := f.t.chunk(f.th, f.ref, 0, true, data)
			c.Data = base64.RawURLEncoding.EncodeToString(data)
			f.send(c)
			f.msg(4)
			f.fine()
		}),
		blob("chunk-bare", "16", "a chunk without th, n and last is the first and not the last", func(f file) {
			f.line(`{"t":"chunk",` + env + `,"ref":"` + f.ref + `","data":"AAAA"}`)
			f.fine()
		}),
		blob("chunk-gap", "16, 18", "a chunk is missing: err blob_refused", func(f file) { f.msg(39); f.chunk(0, false, a); f.chunk(2, true, b); f.refusedBlob() }),
		blob("chunk-bad-base64", "16", "data that is not base64: err blob_refused", func(f file) {
			c := f.t.chunk(f.th, f.ref, 0, true, nil)
			c.Data = "!!!!"
			f.send(c)
			f.refusedBlob()
		}),
		blob("chunk-too-many-bytes", "16", "more bytes than the message declared: err blob_refused", func(f file) { f.msg(5); f.chunk(0, true, a); f.refusedBlob() }),
		blob("blob-over-limit", "16", "a declared size over the limit: the message is acked, the file refused", func(f file) {
			m := f.t.msg(f.th, "a file")
			m.Parts = append(m.Parts, wire.Part{K: wire.PartBlob, Ref: f.ref, Name: "big", Size: 1 << 50})
			f.send(m)
			acked, refused := false, false
			for !acked || !refused {
				line, ok := f.next(f.t.r.o.Step)
				f.t.check(ok && line != nil, "an ack, and err blob_refused with ref", "neither or one of them")
				o := object(line)
				acked = acked || o["t"] == wire.TypeAck && o["re"] == string(m.ID)
				refused = refused || o["code"] == string(wire.BlobRefused) && o["ref"] == f.ref
			}
			f.alive()
		}),
		blob("chunk-after-refusal", "16", "chunks of a refused file are ignored quietly", func(f file) {
			f.msg(5)
			f.chunk(0, false, a)
			f.refusedBlob()
			f.chunk(1, true, b)
			f.fine()
		}),
		blob("chunk-never-acked", "8", "a chunk is not acked", func(f file) { f.chunk(0, false, a); f.quiet(short, "no ack for a chunk", nil) }),
		{Name: "chunk-resume", Section: "8, 16", Doc: "a file whose connection broke goes on with the next chunk", Cap: wire.CapBlob, Solo: true, run: func(t *trial) {
			f := file{t.open(), t.thread(), "conform-" + string(t.r.ids.Next())}
			f.chunk(0, false, a)
			f.alive()
			f.conn, _ = f.again()
			f.chunk(1, true, b)
			f.msg(26)
			f.fine()
		}},
	}
}
