package conformance

import (
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// duplicates are lines that come twice, and connections that do.
func duplicates() []Scenario {
	return append([]Scenario{
		{Name: "dedup", Section: "8", Doc: "the same message twice is acked twice, with a new ack id", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "twice")
			c.send(m)
			first := c.acked(m.ID, m.Th)
			c.send(m)
			second := c.acked(m.ID, m.Th)
			t.check(first != second, "two ids of acks", first+" twice")
		}},
		{Name: "dedup-state", Section: "8", Doc: "the same state twice is acked twice", run: func(t *trial) {
			c := t.open()
			s := wire.State{Envelope: t.env(wire.TypeState), State: wire.StateWorking}
			s.Th = t.thread()
			for range 2 {
				c.send(s)
				c.acked(s.ID, s.Th)
			}
		}},
		{Name: "dedup-other-bytes", Section: "8", Doc: "a known id with other contents is a duplicate: acked", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "one")
			c.send(m)
			c.acked(m.ID, m.Th)
			m.Parts[0].Text = "other"
			c.send(m)
			c.acked(m.ID, m.Th)
		}},
	}, solo([]Scenario{
		{Name: "dedup-reconnect", Section: "8", Doc: "a duplicate over a new connection is acked", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "twice")
			c.send(m)
			c.acked(m.ID, m.Th)
			c, _ = c.again()
			c.send(m)
			c.acked(m.ID, m.Th)
		}},
		{Name: "newer-wins", Section: "9", Doc: "a second connection of one key takes the first one's place", run: func(t *trial) {
			first := t.open()
			second := t.open()
			first.ended()
			second.alive()
		}},
		{Name: "unproved-takes-nothing", Section: "9", Doc: "a connection that claims a key and does not prove it leaves the one there is", run: func(t *trial) {
			first := t.open()
			second := t.dial()
			second.readHello()
			second.send(t.hello())
			second.want(wire.TypeAuth, "auth", nil)
			second.close()
			first.alive()
		}},
		{Name: "tie-break-key", Section: "9", Doc: "of two connections dialed by one side the newer stays, whichever key is smaller", run: func(t *trial) {
			c := t.dial()
			theirs := c.readHello()
			c.close()
			for smaller := range 2 {
				for {
					us, err := wire.NewIdentity(nil)
					t.check(err == nil, "a key", "none")
					if (us.Key.String() < theirs.Key) == (smaller == 1) {
						t.us = us
						break
					}
				}
				first, second := t.open(), t.open()
				first.ended()
				second.alive()
			}
		}},
	})...)
}

// resumes are about what the peer says it has, and what it makes of what we say.
func resumes() []Scenario {
	return solo([]Scenario{
		{Name: "resume-seen", Section: "7.4, 8", Doc: "after a message was acked, resume names its id", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "seen")
			c.send(m)
			c.acked(m.ID, m.Th)
			c, seen := c.again()
			t.check(seen[m.Th] == m.ID, "seen of the thread is "+string(m.ID), clip(c.theirResume))
		}},
		{Name: "resume-state", Section: "8", Doc: "seen counts states", run: func(t *trial) {
			c := t.open()
			s := wire.State{Envelope: t.env(wire.TypeState), State: wire.StateWorking}
			s.Th = t.thread()
			c.send(s)
			c.acked(s.ID, s.Th)
			c, seen := c.again()
			t.check(seen[s.Th] == s.ID, "seen of the thread is "+string(s.ID), clip(c.theirResume))
		}},
		{Name: "resume-max", Section: "8", Doc: "seen is the largest id, not the one that came last", run: func(t *trial) {
			c := t.open()
			th := t.thread()
			small, large := t.msg(th, "small"), t.msg(th, "large")
			for _, m := range []wire.Msg{large, small} {
				c.send(m)
				c.acked(m.ID, th)
			}
			c, seen := c.again()
			t.check(seen[th] == large.ID, "seen of the thread is "+string(large.ID), clip(c.theirResume))
		}},
		{Name: "resume-threads", Section: "8", Doc: "seen is kept thread by thread", run: func(t *trial) {
			c := t.open()
			a, b := t.msg(t.thread(), "a"), t.msg(t.thread(), "b")
			for _, m := range []wire.Msg{a, b} {
				c.send(m)
				c.acked(m.ID, m.Th)
			}
			c, seen := c.again()
			t.check(seen[a.Th] == a.ID && seen[b.Th] == b.ID, "seen of both threads", clip(c.theirResume))
		}},
		{Name: "resume-chunk", Section: "8", Doc: "seen counts chunks with a thread", run: func(t *trial) {
			c := t.open()
			ch := t.chunk(t.thread(), "conform-"+string(t.r.ids.Next()), 0, false, []byte("part"))
			c.send(ch)
			c.alive()
			c, seen := c.again()
			t.check(seen[ch.Th] == ch.ID, "seen of the thread is "+string(ch.ID), clip(c.theirResume))
		}},
		{Name: "resume-first", Section: "7.4", Doc: "a key never met gets an empty seen", run: func(t *trial) {
			us, err := wire.NewIdentity(nil)
			t.check(err == nil, "a key", "none")
			t.us = us
			c := t.dial()
			c.greet()
			seen := c.resume(none)
			t.check(len(seen) == 0, "seen without threads", clip(c.theirResume))
		}},
		{Name: "resume-private", Section: "8", Doc: "what one key sent is not in another's seen", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "mine")
			c.send(m)
			c.acked(m.ID, m.Th)
			us, err := wire.NewIdentity(nil)
			t.check(err == nil, "a key", "none")
			t.us = us
			c, seen := c.again()
			_, there := seen[m.Th]
			t.check(!there, "seen without the other's thread", clip(c.theirResume))
		}},
		{Name: "resume-null", Section: "7.4", Doc: "seen null is taken for empty", run: rawResume("null")},
		{Name: "resume-odd-seen", Section: "8, 18", Doc: "a seen that is no id of the peer's is ignored [rec]", run: rawResume(`{"":"","a":"zzzzzzzzzzzzzzzzzzzzzzzzzz","b":"01K6B0Z3M0000000000000000A"}`)},
		{Name: "resume-twice", Section: "7.4", Doc: "a second resume is no reason to close", run: func(t *trial) {
			c := t.open()
			c.send(wire.Resume{Envelope: t.env(wire.TypeResume), Seen: none})
			c.alive()
		}},
		{Name: "msg-before-resume", Section: "8", Doc: "a message that overtakes resume is acked", run: func(t *trial) {
			c := t.dial()
			c.greet()
			m := t.msg(t.thread(), "early")
			c.send(m)
			c.resume(none)
			c.acked(m.ID, m.Th)
		}},
		{Name: "close-after-send", Section: "8", Doc: "a message whose sender left at once is replayed and acked", run: func(t *trial) {
			c := t.open()
			m := t.msg(t.thread(), "gone")
			c.send(m)
			c, _ = c.again()
			c.send(m)
			c.acked(m.ID, m.Th)
		}},
	})
}

