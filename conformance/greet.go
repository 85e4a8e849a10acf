package conformance

import (
	"slices"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// greet shakes hands as section 7 has it, reading the peer's hello before ours is sent.
func (c *conn) greet() {
	c.readHello()
	raw, err := wire.Encode(c.t.hello())
	if err != nil {
		panic(err)
	}
	c.sayHello(string(raw))
	c.prove()
	c.proved()
}

// readHello reads the peer's first line.
func (c *conn) readHello() wire.Hello {
	t := c.trial()
	line, ok := c.next(t.r.o.Step)
	t.check(ok && line != nil, "a first line without waiting for ours", "nothing")
	h, err := wire.Decode[wire.Hello](line)
	t.check(err == nil, "hello as the first line", clip(line))
	t.check(h.V == wire.Version, "hello with v 0", clip(line))
	_, err = awp.ParseKey(h.Key)
	t.check(err == nil, "a valid key in hello", clip(line))
	t.check(h.Nonce != "", "a nonce in hello", clip(line))
	c.theirs = line
	t.r.peer = Peer{Key: h.Key, Name: h.Name, About: h.About, V: h.V, Caps: slices.Clone(h.Caps)}
	return h
}

func (c *conn) sayHello(raw string) {
	c.ours = []byte(raw)
	c.line(raw)
}

// auth returns our auth line, which proves our key.
func (c *conn) auth() wire.Auth {
	return wire.Auth{Envelope: c.t.env(wire.TypeAuth), Sig: c.t.us.SignAuth(c.ours, c.theirs)}
}

func (c *conn) prove() { c.send(c.auth()) }

// proved reads the peer's auth and verifies it over the exact lines.
func (c *conn) proved() {
	t := c.trial()
	line := c.want(wire.TypeAuth, "auth", nil)
	a, err := wire.Decode[wire.Auth](line)
	t.check(err == nil, "a well-formed auth", clip(line))
	h, _ := wire.Decode[wire.Hello](c.theirs)
	key, _ := awp.ParseKey(h.Key)
	err = wire.VerifyAuth(key, a.Sig, c.theirs, c.ours)
	t.check(err == nil, "a signature over context, the peer's hello line and ours", clip(line))
}

// resume sends ours and reads the peer's.
func (c *conn) resume(seen map[awp.ThreadID]awp.MessageID) map[awp.ThreadID]awp.MessageID {
	c.send(wire.Resume{Envelope: c.t.env(wire.TypeResume), Seen: seen})
	c.theirResume = c.want(wire.TypeResume, "resume", nil)
	r, err := wire.Decode[wire.Resume](c.theirResume)
	c.trial().check(err == nil, "a well-formed resume", clip(c.theirResume))
	return r.Seen
}

// again closes c, connects anew and returns the new connection and what the peer has seen.
func (c *conn) again() (*conn, map[awp.ThreadID]awp.MessageID) {
	t := c.trial()
	c.close()
	n := t.dial()
	n.greet()
	return n, n.resume(map[awp.ThreadID]awp.MessageID{})
}
