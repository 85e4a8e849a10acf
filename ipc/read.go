package ipc

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"io"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/ndjson"
)

// Run reads until the connection ends and returns why; io.EOF means that the other side
// closed it. It must be called once.
func (c *Conn) Run() error {
	err := c.read()
	if cause := context.Cause(c.ctx); cause != nil {
		err = cause
	}
	c.Fail(err)
	<-c.done
	return err
}

func (c *Conn) read() error {
	r := ndjson.NewReader(c.nc, MaxLine)
	for first := true; ; first = false {
		line, err := r.ReadLine()
		if err != nil {
			return err
		}
		if it, ok := cutItem(line); ok && !first {
			if c.ctx.Err() != nil { // what the buffer still holds came too late
				return context.Cause(c.ctx)
			}
			c.deliver(it)
			continue
		}
		m, err := decodeMessage(line)
		if err != nil {
			return err
		}
		if first && m.IPC != Version {
			return c.refuseSkew(m)
		}
		lines, err := readLines(r, m.Lines)
		if err != nil {
			return err
		}
		if c.ctx.Err() != nil { // likewise
			return context.Cause(c.ctx)
		}
		if err := c.dispatch(m, lines); err != nil {
			return err
		}
	}
}

func readLines(r *ndjson.Reader, n int) ([][]byte, error) {
	if n == 0 {
		return nil, nil
	}
	lines := make([][]byte, n)
	room := maxRaw
	for i := range lines {
		line, err := r.ReadLine()
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if room -= len(line); room < 0 {
			return nil, fmt.Errorf("decode line: more than %d bytes of raw lines beside it", maxRaw)
		}
		lines[i] = append([]byte(nil), line...)
	}
	return lines, nil
}

func (c *Conn) dispatch(m message, lines [][]byte) error {
	switch {
	case m.Method == itemMethod:
		var it item
		if err := json.Unmarshal(m.Params, &it); err != nil {
			return fmt.Errorf("decode item: %w", err)
		}
		c.deliver(it)
		return nil
	case m.Method != "":
		if c.handler == nil {
			return fmt.Errorf("unexpected call of %s", m.Method)
		}
		c.handler(&Request{Method: m.Method, Lines: lines, Conn: c, params: m.Params, id: m.ID})
		return nil
	}
	c.mu.Lock()
	waiting := c.calls[m.ID]
	delete(c.calls, m.ID)
	c.mu.Unlock()
	if waiting != nil { // else its caller gave up
		waiting.answer <- m
	}
	return nil
}

// refuseSkew tells the other side that it is of another release, and ends the connection.
func (c *Conn) refuseSkew(m message) error {
	skew := &awp.Error{
		Code:    awp.Skew,
		Message: fmt.Sprintf("programs of different releases met (local protocol %d here, %d there)", Version, m.IPC),
		Hint:    "restart the daemon: awp down, then awp up",
	}
	if m.Method != "" && m.ID != 0 {
		c.send(message{ID: m.ID, Error: toRPC(skew)}, nil) //nolint:errcheck // then nobody is there to tell
		c.flush(skew)
	}
	return skew
}
