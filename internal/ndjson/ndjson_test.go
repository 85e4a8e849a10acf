package ndjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(r *Reader) (lines []string, err error) {
	for {
		line, err := r.ReadLine()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

func TestReadLine(t *testing.T) {
	tests := []struct {
		name, in string
		max      int
		want     []string
		err      error
	}{
		{"empty", "", 10, nil, io.EOF},
		{"two", "a\nbc\n", 10, []string{"a", "bc"}, io.EOF},
		{"blank", "\n\nx\n", 10, []string{"", "", "x"}, io.EOF},
		{"carriage return stays", "a\r\n", 10, []string{"a\r"}, io.EOF},
		{"exactly the bound", "12345\n", 5, []string{"12345"}, io.EOF},
		{"one over", "123456\n", 5, nil, ErrTooLong},
		{"one over, no newline", "123456", 5, nil, ErrTooLong},
		{"truncated", "ab\ncd", 10, []string{"ab"}, ErrTruncated},
		{"long after short", "a\n" + strings.Repeat("x", 9000) + "\nb\n", 9000, []string{"a", strings.Repeat("x", 9000), "b"}, io.EOF},
	}
	for _, tt := range tests {
		for reader, in := range map[string]io.Reader{
			"whole":    strings.NewReader(tt.in),
			"bytewise": iotest.OneByteReader(strings.NewReader(tt.in)),
			"halves":   iotest.HalfReader(strings.NewReader(tt.in)),
			"data+err": iotest.DataErrReader(strings.NewReader(tt.in)),
		} {
			got, err := readAll(NewReader(in, tt.max))
			if !errors.Is(err, tt.err) || strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("%s, %s: got %.40q, %v; want %.40q, %v", tt.name, reader, got, err, tt.want, tt.err)
			}
		}
	}
}

// An endless line must fail once the bound is passed, not when memory is out.
func TestBoundHoldsWhileReading(t *testing.T) {
	const max = 1 << 20
	r := NewReader(endless{}, max)
	if _, err := r.ReadLine(); !errors.Is(err, ErrTooLong) {
		t.Fatalf("got %v, want ErrTooLong", err)
	}
	if len(r.buf) > 2*(max+1) {
		t.Errorf("buffer grew to %d bytes for a bound of %d", len(r.buf), max)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReady(t *testing.T) {
	r := NewReader(strings.NewReader("a\nb\nc"), 10)
	if r.Ready() {
		t.Error("ready before anything was read")
	}
	for _, want := range []bool{true, false} {
		if _, err := r.ReadLine(); err != nil {
			t.Fatal(err)
		}
		if got := r.Ready(); got != want {
			t.Errorf("Ready() = %v, want %v", got, want)
		}
	}
}

func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nb\n"), 3)
	f.Add([]byte("aaaa"), 2)
	f.Fuzz(func(t *testing.T, in []byte, max int) {
		if max < 1 || max > 1<<16 {
			return
		}
		got, err := readAll(NewReader(iotest.HalfReader(bytes.NewReader(in)), max))
		rebuilt := strings.Join(got, "\n")
		if len(got) > 0 {
			rebuilt += "\n"
		}
		if !bytes.HasPrefix(in, []byte(rebuilt)) {
			t.Fatalf("lines %q do not rebuild %q", got, in)
		}
		if err == io.EOF && rebuilt != string(in) {
			t.Fatalf("clean end, but only %q of %q was read", rebuilt, in)
		}
	})
}
