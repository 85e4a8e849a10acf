package ipc

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"

	"github.com/awp-suite/awp"
)

// Handler answers a request or takes a notification. It runs on the connection's reading
// goroutine: while it runs, nothing further is read, so order is kept and a sender is
// held back. It must not wait for an answer on the same connection.
type Handler func(*Request)

// Request is a call or a notification from the other side.
type Request struct {
	Method string
	Lines  [][]byte // raw lines that came along; the handler may keep them
	Conn   *Conn

	params jsontext.Value
	id     uint64 // 0 for a notification
}

// Decode reads the request's parameters into p. Its error tells the caller what is off.
func (r *Request) Decode(p any) error {
	if len(r.params) == 0 {
		return nil
	}
	err := json.Unmarshal(r.params, p)
	if err == nil {
		return nil
	}
	sentence := r.Method + ": bad parameters"
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		// The package's own words name Go types, and vary from run to run.
		if wrong.JSONPointer != "" {
			sentence += ": wrong value at " + string(wrong.JSONPointer)
		}
		err = wrong.Err
	}
	if err != nil {
		sentence += ": " + err.Error()
	}
	return &awp.Error{Code: awp.Invalid, Message: sentence}
}

// Reply answers the request, once. For a notification it does nothing.
func (r *Request) Reply(result any) {
	if r.id == 0 {
		return
	}
	raw, err := encode(result)
	if err == nil {
		err = r.Conn.send(message{ID: r.id, Result: raw}, nil)
	}
	if awp.CodeOf(err) == awp.TooLarge || (err != nil && raw == nil) {
		r.Fail(err)
	}
}

// Fail answers the request with an error. For a notification it does nothing.
func (r *Request) Fail(err error) {
	if r.id != 0 {
		r.Conn.send(message{ID: r.id, Error: toRPC(err)}, nil) //nolint:errcheck // nobody left to tell
	}
}

// Take makes h the handler of all that the connection reads from now on. Only a handler
// that runs inline may call it.
func (r *Request) Take(h Handler) { r.Conn.handler = h }

// maxStreamed bounds the items that wait to be written: a stream whose reader takes its
// time is held back there, and costs no more memory.
const maxStreamed = 1 << 20

// Item sends one item of the stream that r asked for. It waits while the other side does
// not read, and must therefore not be called on the reading goroutine.
func (r *Request) Item(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.Conn.sendHeld(message{Method: itemMethod, Params: itemParams(r.id, raw)}, maxStreamed)
}

// run runs fn on a goroutine that the connection owns, once a slot is free.
func (r *Request) run(fn func(context.Context)) {
	c := r.Conn
	select {
	case c.running <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.tasks.Go(func() {
		defer func() { <-c.running }()
		fn(c.ctx)
	})
}
