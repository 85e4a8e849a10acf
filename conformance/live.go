package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// short is how long nothing must come where nothing is due.
const short = time.Second

// survives says a line that must be ignored: no err, and the link lives.
func survives(name, section, doc string, line func(t *trial) string) Scenario {
	return Scenario{Name: name, Section: section, Doc: doc, run: func(t *trial) {
		c := t.open()
		c.line(line(t))
		c.alive()
	}}
}

func fixed(line string) func(*trial) string { return func(*trial) string { return line } }

// lines are about what a live link answers or ignores.
func lines() []Scenario {
	list := []Scenario{
		{Name: "ping", Section: "10", Doc: "pong with re of the ping", run: func(t *trial) { t.open().alive() }},
		{Name: "pings", Section: "10", Doc: "each of 100 pings has its pong, in order", run: func(t *trial) {
			c := t.open()
			var all []wire.Ping
			var text strings.Builder
			for range 100 {
				p := wire.Ping{Envelope: t.env(wire.TypePing)}
				raw, _ := wire.Encode(p)
				all = append(all, p)
				text.Write(raw)
				text.WriteByte('\n')
			}
			c.raw(text.String())
			for _, p := range all {
				line := c.want(wire.TypePong, "a pong", nil)
				t.check(object(line)["re"] == string(p.ID), "pongs in the order of the pings", clip(line))
			}
		}},
		{Name: "unknown-type", Section: "3", Doc: "an unknown type is ignored; err unsupported is allowed", run: func(t *trial) {
			c := t.open()
			c.line(`{"t":"conformance-future",` + env + `,"payload":{"a":[1]}}`)
			ping := wire.Ping{Envelope: t.env(wire.TypePing)}
			c.send(ping)
			for {
				line, ok := c.next(t.r.o.Step)
				o := object(line)
				t.check(ok && line != nil && (o["t"] != wire.TypeErr || o["code"] == string(wire.Unsupported)), "a pong, after at most err unsupported", clip(line))
				if o["t"] == wire.TypePong && o["re"] == string(ping.ID) {
					return
				}
			}
		}},
		survives("blank-lines", "3", "blank lines are passed over [rec]", fixed("\n\r\n  ")),
		survives("ack-unknown", "8", "an ack of an unknown id is ignored", fixed(`{"t":"ack",`+env+`,"th":"a","re":"nothing"}`)),
		survives("ack-no-re", "8", "an ack without re is ignored", fixed(`{"t":"ack",`+env+`,"th":"a"}`)),
		survives("pong-unasked", "10", "a pong that nobody asked for is ignored", fixed(`{"t":"pong",`+env+`,"re":"x"}`)),
		survives("presence-malformed", "14", "a presence document that does not hold is dropped silently", fixed(`{"t":"presence",`+env+`,"doc":{"origin":"x"},"hops":0}`)),
		{Name: "slow-bytes", Section: "3", Doc: "a line that comes byte by byte is one line", run: func(t *trial) {
			c := t.open()
			ping := wire.Ping{Envelope: t.env(wire.TypePing)}
			raw, _ := wire.Encode(ping)
			for _, b := range append(raw, '\n') {
				c.nc.Write([]byte{b}) //nolint:errcheck // the answer tells
			}
			c.want(wire.TypePong, "a pong", func(o map[string]any) bool { return o["re"] == string(ping.ID) })
		}},
		{Name: "ids-increase", Section: "4", Doc: "the peer's ids increase in the order it sends", run: func(t *trial) {
			c := t.open()
			last := ""
			for range 20 {
				ping := wire.Ping{Envelope: t.env(wire.TypePing)}
				c.send(ping)
				line := c.want(wire.TypePong, "a pong", func(o map[string]any) bool { return o["re"] == string(ping.ID) })
				id, _ := object(line)["id"].(string)
				t.check(id > last, "an id greater than the one before", clip(line))
				last = id
			}
		}},
	}
	for _, code := range []wire.Code{wire.Unsupported, wire.Forbidden, wire.BlobRefused, wire.Internal, "conformance_future"} {
		name := "err-nonclosing"
		if code != wire.Unsupported {
			name = "err-" + strings.ReplaceAll(string(code), "_", "-") + "-stays"
		}
		list = append(list, Scenario{Name: name, Section: "10", Doc: "err " + string(code) + " does not close", run: func(t *trial) {
			c := t.open()
			c.send(wire.NewErr(t.r.ids.Next(), t.env("").TS, "nothing", code, "conformance", "no-such-ref"))
			c.alive()
		}})
	}
	return list
}

// delivered sends a message in the raw form that spell makes of it, and wants its ack.
func delivered(name, section, doc string, spell func(th, id string) string) Scenario {
	return Scenario{Name: name, Section: section, Doc: doc, run: func(t *trial) {
		c := t.open()
		th, id := t.thread(), t.r.ids.Next()
		c.line(spell(string(th), string(id)))
		c.acked(id, th)
	}}
}

const stamp = `"ts":"2026-09-29T17:00:00.000Z"`

func rawMsg(th, id, more, parts string) string {
	return fmt.Sprintf(`{"t":"msg","id":%q,%s,"th":%q%s,"parts":[%s]}`, id, stamp, th, more, parts)
}

