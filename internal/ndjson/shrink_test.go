package ndjson

import (
	"io"
	"strings"
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
