package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/awp-suite/awp/internal/ndjson"
)

// Reader cuts a link's stream into lines (section 3). It is not safe for concurrent use.
type Reader struct {
	lines *ndjson.Reader
	next  []byte // found by Ready, not yet returned
	err   error  // found by Ready, not yet returned
}

// NewReader returns a Reader of r. Its memory is bounded by about twice [MaxLine].
func NewReader(r io.Reader) *Reader {
	return &Reader{lines: ndjson.NewReader(r, MaxLine)}
}

// ReadLine returns the next line that is not blank, without its newline; a carriage
// return before that belongs to the line. The slice is valid until the next call.
//
// A line over [MaxLine] is a *[LineError] with code [TooLarge], raised as soon as the
// bound is passed. A stream that ends between lines is io.EOF, one that ends inside a
// line is io.ErrUnexpectedEOF (wrapped): the rest is lost like the link. Other errors are
// the stream's own. After any error the Reader is of no further use.
func (r *Reader) ReadLine() ([]byte, error) {
	if r.next != nil || r.err != nil {
		line, err := r.next, r.err
		r.next, r.err = nil, nil
		return line, err
	}
	for {
		line, err := r.lines.ReadLine()
		if err != nil {
			return nil, readError(err)
		}
		if !blank(line) {
			return line, nil
		}
	}
}

// Ready reports whether ReadLine would return without reading from the stream. The line
// returned last stays valid.
func (r *Reader) Ready() bool {
	for r.next == nil && r.err == nil && r.lines.Ready() {
		line, err := r.lines.ReadLine()
		switch {
		case err != nil:
			r.err = readError(err)
		case !blank(line):
			r.next = line
		}
	}
	return r.next != nil || r.err != nil
}

func blank(line []byte) bool { return len(bytes.TrimLeft(line, " \t\r")) == 0 }

func readError(err error) error {
	switch {
	case errors.Is(err, ndjson.ErrTooLong):
		return refuse(TooLarge, fmt.Sprintf("read line: over %d bytes", MaxLine))
	case errors.Is(err, ndjson.ErrTruncated):
		return fmt.Errorf("read line: %w", io.ErrUnexpectedEOF)
	}
	return err
}
