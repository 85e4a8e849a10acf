package ipc

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/awp-suite/awp"
)

// itemMethod names the notifications of a stream.
const itemMethod = "item"

// Method is a call with one answer. P and R are what its parameters and its result look
// like in JSON.
type Method[P, R any] struct{ Name string }

// Stream is a call that sends any number of items before its answer.
type Stream[P, E, R any] struct{ Name string }

// Note is a notification: it has no answer.
type Note[P any] struct{ Name string }

type item struct {
	ID   uint64         `json:"id"`
	Item jsontext.Value `json:"item"`
}

// Call sends a request, with raw lines beside it, and waits for its answer. It gives up
// with ctx; the other side is not told and may still act.
func (m Method[P, R]) Call(ctx context.Context, c *Conn, params P, lines ...[]byte) (R, error) {
	var result R
	err := c.call(ctx, m.Name, params, lines, nil, &result)
	return result, err
}

// Call sends a request and hands each item to fn, on the connection's reading goroutine,
// until the answer is there. An error of fn ends the connection: there is no other way
// to stop a stream.
func (m Stream[P, E, R]) Call(ctx context.Context, c *Conn, params P, fn func(E) error) (R, error) {
	var result R
	err := c.call(ctx, m.Name, params, nil, func(raw jsontext.Value) {
		var e E
		err := json.Unmarshal(raw, &e)
		if err == nil {
			err = fn(e)
		}
		if err != nil {
			c.Fail(err)
		}
	}, &result)
	return result, err
}

// Send sends the notification, with raw lines beside it.
func (m Note[P]) Send(c *Conn, params P, lines ...[]byte) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return c.send(message{Method: m.Name, Params: raw}, lines)
}

func (c *Conn) call(ctx context.Context, method string, params any, lines [][]byte, item func(jsontext.Value), result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	waiting := &call{item: item, answer: make(chan message, 1)}
	c.mu.Lock()
	c.nextID++
	id := c.nextID
	c.calls[id] = waiting
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	if err := c.send(message{ID: id, Method: method, Params: raw}, lines); err != nil {
		return lost(err)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		select {
		case m, ok := <-waiting.answer: // it came just before the end
			if ok {
				return c.finish(m, result)
			}
		default:
		}
		return lost(context.Cause(c.ctx))
	case m, ok := <-waiting.answer:
		if !ok {
			return lost(c.gone())
		}
		return c.finish(m, result)
	}
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
	_, ok := err.(*lostError)
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

func (c *Conn) deliverItem(m message) {
	var it item
	if err := json.Unmarshal(m.Params, &it); err != nil {
		c.Fail(fmt.Errorf("decode item: %w", err))
		return
	}
	c.mu.Lock()
	waiting := c.calls[it.ID]
	c.mu.Unlock()
	if waiting != nil && waiting.item != nil {
		waiting.item(it.Item)
	}
}

// maxStreamed bounds the items that wait to be written: a stream whose reader takes its
// time is held back there, and costs no more memory.
const maxStreamed = 1 << 20

// Item sends one item of the stream that r asked for. It waits while the other side does
// not read, and must therefore not be called on the reading goroutine.
func (r *Request) Item(v any) error {
	if err := r.Conn.drained(maxStreamed); err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	params, err := json.Marshal(item{ID: r.id, Item: raw})
	if err != nil {
		return err
	}
	return r.Conn.send(message{Method: itemMethod, Params: params}, nil)
}
