package supervise

import (
	"bytes"
	"io"
	"os"
	"strings"
	"time"
)

// What is kept of a program's output, to say why it ended.
const (
	keptLines = 10
	maxKept   = 1 << 10 // bytes of one of them
)

// maxChunk bounds what of a line waits for its end, in bytes; longer lines are passed on
// in pieces.
const maxChunk = 64 << 10

// drain is how long the output of a program that ended may still come in. Only something
// that the program started and left can hold it up.
const drain = 500 * time.Millisecond

// output passes the output of one run of a program on, in whole lines, so that those of
// two programs do not mix. A goroutine owns it until finish.
type output struct {
	r, w *os.File
	to   io.Writer
	last []string
	done chan struct{}
}

func newOutput(to io.Writer) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{r: r, w: w, to: to, done: make(chan struct{})}
	go o.copy()
	return o, nil
}

// finish waits for the rest of the output and returns the last lines. The program has
// ended, and w is closed.
func (o *output) finish() []string {
	o.r.SetReadDeadline(time.Now().Add(drain)) //nolint:errcheck // a pipe has deadlines
	<-o.done
	o.r.Close()
	return o.last
}

func (o *output) copy() {
	defer close(o.done)
	buf := make([]byte, maxChunk)
	n := 0 // bytes of buf that wait for the end of their line
	for {
		m, err := o.r.Read(buf[n:])
		n += m
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if end == 0 && n == len(buf) {
			end = n
		}
		o.pass(buf[:end])
		n = copy(buf, buf[end:n])
		if err != nil {
			if n > 0 {
				o.pass(append(buf[:n], '\n'))
			}
			return
		}
	}
}

// pass writes lines on. That the log cannot be written must not stop the program.
func (o *output) pass(lines []byte) {
	if len(lines) == 0 {
		return
	}
	o.to.Write(lines) //nolint:errcheck // see above
	for line := range strings.Lines(string(lines)) {
		line = strings.TrimRight(line, "\r\n")
		o.last = append(o.last, strings.ToValidUTF8(line[:min(len(line), maxKept)], ""))
	}
	o.last = o.last[max(0, len(o.last)-keptLines):]
}
