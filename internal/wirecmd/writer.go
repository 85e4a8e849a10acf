package wirecmd

import (
	"net"
	"sync"
	"time"

	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/wire"
)

const (
	pieceBytes = 64 << 10 // the most that one write gets, and one write deadline covers
	copyBytes  = 16 << 10 // lines up to this are gathered; longer ones are written as they are
)

// writer writes lines to a peer: control lines ahead of outbox lines, each in its order.
type writer struct {
	nc      net.Conn
	timeout time.Duration          // of a write of pieceBytes
	box     *mailbox               // told of the end
	written func(lines, bytes int) // outbox lines that left, newlines not counted
	trace   func(line []byte)      // nil: no
	wake    chan struct{}
	quit    <-chan struct{}

	mu      sync.Mutex
	control [][]byte
	waiting int // bytes of control
	outbox  [][]byte
	sealed  bool // nothing is taken any more; write control, and end
	half    bool // then tell the peer so
}

func newWriter(nc net.Conn, timeout time.Duration, box *mailbox, quit <-chan struct{}) *writer {
	return &writer{nc: nc, timeout: timeout, box: box, wake: make(chan struct{}, 1), quit: quit}
}

// pushControl queues control lines; false: too many wait. A sealed writer drops them.
func (w *writer) pushControl(lines ...[]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.sealed:
		return true
	case len(w.control)+len(lines) > wire.ControlQueue:
		return false
	}
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	if len(w.control) > 0 && w.waiting+n > wire.ControlBytes {
		return false
	}
	w.waiting += n
	w.control = append(w.control, lines...)
	w.nudge()
	return true
}

// pushOutbox queues outbox lines. The sender's window bounds them.
func (w *writer) pushOutbox(lines [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sealed {
		return
	}
	w.outbox = append(w.outbox, lines...)
	w.nudge()
}

// finish queues a last line, or none, drops what waits of the outbox, and takes nothing
// any more.
func (w *writer) finish(last []byte, half bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sealed {
		return
	}
	if last != nil {
		w.control = append(w.control, last)
	}
	w.outbox, w.sealed, w.half = nil, true, half
	w.nudge()
}

func (w *writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until the last line, a failed write, or quit.
func (w *writer) run() {
	var buf []byte
	for {
		control, outbox, last := w.take()
		if len(control)+len(outbox) == 0 && !last {
			select {
			case <-w.wake:
				continue
			case <-w.quit:
				return
			}
		}
		var err error
		if buf, err = w.write(buf[:0], control, outbox); err != nil {
			w.box.post(link.WriteFailed{Reason: endReason(err)})
			return
		}
		if last {
			w.end()
			return
		}
	}
}

// take returns what to write next: every control line, and a few of the outbox.
func (w *writer) take() (control, outbox [][]byte, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	control, w.control, w.waiting = w.control, nil, 0
	n := min(len(w.outbox), wire.OutboxBatch)
	outbox, w.outbox = w.outbox[:n], w.outbox[n:]
	if len(w.outbox) == 0 {
		w.outbox = nil // or the array would grow for ever
	}
	return control, outbox, w.sealed
}

// write writes lines whole, and reports those of the outbox.
func (w *writer) write(buf []byte, control, outbox [][]byte) ([]byte, error) {
	var err error
	for _, l := range control {
		if buf, err = w.add(buf, l); err != nil {
			return buf, err
		}
	}
	bytes := 0
	if len(outbox) > 0 {
		failpoint.Hit("wire/before-write")
	}
	for _, l := range outbox {
		if buf, err = w.add(buf, l); err != nil {
			return buf, err
		}
		bytes += len(l)
	}
	if err := w.send(buf); err != nil {
		return buf, err
	}
	if len(outbox) > 0 {
		failpoint.Hit("wire/after-write")
		w.written(len(outbox), bytes)
	}
	return buf[:0], nil
}

// add puts a line into buf, writing buf when it is full. A long line is not copied: it
// owns the bytes behind it, so that its newline usually finds room there.
func (w *writer) add(buf, l []byte) ([]byte, error) {
	if w.trace != nil {
		w.trace(l)
	}
	if len(l) <= copyBytes && len(buf)+len(l) < pieceBytes {
		return append(append(buf, l...), '\n'), nil
	}
	if err := w.send(buf); err != nil {
		return buf, err
	}
	if len(l) <= copyBytes {
		return append(append(buf[:0], l...), '\n'), nil
	}
	return buf[:0], w.send(append(l, '\n'))
}

// send writes b in pieces, each under a deadline of its own: a slow peer is not a dead
// one as long as something moves.
func (w *writer) send(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), pieceBytes)]
		w.nc.SetWriteDeadline(time.Now().Add(w.timeout)) //nolint:errcheck // Write says it
		n, err := w.nc.Write(piece)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// end tells the peer, where the transport can, and the owner that all is written.
func (w *writer) end() {
	if hc, ok := w.nc.(interface{ CloseWrite() error }); ok && w.half {
		hc.CloseWrite() //nolint:errcheck // the close that follows will do
	}
	w.box.post(link.Flushed{})
}
