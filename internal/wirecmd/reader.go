package wirecmd

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/awp-suite/awp/wire"
)

// Bounds of a batch: what one hand-over from reader to owner holds.
const (
	batchLines = 64
	batchBytes = 256 << 10 // one line more may pass it
	keepBytes  = 64 << 10  // a buffer larger than this is let go after use
)

// line is a line of the peer.
type line struct {
	env wire.Envelope
	raw []byte // lives as long as its batch
}

// batch is what was readable at once.
type batch struct {
	lines []line
	next  int             // the first line not judged yet
	bad   *wire.LineError // then input that is no line, if not nil
	ended string          // then the end of the stream and why, if not empty
	buf   []byte
}

// reset empties a batch that was judged. It may then wait for long.
func (b *batch) reset() {
	if cap(b.buf) > keepBytes {
		b.buf = nil
	}
	clear(b.lines)
	*b = batch{lines: b.lines[:0], buf: b.buf[:0]}
}

// reader cuts a connection into batches. Two batches go round: while the owner judges
// one, the other is filled; then the reader waits, and with it the peer.
type reader struct {
	nc    net.Conn
	lines *wire.Reader
	full  chan *batch
	free  chan *batch
	quit  <-chan struct{} // closed when nobody takes batches any more

	began time.Time
	last  atomic.Int64 // when the last bytes came, in nanoseconds from began
}

// lastRead is when the last bytes came, of whole lines or not.
func (r *reader) lastRead() time.Time { return r.began.Add(time.Duration(r.last.Load())) }

// arrivals is the connection as the reader reads it, with a note of the time.
type arrivals reader

func (a *arrivals) Read(b []byte) (int, error) {
	n, err := a.nc.Read(b)
	if n > 0 {
		a.last.Store(int64(time.Since(a.began)))
	}
	return n, err
}

func newReader(nc net.Conn, quit <-chan struct{}) *reader {
	r := &reader{nc: nc, began: time.Now(), full: make(chan *batch), free: make(chan *batch, 2), quit: quit}
	r.lines = wire.NewReader((*arrivals)(r))
	r.free <- new(batch)
	r.free <- new(batch)
	return r
}

// run ends when the stream does or when quit is closed, which the owner follows by
// closing the connection.
func (r *reader) run() {
	for {
		var b *batch
		select {
		case b = <-r.free:
		case <-r.quit:
			return
		}
		r.fill(b)
		bad, ended := b.bad != nil, b.ended != ""
		select {
		case r.full <- b:
		case <-r.quit:
			return
		}
		switch {
		case ended:
			return
		case bad:
			// The peer may be in the middle of writing: unread bytes would turn our
			// close into a reset, which destroys the err that tells it why.
			io.Copy(io.Discard, r.nc) //nolint:errcheck // any end will do
			r.lines = nil
		}
	}
}

// fill reads one line, and then what is there already.
func (r *reader) fill(b *batch) {
	if r.lines == nil {
		b.ended = "closed"
		return
	}
	for len(b.lines) == 0 || len(b.lines) < batchLines && len(b.buf) < batchBytes && r.lines.Ready() {
		raw, err := r.lines.ReadLine()
		if err == nil {
			var env wire.Envelope
			if env, err = wire.ParseEnvelope(raw); err == nil {
				at := len(b.buf)
				b.buf = append(b.buf, raw...)
				b.lines = append(b.lines, line{env, b.buf[at:len(b.buf):len(b.buf)]})
				continue
			}
		}
		if bad, ok := errors.AsType[*wire.LineError](err); ok {
			b.bad = bad
		} else {
			b.ended = endReason(err)
		}
		return
	}
}

// endReason words the end of a stream. The errors of package net are not shown: they
// spell addresses.
func endReason(err error) string {
	switch {
	case err == io.EOF:
		return "closed by the peer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "closed by the peer inside a line"
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return "closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return "connection lost"
}
