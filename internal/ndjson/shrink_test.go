package ndjson

import (
	"io"
	"strings"
	"sync"
	"testing"
)

// A stream that is idle after a long line must not hold that line's memory.
func TestBufferIsLetGo(t *testing.T) {
	const max = 1 << 20
	in, out := io.Pipe()
	r := NewReader(in, max)
	long := strings.Repeat("x", max) + "\n"
	go func() {
		io.WriteString(out, long)  //nolint:errcheck // the reader sees it
		io.WriteString(out, "a\n") //nolint:errcheck // likewise
		out.Close()
	}()
	line, err := r.ReadLine()
	if err != nil || len(line) != max {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	if line, err = r.ReadLine(); err != nil || string(line) != "a" {
		t.Fatalf("%q, %v", line, err)
	}
	if len(r.buf) > keepBuffer {
		t.Errorf("the buffer still has %d bytes", len(r.buf))
	}
}

// Readers that share buffers do not share lines.
func TestReadersAtOnce(t *testing.T) {
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			want := strings.Repeat(string(rune('a'+i)), 100<<10+i)
			r := NewReader(strings.NewReader(strings.Repeat(want+"\n", 50)), 1<<20)
			for range 50 {
				if line, err := r.ReadLine(); err != nil || string(line) != want {
					t.Errorf("reader %d: %.10q, %v", i, line, err)
					return
				}
			}
		})
	}
	running.Wait()
}

func BenchmarkLongLines(b *testing.B) {
	for name, size := range map[string]int{"200B": 200, "350K": 350 << 10} {
		b.Run(name, func(b *testing.B) {
			line := []byte(strings.Repeat("x", size) + "\n")
			in, out := io.Pipe()
			go func() {
				for range b.N {
					out.Write(line) //nolint:errcheck // the reader sees it
				}
				out.Close()
			}()
			b.SetBytes(int64(len(line)))
			r := NewReader(in, 1<<20)
			for {
				if _, err := r.ReadLine(); err != nil {
					return
				}
			}
		})
	}
}
