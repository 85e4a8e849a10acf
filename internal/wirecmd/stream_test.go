package wirecmd

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// recorder is a connection that keeps each write, and fails after some.
type recorder struct {
	net.Conn
	writes [][]byte
	fail   int // fail the write of this number, from 1; 0: never
	halved bool
}

func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
func (r *recorder) CloseWrite() error                { r.halved = true; return nil }
func (r *recorder) Write(b []byte) (int, error) {
	r.writes = append(r.writes, append([]byte(nil), b...))
	if len(r.writes) == r.fail {
		return 0, &net.OpError{Op: "write", Err: syscall.EPIPE}
	}
	return len(b), nil
}

func (r *recorder) text() string {
	var s strings.Builder
	for _, w := range r.writes {
		s.Write(w)
	}
	return s.String()
}

func newRecorded(fail int) (*recorder, *writer, *int) {
	rec, lines := &recorder{fail: fail}, new(int)
	w := newWriter(rec, time.Second, newMailbox(), nil)
	w.written = func(n, _ int) { *lines += n }
	return rec, w, lines
}

func lines(texts ...string) [][]byte {
	raw := make([][]byte, len(texts))
	for i, t := range texts {
		raw[i] = []byte(t)
	}
	return raw
}

func TestWriterGathersAndSplits(t *testing.T) {
	rec, w, written := newRecorded(0)
	long := strings.Repeat("x", 2*pieceBytes+5)
	w.pushOutbox(lines("a", "b", long, "c"))
	w.pushControl(lines("first")...)
	control, outbox, _ := w.take()
	if _, err := w.write(nil, control, outbox); err != nil {
		t.Fatal(err)
	}
	if got, want := rec.text(), "first\na\nb\n"+long+"\nc\n"; got != want {
		t.Errorf("%d bytes written, want %d: %.20q", len(got), len(want), got)
	}
	if len(rec.writes) != 5 || string(rec.writes[0]) != "first\na\nb\n" || string(rec.writes[4]) != "c\n" {
		t.Errorf("%d writes", len(rec.writes))
	}
	for _, piece := range rec.writes {
		if len(piece) > pieceBytes {
			t.Errorf("a write of %d bytes under one deadline", len(piece))
		}
	}
	if *written != 4 {
		t.Errorf("%d lines reported, want 4", *written)
	}
}

func TestWriterEnds(t *testing.T) {
	rec, w, written := newRecorded(0)
	w.pushControl(lines("ack")...)
	w.pushOutbox(lines("dropped"))
	w.finish([]byte("bye"), true)
	w.finish([]byte("again"), true)
	w.pushControl(lines("late")...)
	w.pushOutbox(lines("late"))
	w.run()
	if got := rec.text(); got != "ack\nbye\n" || !rec.halved || *written != 0 {
		t.Errorf("wrote %q, half-closed %v, reported %d", got, rec.halved, *written)
	}
	if events, _, _ := w.box.take(); len(events) != 1 || events[0] != (link.Flushed{}) {
		t.Errorf("posted %v", events)
	}
}

func TestWriterFails(t *testing.T) {
	rec, w, written := newRecorded(2)
	w.pushOutbox(lines(strings.Repeat("x", pieceBytes), "b"))
	w.run()
	if len(rec.writes) != 2 || *written != 0 {
		t.Errorf("%d writes, %d lines reported", len(rec.writes), *written)
	}
	if events, _, _ := w.box.take(); len(events) != 1 || events[0] != (link.WriteFailed{Reason: "broken pipe"}) {
		t.Errorf("posted %v", events)
	}
}

func TestWriterTakesTurns(t *testing.T) {
	_, w, _ := newRecorded(0)
	for i := range 3 * wire.OutboxBatch {
		w.pushOutbox(lines(fmt.Sprint(i)))
	}
	for i := range 3 {
		control, outbox, last := w.take()
		if len(control) != 0 || len(outbox) != wire.OutboxBatch || string(outbox[0]) != fmt.Sprint(i*wire.OutboxBatch) || last {
			t.Errorf("turn %d: %d control, %d outbox", i, len(control), len(outbox))
		}
	}
	if w.outbox != nil {
		t.Error("an empty outbox keeps its array")
	}
	if !w.pushControl(make([][]byte, wire.ControlQueue)...) || w.pushControl(nil) {
		t.Error("the bound of control lines does not hold")
	}
}

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
	b := &batch{buf: make([]byte, 10, 4*keepBytes)}
	if b.reset(); cap(b.buf) != 0 {
		t.Error("kept after small use")
	}
	b.buf = make([]byte, 3*keepBytes, 4*keepBytes)
	if b.reset(); cap(b.buf) == 0 {
		t.Error("let go after large use")
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

func TestBudget(t *testing.T) {
	b := budget{free: 100}
	one, two := newMailbox(), newMailbox()
	if !b.take(60, one) || b.take(60, two) || b.take(60, two) || !b.take(40, one) {
		t.Fatal("wrong arithmetic")
	}
	select {
	case <-two.wake:
		t.Fatal("woken without room")
	default:
	}
	b.give(60)
	<-two.wake
	if !b.take(60, two) || b.free != 0 {
		t.Errorf("%d left", b.free)
	}
}

// A listener that cannot be had is reported and tried again; the others are not waited
// for.
func TestListenerComesLater(t *testing.T) {
	dir, err := os.MkdirTemp("", "awp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sub := filepath.Join(dir, "sub")
	inBubble(t, config.Settings{Listen: []string{"unix:" + sub + "/p.sock"}}, func(w *world) {
		ended := make(chan struct{})
		defer func() { <-ended }()
		go func() { w.d.listen(w.ctx); close(ended) }()
		time.Sleep(wire.ListenRetryMin - time.Second)
		c := w.store.calls(ipc.LinkListening.Name)
		if last := c[len(c)-1].params; !strings.Contains(last, "does not exist") || w.d.advertised() != "" {
			t.Errorf("reported %s, advertised %q", last, w.d.advertised())
		}
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		// The listener waits in the kernel now, which a bubble cannot see.
		for w.d.advertised() == "" {
			runtime.Gosched()
		}
		w.stop()
	})
}

func TestAdvertised(t *testing.T) {
	for _, tt := range []struct {
		set    string
		places []place
		want   string
	}{
		{"", nil, ""},
		{"", []place{{addr: "tcp:0.0.0.0:7", bound: true, wildcard: true}, {addr: "unix:/a"}, {addr: "unix:/b", bound: true}}, "unix:/b"},
		{config.None, []place{{addr: "unix:/b", bound: true}}, ""},
		{"tcp:me:7", []place{{addr: "unix:/b", bound: true}}, "tcp:me:7"},
	} {
		d := newDaemon(Config{Settings: config.Settings{Advertise: tt.set}})
		d.board.places = tt.places
		if got := d.advertised(); got != tt.want {
			t.Errorf("%q with %v: %q, want %q", tt.set, tt.places, got, tt.want)
		}
	}
}
