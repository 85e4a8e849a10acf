package conformance

import (
	"fmt"
	"strings"

	"github.com/awp-suite/awp/wire"
)

const env = `"id":"01K6B0Z3M0000000000000000A","ts":"2026-09-29T17:00:00.000Z"`

// strangers are lines out of place before auth (section 7.1).
func strangers() []Scenario {
	var list []Scenario
	for _, s := range []struct{ name, line string }{
		{"garbage", "GET / HTTP/1.1"}, {"array", "[]"}, {"msg", `{"t":"msg",` + env + `,"th":"a","parts":[]}`},
		{"auth", `{"t":"auth",` + env + `,"sig":"AA"}`}, {"resume", `{"t":"resume",` + env + `,"seen":{}}`},
		{"unknown", `{"t":"conformance-future",` + env + `}`},
	} {
		list = append(list, Scenario{Name: s.name + "-before-hello", Section: "7.1", Doc: s.name + " as the first line: err bad_frame, close", run: func(t *trial) {
			c := t.dial()
			c.readHello()
			c.line(s.line)
			c.refused(wire.BadFrame)
		}})
	}
	for _, s := range []struct{ name, line string }{
		{"msg", `{"t":"msg",` + env + `,"th":"a","parts":[]}`}, {"state", `{"t":"state",` + env + `,"th":"a","state":"done"}`},
		{"ack", `{"t":"ack",` + env + `,"th":"a","re":"b"}`}, {"chunk", `{"t":"chunk",` + env + `,"ref":"r","n":0,"last":true,"data":""}`},
		{"resume", `{"t":"resume",` + env + `,"seen":{}}`}, {"grant", `{"t":"grant",` + env + `,"grant":{}}`},
		{"introduce", `{"t":"introduce",` + env + `,"peer":{"key":"x"}}`}, {"second-hello", `{"t":"hello",` + env + `,"v":0,"key":"x","nonce":"AA"}`},
	} {
		list = append(list, Scenario{Name: s.name + "-before-auth", Section: "7.1", Doc: s.name + " instead of auth: err auth, close", run: func(t *trial) {
			c := t.dial()
			c.readHello()
			c.send(t.hello())
			c.want(wire.TypeAuth, "auth", nil)
			c.line(s.line)
			c.refused(wire.AuthFailed)
		}})
	}
	list = append(list, Scenario{Name: "err-in-handshake", Section: "7.1", Doc: "an err ends the handshake", run: func(t *trial) {
		c := t.dial()
		c.readHello()
		c.send(wire.NewErr(t.r.ids.Next(), t.env("").TS, "", wire.Internal, "no", ""))
		c.ended()
	}}, Scenario{Name: "too-large-before-hello", Section: "3", Doc: "a first line over 1 MiB: err too_large (or bad_frame), close", run: func(t *trial) {
		c := t.dial()
		c.readHello()
		c.raw(`{"t":"hello","pad":"` + strings.Repeat("x", wire.MaxLine+1) + "\"}\n")
		c.ending("too_large", "bad_frame")
	}})
	return solo(list)
}