// threads are messages and states that must be taken and acked.
func threads() []Scenario {
	text := `{"k":"text","text":"hello"}`
	list := []Scenario{
		delivered("msg-ack", "8, 11", "a message of text, code and data with a subject is acked", func(th, id string) string {
			return rawMsg(th, id, `,"subject":"conformance"`, text+`,{"k":"code","lang":"go","text":"x := 1"},{"k":"data","mime":"application/json","data":{"a":[1,null]}}`)
		}),
		delivered("unknown-field", "3", "members nobody knows are ignored", func(th, id string) string {
			return rawMsg(th, id, `,"future":{"a":1},"x":[true]`, `{"k":"text","text":"hello","future":1}`)
		}),
		delivered("unknown-part", "3", "a part of an unknown kind is kept", func(th, id string) string { return rawMsg(th, id, "", `{"k":"hologram","w":[1]}`) }),
		delivered("empty-parts", "11", "a message without parts is taken", func(th, id string) string { return rawMsg(th, id, "", "") }),
		delivered("odd-stamp", "4", "any RFC 3339 time is taken", func(th, id string) string {
			return strings.Replace(rawMsg(th, id, "", text), stamp, `"ts":"1999-12-31t23:59:60.123456789+05:30"`, 1)
		}),
		delivered("re-unknown", "4", "re of a line nobody knows is taken", func(th, id string) string { return rawMsg(th, id, `,"re":"nothing"`, text) }),
		delivered("spaces", "3", "white space in a line is taken", func(th, id string) string {
			return "  " + strings.ReplaceAll(rawMsg(th, id, "", text), `,"`, "\t, \"") + " \r"
		}),
		delivered("escapes", "3", "escapes, surrogates and control characters are taken", func(th, id string) string {
			return rawMsg(th, id, "", `{"k":"text","text":"\u0000\u001b[2J\ud83d\ude00\u202e</script>"}`)
		}),
		delivered("full-line", "1, 3", "a line of exactly 1 MiB is taken", func(th, id string) string {
			line := rawMsg(th, id, "", `{"k":"text","text":""}`)
			return strings.Replace(line, `"text":""`, `"text":"`+strings.Repeat("x", wire.MaxLine-len(line))+`"`, 1)
		}),
		{Name: "odd-ids", Section: "4", Doc: "ids and thread ids are opaque", run: func(t *trial) {
			c := t.open()
			th := awp.ThreadID("Ünï \"code\" 線 " + string(t.r.ids.Next()))
			m := t.msg(th, "hello")
			m.ID = "~not a ULID " + m.ID
			c.send(m)
			c.acked(m.ID, th)
		}},
		{Name: "state-ack", Section: "8, 11", Doc: "a message, then a state with a note: both acked", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "work")
			c.send(m)
			c.acked(m.ID, m.Th)
			t.state(c, m.Th, wire.StateWorking)
		}},
		{Name: "burst", Section: "8", Doc: "300 messages at once are all acked, in order", run: func(t *trial) {
			c := t.open()
			th := t.thread()
			var text strings.Builder
			var all []wire.Msg
			for i := range 300 {
				m := t.msg(th, fmt.Sprint(i))
				raw, _ := wire.Encode(m)
				text.Write(append(raw, '\n'))
				all = append(all, m)
			}
			c.raw(text.String())
			for _, m := range all {
				line := c.want(wire.TypeAck, "an ack", nil)
				t.check(object(line)["re"] == string(m.ID), "acks in the order of the messages", clip(line))
			}
		}},
		{Name: "no-ack-unsent", Section: "8", Doc: "nothing is acked that was not sent", run: func(t *trial) {
			c := t.open()
			c.raw(`{"t":"msg",`)
			c.quiet(short, "no line while a line is half sent", nil)
			m := t.msg(t.thread(), "whole")
			raw, _ := wire.Encode(m)
			c.line(strings.TrimPrefix(string(raw), `{"t":"msg",`))
			c.acked(m.ID, m.Th)
		}},
	}
	for _, word := range []string{wire.StateOpen, wire.StateWaiting, wire.StateDone, wire.StateFailed, wire.StateClosed, "conformance future"} {
		list = append(list, Scenario{Name: "state-" + strings.ReplaceAll(word, " ", "-"), Section: "11", Doc: "state " + word + " of a thread nobody knows is acked", run: func(t *trial) {
			t.state(t.open(), t.thread(), word)
		}})
	}
	return list
}

func (t *trial) state(c *conn, th awp.ThreadID, word string) {
	s := wire.State{Envelope: t.env(wire.TypeState), State: word, Note: "conformance"}
	s.Th = th
	c.send(s)
	c.acked(s.ID, th)
}

// byes end a link.
func byes() []Scenario {
	bye := func(reason string) func(*trial) {
		return func(t *trial) {
			c := t.open()
			c.send(wire.Bye{Envelope: t.env(wire.TypeBye), Reason: reason})
			c.want(wire.TypeBye, "bye", nil)
			c.ended()
		}
	}
	return []Scenario{
		{Name: "bye-empty", Section: "10", Doc: "a bye without a reason is answered", Solo: true, run: bye("")},
		{Name: "after-bye", Section: "10", Doc: "after a bye the peer may be called again", Solo: true, run: func(t *trial) {
			bye("again")(t)
			t.open().alive()
		}},
		{Name: "bye", Section: "10", Doc: "bye is answered by bye, then close", run: bye("done")},
	}
}
