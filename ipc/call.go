package ipc

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/awp-suite/awp"
)

// Method is a call with one answer. P and R are what its parameters and its result look
// like in JSON.
type Method[P, R any] struct{ Name string }

// Stream is a call that sends any number of items before its answer.
type Stream[P, E, R any] struct{ Name string }

// Note is a notification: it has no answer.
type Note[P any] struct{ Name string }

// Call sends a request, with raw lines beside it, and waits for its answer. It gives up
// with ctx; the other side is not told and may still act.
func (m Method[P, R]) Call(ctx context.Context, c *Conn, params P, lines ...[]byte) (R, error) {
	var result R
	err := c.call(ctx, m.Name, params, lines, nil, &result)
	return result, err
}

// Call sends a request and hands each item to fn, on the connection's reading goroutine,
// until the answer is there. It returns after fn has, and fn does not run again. An error
// of fn ends the connection, since there is no other way to stop a stream, and is
// returned as it is.
func (m Stream[P, E, R]) Call(ctx context.Context, c *Conn, params P, fn func(E) error) (R, error) {
	var result R
	var stopped error
	err := c.call(ctx, m.Name, params, nil, func(raw jsontext.Value) {
		var e E
		if stopped = json.Unmarshal(raw, &e); stopped == nil {
			stopped = fn(e)
		}
		if stopped != nil {
			c.Fail(stopped)
		}
	}, &result)
	if stopped != nil {
		err = stopped
	}
	return result, err
}

// Send queues the notification, with raw lines beside it. After an error the connection
// has ended.
func (m Note[P]) Send(c *Conn, params P, lines ...[]byte) error {
	raw, err := encode(params)
	if err != nil {
		err = fmt.Errorf("%s: %w", m.Name, err)
		c.Fail(err)
		return err
	}
	return c.sendNote(message{Method: m.Name, Params: raw}, lines)
}

func (c *Conn) call(ctx context.Context, method string, params any, lines [][]byte, item func(jsontext.Value), result any) error {
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	waiting := &call{item: item, answer: make(chan message, 1)}
	c.mu.Lock()
	c.nextID++
	id := c.nextID
	c.calls[id] = waiting
	c.mu.Unlock()
	defer c.leave(id, waiting)
	if err := c.send(message{ID: id, Method: method, Params: raw}, lines); err != nil {
		return lost(err)
	}
	var answer message
	var answered bool
	select {
	case answer, answered = <-waiting.answer:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	if !answered {
		select {
		case answer, answered = <-waiting.answer: // it came just before the end
		default:
		}
	}
	switch {
	case answered:
		return c.finish(answer, result)
	case ctx.Err() != nil: // also when the connection ended with it: the caller knows why
		return context.Cause(ctx)
	}
	return lost(context.Cause(c.ctx))
}

// leave forgets a call. Once it returns, no item is handed over any more.
func (c *Conn) leave(id uint64, waiting *call) {
	c.mu.Lock()
	delete(c.calls, id)
	c.mu.Unlock()
	waiting.mu.Lock()
	waiting.item = nil
	waiting.mu.Unlock()
}

func (c *Conn) finish(m message, result any) error {
	if m.Error != nil {
		return m.Error.toAWP()
	}
	if len(m.Result) == 0 {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// Lost reports whether err means that the connection ended before the answer came: the
// other side may or may not have acted. A call that carries a token may be repeated.
func Lost(err error) bool {
	_, ok := errors.AsType[*lostError](err)
	return ok
}

type lostError struct{ cause error }

func (e *lostError) Error() string { return "connection ended before the answer: " + e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func lost(cause error) error {
	if awp.CodeOf(cause) != awp.Internal { // skew, say: asking again does not help
		return cause
	}
	return &lostError{cause}
}
