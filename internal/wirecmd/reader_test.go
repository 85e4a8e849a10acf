package wirecmd

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/awp-suite/awp/wire"
)

// batches returns the lines of text as a reader hands them over, and how it ends.
func batches(t *testing.T, text string) (all []string, end string, bad *wire.LineError) {
	t.Helper()
	r := newReader(nil, nil)
	r.lines = wire.NewReader(strings.NewReader(text))
	b := new(batch)
	for b.ended == "" && b.bad == nil {
		b.reset()
		r.fill(b)
		if len(b.lines) > batchLines || len(b.buf) > batchBytes+wire.MaxLine {
			t.Fatalf("batch of %d lines, %d bytes", len(b.lines), len(b.buf))
		}
		for _, l := range b.lines {
			all = append(all, string(l.raw))
		}
	}
	return all, b.ended, b.bad
}

func TestReaderKeepsBytes(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 500 {
		l := fmt.Sprintf(` {"t":"x","n":%d, "pad":"%s"}`+"\r", i, strings.Repeat("é", i*i%5000))
		want = append(want, l)
		text.WriteString(l + "\n\n")
	}
	got, end, _ := batches(t, text.String())
	if len(got) != len(want) || end != "closed by the peer" {
		t.Fatalf("%d lines, %q", len(got), end)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("line %d is %.60q, want %.60q", i, got[i], want[i])
		}
	}
}

func TestReaderStopsAtWhatIsNoLine(t *testing.T) {
	got, _, bad := batches(t, `{"t":"a"}`+"\n"+`nonsense`+"\n"+`{"t":"b"}`+"\n")
	if len(got) != 1 || bad == nil || bad.Code != wire.BadFrame {
		t.Errorf("%q, %v", got, bad)
	}
	if got, end, _ := batches(t, `{"t":"a"}`+"\n"+`{"t":"b"}`); len(got) != 1 || end != "closed by the peer inside a line" {
		t.Errorf("%q, %q", got, end)
	}
}

func TestBatchLetsALargeBufferGo(t *testing.T) {
	b := &batch{buf: make([]byte, 10, keepBytes)}
	if b.reset(); cap(b.buf) == 0 {
		t.Error("a small buffer is not kept")
	}
	b.buf = make([]byte, 3*keepBytes, 4*keepBytes)
	if b.reset(); cap(b.buf) != 0 {
		t.Error("kept after large use")
	}
}

// No reason shows an address, whatever the error says.
func TestEndReason(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 9}
	for want, err := range map[string]error{
		"closed by the peer":               io.EOF,
		"closed by the peer inside a line": io.ErrUnexpectedEOF,
		"closed":                           &net.OpError{Op: "read", Addr: addr, Err: net.ErrClosed},
		"timed out":                        &net.OpError{Op: "write", Addr: addr, Err: os.ErrDeadlineExceeded},
		syscall.ECONNRESET.Error():         &net.OpError{Op: "read", Addr: addr, Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"connection lost":                  &net.OpError{Op: "read", Addr: addr, Err: fmt.Errorf("odd, at 10.1.2.3")},
	} {
		if got := endReason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
