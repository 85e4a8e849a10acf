package conformance

import (
	"encoding/base64"
	"encoding/json/v2"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// sign makes a grant of ours for sub; change may spoil it before it is signed.
func (t *trial) sign(sub string, caps []string, ttl time.Duration, change func(map[string]any)) []byte {
	g := map[string]any{
		"iss": t.us.Key.String(), "sub": sub, "caps": caps,
		"exp":   time.Now().Add(ttl).UTC().Format("2006-01-02T15:04:05Z"),
		"nonce": base64.RawURLEncoding.EncodeToString([]byte(string(t.r.ids.Next())[10:])),
	}
	if change != nil {
		change(g)
	}
	raw, err := json.Marshal(g)
	if err != nil {
		panic(err)
	}
	signed, err := t.us.SignObject(raw)
	if err != nil {
		panic(err)
	}
	return signed
}

// handed sends grants that must be taken or ignored, without an err.
func handed(name, doc string, make func(t *trial) []byte, times int) Scenario {
	return Scenario{Name: name, Section: "13", Doc: doc, Cap: wire.CapGrant, run: func(t *trial) {
		c := t.open()
		g := make(t)
		for range times {
			c.send(wire.Grant{Envelope: t.env(wire.TypeGrant), Grant: g})
		}
		c.quiet(short, "no err and no ack for a grant", nil)
		c.alive()
	}}
}

func grants() []Scenario {
	read := []string{"fs:read"}
	list := []Scenario{
		handed("grant", "a grant for the peer is taken without an answer", func(t *trial) []byte { return t.sign(t.r.peer.Key, read, time.Hour, nil) }, 1),
		handed("grant-twice", "the same grant twice is one grant", func(t *trial) []byte { return t.sign(t.r.peer.Key, read, time.Hour, nil) }, 2),
		handed("grant-unknown-member", "members nobody knows stay signed", func(t *trial) []byte {
			return t.sign(t.r.peer.Key, read, time.Hour, func(g map[string]any) { g["x"] = map[string]any{"b": 1, "a": "é<"} })
		}, 1),
		handed("grant-expired", "an expired grant is dropped, the link stays", func(t *trial) []byte { return t.sign(t.r.peer.Key, read, -time.Hour, nil) }, 1),
		handed("grant-other-sub", "a grant for somebody else is ignored", func(t *trial) []byte {
			other, _ := wire.NewIdentity(nil)
			return t.sign(other.Key.String(), read, time.Hour, nil)
		}, 1),
		handed("grant-bad-sig", "a grant with a bad signature is dropped, the link stays", func(t *trial) []byte {
			other, _ := wire.NewIdentity(nil)
			return t.sign(t.r.peer.Key, read, time.Hour, func(g map[string]any) { g["iss"] = other.Key.String() })
		}, 1),
		handed("grant-empty", "an object that is no grant is dropped, the link stays", func(*trial) []byte { return []byte(`{}`) }, 1),
	}
	for _, r := range []struct{ name, mime, data string }{
		{"exec", "exec", `{"cmd":["true"]}`}, {"fs-read", "fs-read", `{"path":"."}`},
		{"fs-write", "fs-write", `{"path":"conform","content":""}`}, {"admin", "admin", `{}`},
	} {
		list = append(list, request("forbidden-"+r.name, "a request of "+r.name+" without a grant is acked, and err forbidden names it", r.mime, r.data, nil))
	}
	return append(list,
		request("forbidden-spelling", "the mime of a request is trimmed and lower-cased before it is judged", "EXEC", `{"cmd":["true"]}`, nil),
		request("forbidden-self-granted", "a grant that a stranger signed for itself is not honored", "exec", `{"cmd":["true"]}`, func(t *trial) []byte {
			return t.sign(t.us.Key.String(), []string{"exec"}, time.Hour, nil)
		}),
		request("forbidden-forged", "a grant that names the peer as issuer and is not its own is not honored", "exec", `{"cmd":["true"]}`, func(t *trial) []byte {
			return t.sign(t.us.Key.String(), []string{"exec"}, time.Hour, func(g map[string]any) { g["iss"] = t.r.peer.Key })
		}),
	)
}

// request asks for what was not granted, after presenting a grant that is worth nothing.
func request(name, doc, kind, data string, grant func(*trial) []byte) Scenario {
	return Scenario{Name: name, Section: "17", Doc: doc, Cap: wire.CapGrant, run: func(t *trial) {
		c := t.open()
		if grant != nil {
			c.send(wire.Grant{Envelope: t.env(wire.TypeGrant), Grant: grant(t)})
		}
		m := t.msg(t.thread(), "a request")
		m.Parts = append(m.Parts, wire.Part{K: wire.PartData, Mime: " application/vnd.awp." + kind + "+json", Data: []byte(data)})
		c.send(m)
		c.both(m.ID, m.Th)
	}}
}

// both wants the ack and the err forbidden of a request, in any order (section 18).
func (c *conn) both(id awp.MessageID, th awp.ThreadID) {
	t := c.trial()
	acked, forbidden := false, false
	deadline := time.Now().Add(t.r.o.Step / 5)
	for !acked || !forbidden {
		line, ok := c.next(time.Until(deadline))
		if !ok || line == nil {
			t.fail("an ack and err forbidden with re of the request", map[bool]string{true: "the ack only", false: "no ack"}[acked])
		}
		o := object(line)
		if o["re"] != string(id) {
			continue
		}
		switch {
		case o["t"] == wire.TypeAck:
			acked = true
		case o["t"] == wire.TypeErr && o["code"] == string(wire.Forbidden):
			forbidden = true
		default:
			t.fail("err forbidden", clip(line))
		}
	}
	t.ok("an ack and err forbidden with re of the request")
	c.alive()
}

// sharing is introductions, mirrored threads and private ones.
func sharing() []Scenario {
	ackedLine := func(name, section, doc string, line func(t *trial, e wire.Envelope) any, times int) Scenario {
		return Scenario{Name: name, Section: section, Doc: doc, Cap: wire.CapMirror, run: func(t *trial) {
			c := t.open()
			e := t.env("")
			e.Th = t.thread()
			for range times {
				c.send(line(t, e))
				c.acked(e.ID, e.Th)
			}
		}}
	}
	typed := func(e wire.Envelope, typ string) wire.Envelope { e.T = typ; return e }
	return []Scenario{
		ackedLine("mirror-ack", "15", "a mirrored line is acked by the mirror's own id", func(t *trial, e wire.Envelope) any {
			other, _ := wire.NewIdentity(nil)
			raw, _ := wire.Encode(t.msg(e.Th, "mirrored"))
			return wire.Mirror{Envelope: typed(e, wire.TypeMirror), Of: other.Key.String(), Dir: awp.Out, Line: raw}
		}, 1),
		ackedLine("mirror-withdraw", "15", "a withdrawal is acked", func(t *trial, e wire.Envelope) any {
			other, _ := wire.NewIdentity(nil)
			return wire.Mirror{Envelope: typed(e, wire.TypeMirror), Of: other.Key.String(), Withdraw: true}
		}, 1),
		ackedLine("private-ack", "15", "private is acked, each time", func(_ *trial, e wire.Envelope) any {
			return wire.Private{Envelope: typed(e, wire.TypePrivate)}
		}, 2),
		{Name: "introduce", Section: "13", Doc: "an introduction is taken without an ack", Cap: wire.CapIntroduce, run: func(t *trial) {
			c := t.open()
			other, _ := wire.NewIdentity(nil)
			i := wire.Introduce{Envelope: t.env(wire.TypeIntroduce), Peer: wire.Introduced{Key: other.Key.String(), Name: "third", Address: "nonsense"}}
			i.Th = t.thread()
			c.send(i)
			c.quiet(short, "no err and no ack for an introduction", nil)
			c.alive()
		}},
		{Name: "introduce-bad-key", Section: "13", Doc: "an introduction of nobody is ignored", Cap: wire.CapIntroduce, run: func(t *trial) {
			c := t.open()
			c.send(wire.Introduce{Envelope: t.env(wire.TypeIntroduce), Peer: wire.Introduced{Key: "no key"}})
			c.alive()
		}},
		{Name: "introduce-self", Section: "13", Doc: "an introduction of the receiver itself is ignored", Cap: wire.CapIntroduce, run: func(t *trial) {
			c := t.open()
			c.send(wire.Introduce{Envelope: t.env(wire.TypeIntroduce), Peer: wire.Introduced{Key: t.r.peer.Key}})
			c.alive()
		}},
	}
}