func rawResume(seen string) func(*trial) {
	return func(t *trial) {
		c := t.dial()
		c.greet()
		c.line(`{"t":"resume",` + env + `,"seen":` + seen + `}`)
		c.want(wire.TypeResume, "resume", nil)
		c.alive()
	}
}

// prompted are about the peer's own reliable lines.
func prompted() []Scenario {
	list := solo([]Scenario{
		{Name: "replay-same-bytes", Section: "8", Doc: "what was not acked comes again, the same bytes", run: func(t *trial) {
			c, first := t.provoke()
			c, _ = c.again()
			second := c.want(wire.TypeMsg, "the message again", func(o map[string]any) bool { return o["id"] == object(first)["id"] })
			t.check(string(first) == string(second), "the same bytes", clip(second))
			c.ackMsg(second)
		}},
		{Name: "no-replay-before-resume", Section: "8", Doc: "nothing is replayed before our resume was processed", run: func(t *trial) {
			c, first := t.provoke()
			c.close()
			c = t.dial()
			c.greet()
			c.want(wire.TypeResume, "resume", nil)
			c.quiet(short, "no reliable line before our resume", nil)
			c.send(wire.Resume{Envelope: t.env(wire.TypeResume), Seen: none})
			again := c.want(wire.TypeMsg, "the message again", func(o map[string]any) bool { return o["id"] == object(first)["id"] })
			c.ackMsg(again)
		}},
		{Name: "resume-prunes", Section: "8", Doc: "what resume says we have does not come again", run: func(t *trial) {
			c, first := t.provoke()
			c.close()
			m, err := wire.Decode[wire.Msg](first)
			t.check(err == nil, "a message", clip(first))
			c = t.dial()
			c.greet()
			c.resume(map[awp.ThreadID]awp.MessageID{m.Th: m.ID})
			c.quiet(2*short, "no message that we have", func(o map[string]any) bool { return o["id"] != string(m.ID) })
		}},
		{Name: "ack-retires", Section: "8", Doc: "what was acked does not come again", run: func(t *trial) {
			c, first := t.provoke()
			c.ackMsg(first)
			c.alive()
			c, _ = c.again()
			id := object(first)["id"]
			c.quiet(2*short, "no message that was acked", func(o map[string]any) bool { return o["id"] != id })
		}},
	})
	for i := range list {
		list[i].Prompt = true
	}
	return list
}

// provoke makes the peer send us a message, and returns it unacked.
func (t *trial) provoke() (*conn, []byte) {
	c := t.open()
	text := "conformance " + string(t.r.ids.Next())
	if err := t.r.o.Prompt(t.ctx, t.us.Key.String(), text); err != nil {
		t.fail("a command that makes the peer send", err.Error())
	}
	return c, c.want(wire.TypeMsg, "the peer's message", func(o map[string]any) bool {
		parts, _ := o["parts"].([]any)
		for _, p := range parts {
			if p, _ := p.(map[string]any); p != nil {
				if s, _ := p["text"].(string); strings.Contains(s, text) {
					return true
				}
			}
		}
		return false
	})
}

func (c *conn) ackMsg(line []byte) {
	e, _ := wire.ParseEnvelope(line)
	a := wire.Ack{Envelope: c.t.env(wire.TypeAck)}
	a.Th, a.Re = e.Th, e.ID
	c.send(a)
}
