package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadLine(t *testing.T) {
	full := strings.Repeat("x", MaxLine)
	for name, tt := range map[string]struct {
		in   string
		want []string
		err  error // nil for too_large
	}{
		"empty":               {"", nil, io.EOF},
		"two":                 {"a\nb\n", []string{"a", "b"}, io.EOF},
		"blank lines":         {"\n \n\t\r\na\n\n", []string{"a"}, io.EOF},
		"carriage return":     {"a\r\n", []string{"a\r"}, io.EOF},
		"cut off":             {"a\nb", []string{"a"}, io.ErrUnexpectedEOF},
		"just the bound":      {full + "\nb\n", []string{full, "b"}, io.EOF},
		"over":                {"a\n" + full + "x\n", []string{"a"}, nil},
		"over, never newline": {full + "x", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(tt.in))
			for _, want := range tt.want {
				if line, err := r.ReadLine(); err != nil || string(line) != want {
					t.Fatalf("%.20q, %v; want %.20q", line, err, want)
				}
			}
			_, err := r.ReadLine()
			if tt.err == nil {
				wantCode(t, err, TooLarge)
			} else if !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
		})
	}
}

func TestReadLinePassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(iotest.ErrReader(broken))
	if _, err := r.ReadLine(); err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestReady(t *testing.T) {
	in, out := io.Pipe()
	go out.Write([]byte("a\n\nb\n\r\n\npart"))
	r := NewReader(in)
	if r.Ready() {
		t.Error("ready before anything was read")
	}
	a, err := r.ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking changes nothing
		if !r.Ready() {
			t.Error("not ready with b in the buffer")
		}
	}
	if string(a) != "a" {
		t.Errorf("Ready changed the last line to %q", a)
	}
	if b, err := r.ReadLine(); err != nil || string(b) != "b" {
		t.Fatalf("%q, %v; want b", b, err)
	}
	if r.Ready() {
		t.Error("ready with only blank lines and a part of one in the buffer")
	}
	go out.Write([]byte("ial\n"))
	if line, err := r.ReadLine(); err != nil || string(line) != "partial" {
		t.Errorf("%q, %v; want partial", line, err)
	}
}

func TestReadyFindsTooLong(t *testing.T) {
	r := NewReader(strings.NewReader("a\n" + strings.Repeat("x", MaxLine+1) + "\n"))
	for range 2 {
		_, err := r.ReadLine()
		if err != nil {
			wantCode(t, err, TooLarge)
			return
		}
		r.Ready()
	}
	t.Error("no error")
}
