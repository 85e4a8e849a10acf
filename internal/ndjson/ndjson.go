// Package ndjson reads newline-terminated lines under a bound. Both protocols of the
// suite, between hosts (wire) and inside one (ipc), are lines, and neither may let a
// sender grow the reader's memory. It looks at no byte but the newline: what a line
// says is its caller's business.
package ndjson

import (
	"bytes"
	"errors"
	"io"
)

// Errors of ReadLine. After one of them, or any error of the underlying reader, the
// stream is of no further use.
var (
	// ErrTooLong means that a line passed the bound before its newline came.
	ErrTooLong = errors.New("line too long")
	// ErrTruncated means that the stream ended inside a line; the rest is discarded.
	ErrTruncated = errors.New("stream ended inside a line")
)

const firstBuffer = 4096

// keepBuffer is the largest buffer that outlives the lines it was needed for, in bytes.
const keepBuffer = 64 << 10

// Reader reads lines. It is not safe for concurrent use.
type Reader struct {
	r          io.Reader
	max        int
	buf        []byte
	start, end int // unread bytes are buf[start:end]
	scanned    int // bytes of them known to hold no newline
}

// NewReader returns a Reader of lines of at most max bytes, the newline not counted.
// Its buffer grows with a long line, up to twice max, and is let go once it is empty: one
// long line does not cost its memory for as long as the stream is idle.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: r, max: max, buf: make([]byte, min(firstBuffer, max+1))}
}

// ReadLine returns the next line without its newline. The slice is valid until the next
// call. At the end of the stream the error is io.EOF. The bound holds while reading: a
// line that passes it fails at once, whether or not its newline ever comes.
func (r *Reader) ReadLine() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.scanned:r.end], '\n'); i >= 0 {
			n := r.scanned + i
			if n > r.max {
				return nil, ErrTooLong
			}
			line := r.buf[r.start : r.start+n]
			r.start += n + 1
			r.scanned = 0
			return line, nil
		}
		r.scanned = r.end - r.start
		if r.scanned > r.max {
			return nil, ErrTooLong
		}
		r.makeRoom()
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		if n == 0 && err != nil {
			if err == io.EOF && r.end > r.start {
				return nil, ErrTruncated
			}
			return nil, err
		}
	}
}

// Ready reports whether ReadLine would return without reading from the stream.
func (r *Reader) Ready() bool {
	unread := r.buf[r.start:r.end]
	return bytes.IndexByte(unread[min(r.scanned, len(unread)):], '\n') >= 0
}

// makeRoom leaves at least one free byte behind the unread ones.
func (r *Reader) makeRoom() {
	if r.start == r.end {
		r.start, r.end = 0, 0
		if len(r.buf) > keepBuffer {
			letGo(r.buf)
			r.buf = make([]byte, firstBuffer)
		}
	}
	if r.end < len(r.buf) {
		return
	}
	if r.start > 0 && r.end-r.start <= len(r.buf)/2 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
		return
	}
	grown := buffer(min(2*len(r.buf), 2*(r.max+1)))
	r.end = copy(grown, r.buf[r.start:r.end])
	letGo(r.buf)
	r.start, r.buf = 0, grown
}
