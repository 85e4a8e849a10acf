package wirecmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// pump pushes lines from a's store to b's, as fast as the windows allow.
func pump(b *testing.B, line string) {
	listen := filepath.Join(b.TempDir(), "p.sock")
	from := newHost(b, identity(1), config.Settings{})
	to := newHost(b, identity(2), config.Settings{Listen: []string{"unix:" + listen}})
	from.connect(to.listening())
	eventually(b, "resume", func() bool { return from.store.calls(ipc.LinkResume.Name) != nil }, from.store)
	number := from.link()
	from.store.counting()
	to.store.counting()
	b.SetBytes(int64(len(line)))
	b.ResetTimer()
	waiting, batch := 0, max(1, min(64, ipc.WindowBytes/2/len(line)))
	for sent := 0; sent < b.N; {
		for waiting > 0 && (waiting+batch > ipc.WindowLines || (waiting+batch)*len(line) > ipc.WindowBytes) {
			waiting -= <-from.store.counts
		}
		lines := make([]string, min(batch, b.N-sent))
		for i := range lines {
			lines[i] = line
		}
		from.store.out(number, ipc.OutParams{}, lines...)
		sent += len(lines)
		waiting += len(lines)
	}
	for got := 0; got < b.N; {
		got += <-to.store.counts
	}
}

func BenchmarkChunks(b *testing.B) {
	pump(b, string(wire.AppendChunk(nil, "01K6B0Z3M0000000000000000A", "2026-09-29T17:03:11.000Z", "thr_abcd2345", "b_1", 3, false, make([]byte, wire.ChunkSize))))
}

func BenchmarkSmallLines(b *testing.B) {
	pump(b, `{"t":"msg","id":"01K6B0Z3M0000000000000000A","ts":"2026-09-29T17:03:11.000Z","th":"thr_abcd2345","parts":[{"k":"text","text":"`+strings.Repeat("some words ", 15)+`"}]}`)
}
