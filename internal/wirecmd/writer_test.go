package wirecmd

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp/internal/link"
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
	if events, _ := w.box.take(); len(events) != 1 || events[0] != (link.Flushed{}) {
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
	if events, _ := w.box.take(); len(events) != 1 || events[0] != (link.WriteFailed{Reason: "broken pipe"}) {
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

// Control lines are bounded by their bytes, too; one always fits.
func TestControlBytesAreBounded(t *testing.T) {
	_, w, _ := newRecorded(0)
	long := make([]byte, 900<<10)
	if !w.pushControl(long, long) || w.pushControl(long) {
		t.Error("the bound of control bytes does not hold")
	}
	w.take()
	if !w.pushControl(make([]byte, wire.ControlBytes+1)) {
		t.Error("one line does not fit an empty queue")
	}
}