// badLines are lines that no live link takes (sections 3 and 10).
func badLines() []Scenario {
	var list []Scenario
	for _, s := range []struct{ name, section, line string }{
		{"bad-frame", "3", "this is no JSON"}, {"array", "3", `["t","msg"]`}, {"string", "3", `"ping"`}, {"number", "3", "1"}, {"null", "3", "null"},
		{"cut-json", "3", `{"t":"ping",` + env}, {"two-values", "3", `{"t":"ping",` + env + `}{}`}, {"bad-utf8", "3", `{"t":"ping",` + env + ",\"x\":\"\xff\"}"},
		{"no-type", "3", `{` + env + `}`}, {"empty-type", "3", `{"t":"",` + env + `}`}, {"type-not-string", "3", `{"t":1,` + env + `}`},
		{"msg-no-id", "10", `{"t":"msg","ts":"2026-09-29T17:00:00.000Z","th":"a","parts":[]}`}, {"msg-no-thread", "10", `{"t":"msg",` + env + `,"parts":[]}`},
		{"msg-bad-parts", "10", `{"t":"msg",` + env + `,"th":"a","parts":"text"}`}, {"msg-bad-thread", "10", `{"t":"msg",` + env + `,"th":7,"parts":[]}`},
		{"state-no-state", "10", `{"t":"state",` + env + `,"th":"a"}`}, {"state-no-thread", "10", `{"t":"state",` + env + `,"state":"done"}`},
		{"state-no-id", "10", `{"t":"state","th":"a","state":"done"}`},
		{"chunk-no-ref", "10", `{"t":"chunk",` + env + `,"th":"a","n":0,"last":true,"data":""}`}, {"chunk-no-id", "10", `{"t":"chunk","th":"a","ref":"r","n":0,"data":""}`},
		{"mirror-no-of", "10, 15", `{"t":"mirror",` + env + `,"th":"a","withdraw":true}`}, {"mirror-no-thread", "10", `{"t":"mirror",` + env + `,"of":"x"}`},
		{"private-no-thread", "10", `{"t":"private",` + env + `}`}, {"grant-bad", "10", `{"t":"grant","id":{},"grant":1}`}, {"introduce-bad", "10", `{"t":"introduce",` + env + `,"peer":"x"}`}, {"err-bad", "10", `{"t":"err",` + env + `,"code":{}}`},
	} {
		list = append(list, Scenario{Name: s.name, Section: s.section, Doc: "a malformed line: err bad_frame, close", Cap: capOf(s.name), run: func(t *trial) {
			c := t.open()
			c.line(s.line)
			c.refused(wire.BadFrame)
		}})
	}
	list = append(list, Scenario{Name: "resume-bad", Section: "10", Doc: "a malformed resume: err bad_frame, close", run: func(t *trial) {
		c := t.dial()
		c.greet()
		c.line(`{"t":"resume",` + env + `,"seen":[1]}`)
		c.want(wire.TypeErr, "err bad_frame", func(o map[string]any) bool { return o["code"] == string(wire.BadFrame) })
		c.ending()
	}}, Scenario{Name: "too-large", Section: "3", Doc: "a line over 1 MiB: err too_large, close", run: func(t *trial) {
		c := t.open()
		c.raw(fmt.Sprintf(`{"t":"msg",%s,"th":"a","parts":[{"k":"text","text":"%s"}]}`+"\n", env, strings.Repeat("x", wire.MaxLine)))
		c.ending("too_large")
	}}, Scenario{Name: "too-large-unended", Section: "3", Doc: "more than 1 MiB without a newline: closed while reading", run: func(t *trial) {
		c := t.open()
		c.raw(strings.Repeat("x", wire.MaxLine+2))
		c.ending("too_large")
	}}, Scenario{Name: "cut-line", Section: "3", Doc: "a last line without newline is no line: it is neither acked nor seen", run: func(t *trial) {
		c := t.open()
		m := t.msg(t.thread(), "cut")
		raw, _ := wire.Encode(m)
		c.raw(string(raw))
		c, seen := c.again()
		_, there := seen[m.Th]
		t.check(!there, "a resume without the thread of the cut line", clip(c.theirResume))
	}})
	return solo(list)
}

// capOf returns what a peer must offer before its judgement of a type of line counts.
func capOf(name string) string {
	switch word, _, _ := strings.Cut(name, "-"); word {
	case wire.TypeMirror, wire.TypePrivate:
		return wire.CapMirror
	case wire.TypeGrant:
		return wire.CapGrant
	case wire.TypeIntroduce:
		return wire.CapIntroduce
	}
	return ""
}

// ending waits for the end. An err before it must have one of the codes; since the peer
// may close with lines unread, it may be lost.
func (c *conn) ending(codes ...string) {
	t := c.trial()
	for {
		line, ok := c.next(t.r.o.Step)
		if !ok {
			t.fail("the end of the connection", "nothing")
		}
		if line == nil {
			t.ok("the end of the connection")
			return
		}
		o := object(line)
		good := o["t"] != wire.TypeErr && o["t"] != wire.TypeAck
		for _, code := range codes {
			good = good || o["code"] == code
		}
		if !good {
			t.fail("err "+strings.Join(codes, " or ")+" and the end", clip(line))
		}
	}
}

// closers are err lines of ours.
func closers() []Scenario {
	var list []Scenario
	for _, code := range []wire.Code{wire.BadFrame, wire.BadVersion, wire.AuthFailed, wire.TooLarge} {
		list = append(list, Scenario{Name: "err-" + strings.ReplaceAll(string(code), "_", "-") + "-closes", Section: "10", Doc: "the receiver of err " + string(code) + " closes", Solo: true, run: func(t *trial) {
			c := t.open()
			c.send(wire.NewErr(t.r.ids.Next(), t.env("").TS, "", code, "conformance", ""))
			c.ended()
		}})
	}
	return list
}
