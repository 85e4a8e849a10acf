package conformance

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// none is an empty seen map.
var none = map[awp.ThreadID]awp.MessageID{}

// handshakes are the good ones, and signatures that are not.
func handshakes() []Scenario {
	return append([]Scenario{
		{Name: "handshake", Section: "7", Doc: "hello without waiting, auth over the exact lines, resume", run: func(t *trial) { t.open() }},
	}, solo([]Scenario{
		{Name: "version", Section: "7.1", Doc: "hello v 99: err version, no auth, close", run: refusedHello(wire.BadVersion, func(h *wire.Hello, _ string) { h.V = 99 })},
		{Name: "version-1", Section: "7.1", Doc: "hello v 1: err version, no auth, close", run: refusedHello(wire.BadVersion, func(h *wire.Hello, _ string) { h.V = 1 })},
		{Name: "hello-bad-key", Section: "7.1", Doc: "a key that is none: err auth, close", run: refusedHello(wire.AuthFailed, func(h *wire.Hello, _ string) { h.Key = "ed25519:short" })},
		{Name: "hello-no-key", Section: "7.1", Doc: "no key: err auth, close", run: refusedHello(wire.AuthFailed, func(h *wire.Hello, _ string) { h.Key = "" })},
		{Name: "hello-other-key-kind", Section: "7.1", Doc: "a key of another kind: err auth, close", run: refusedHello(wire.AuthFailed, func(h *wire.Hello, _ string) { h.Key = strings.Replace(h.Key, "ed25519", "rsa", 1) })},
		{Name: "hello-own-key", Section: "7.1", Doc: "the receiver's own key: err auth, close", run: refusedHello(wire.AuthFailed, func(h *wire.Hello, theirs string) { h.Key = theirs })},
		{Name: "hello-own-key-padded", Section: "5, 7.1", Doc: "the receiver's own key, spelled with padding: err auth, close", run: refusedHello(wire.AuthFailed, func(h *wire.Hello, theirs string) { h.Key = theirs + "=" })},
		{Name: "version-before-key", Section: "7.1", Doc: "v 99 and a bad key: the version is judged first", run: refusedHello(wire.BadVersion, func(h *wire.Hello, _ string) { h.V, h.Key = 99, "no" })},
		{Name: "reflection", Section: "7.1", Doc: "its own hello and auth played back: refused, closed", run: func(t *trial) {
			c := t.dial()
			c.readHello()
			c.sayHello(string(c.theirs))
			c.refused(wire.AuthFailed)
		}},
		{Name: "auth-bad-sig", Section: "7.2", Doc: "auth signed over wrong bytes: err auth, close", run: badAuth(func(c *conn, a *wire.Auth) { a.Sig = c.t.us.SignAuth(c.ours, []byte("other")) })},
		{Name: "auth-swapped", Section: "7.2", Doc: "auth over the lines in the wrong order: err auth, close", run: badAuth(func(c *conn, a *wire.Auth) { a.Sig = c.t.us.SignAuth(c.theirs, c.ours) })},
		{Name: "auth-no-sig", Section: "7.2", Doc: "auth without a signature: err auth, close", run: badAuth(func(c *conn, a *wire.Auth) { a.Sig = "" })},
		{Name: "auth-short-sig", Section: "7.2", Doc: "half a signature: err auth, close", run: badAuth(func(c *conn, a *wire.Auth) { a.Sig = a.Sig[:42] })},
		{Name: "auth-other-key", Section: "7.2", Doc: "auth of a key that hello did not name: err auth, close", run: badAuth(func(c *conn, a *wire.Auth) {
			other, err := wire.NewIdentity(nil)
			c.t.check(err == nil, "a key", "none")
			a.Sig = other.SignAuth(c.ours, c.theirs)
		})},
		{Name: "auth-newline", Section: "7.2", Doc: "a signature over lines with their newlines: err auth, close", run: badAuth(func(c *conn, a *wire.Auth) {
			a.Sig = c.t.us.SignAuth([]byte(string(c.ours)+"\n"), []byte(string(c.theirs)+"\n"))
		})},
		{Name: "auth-replay", Section: "7.2", Doc: "hello and auth of an earlier connection: the nonce is new, so err auth, close", run: func(t *trial) {
			c := t.dial()
			c.greet()
			hello, auth := string(c.ours), c.auth()
			c.resume(none)
			c.close()
			c = t.dial()
			c.readHello()
			c.sayHello(hello)
			c.send(auth)
			c.want(wire.TypeAuth, "auth", nil)
			c.refused(wire.AuthFailed)
		}},
		{Name: "nonce-fresh", Section: "7.1", Doc: "each connection has a nonce of its own, of 32 bytes", run: func(t *trial) {
			first, second := t.dial(), t.dial()
			a, b := first.readHello(), second.readHello()
			raw, err := awp.DecodeBase64(a.Nonce)
			t.check(err == nil && len(raw) == wire.NonceSize, "a nonce of 32 bytes", a.Nonce)
			t.check(a.Nonce != b.Nonce, "two nonces", a.Nonce+" twice")
		}},
		{Name: "hello-exact-bytes", Section: "7.2", Doc: "a hello with odd spacing, escapes and members is signed as it was written", run: oddHello(func(h string) string {
			h = strings.Replace(h, `{"t":"hello"`, `{ "x" : [1.50, "\u0041\/"] , "t" : "\u0068ello"`, 1)
			return strings.TrimSuffix(h, "}") + " } "
		})},
		{Name: "hello-carriage-return", Section: "3", Doc: "a carriage return before the newline is part of the line that is signed", run: oddHello(func(h string) string { return h + "\r" })},
		{Name: "hello-padded-key", Section: "5", Doc: "a key spelled with padding is a key", run: oddHello(func(h string) string { return pad(h) })},
		{Name: "hello-no-version", Section: "7.1", Doc: "a missing v counts as 0", run: oddHello(func(h string) string { return strings.Replace(h, `"v":0,`, "", 1) })},
		{Name: "hello-bare", Section: "7.1", Doc: "a hello of key and nonce only", run: func(t *trial) {
			oddHello(func(string) string {
				return fmt.Sprintf(`{"t":"hello","id":"h","ts":"2026-01-01T00:00:00Z","v":0,"key":%q,"nonce":"AAAA"}`, t.us.Key)
			})(t)
		}},
		{Name: "auth-padded-sig", Section: "5", Doc: "a signature in padded standard base64 is one", run: func(t *trial) {
			c := t.dial()
			c.readHello()
			h, _ := wire.Encode(t.hello())
			c.sayHello(string(h))
			a := c.auth()
			raw, _ := awp.DecodeBase64(a.Sig)
			a.Sig = base64.StdEncoding.EncodeToString(raw)
			c.send(a)
			c.proved()
			c.resume(none)
		}},
		{Name: "auth-bad-grant", Section: "7.2", Doc: "a bad grant in auth fails no auth", run: func(t *trial) {
			c := t.dial()
			c.readHello()
			h, _ := wire.Encode(t.hello())
			c.sayHello(string(h))
			a := c.auth()
			a.Grants = append(a.Grants, []byte(`{"iss":1}`), []byte(`{}`))
			c.send(a)
			c.proved()
			c.resume(none)
			c.alive()
		}},
		{Name: "harmless-before-auth", Section: "7.1", Doc: "a ping and an unknown line between hello and auth are let pass [rec]", run: func(t *trial) {
			c := t.dial()
			c.readHello()
			h, _ := wire.Encode(t.hello())
			c.sayHello(string(h))
			c.send(wire.Ping{Envelope: t.env(wire.TypePing)})
			c.line(`{"t":"conformance-future","id":"1","ts":"2026-01-01T00:00:00Z"}`)
			c.prove()
			c.proved()
			c.resume(none)
		}},
	})...)
}

func pad(hello string) string {
	i := strings.Index(hello, `"key":"`) + len(`"key":"`)
	end := i + strings.IndexByte(hello[i:], '"')
	return hello[:end] + "=" + hello[end:]
}

// refusedHello says a changed hello, which must be refused before any auth.
func refusedHello(code wire.Code, change func(h *wire.Hello, theirKey string)) func(*trial) {
	return func(t *trial) {
		c := t.dial()
		theirs := c.readHello()
		h := t.hello()
		change(&h, theirs.Key)
		c.send(h)
		line := c.want(wire.TypeErr, "err "+string(code), func(o map[string]any) bool { return o["code"] == string(code) })
		if code == wire.BadVersion {
			t.check(object(line)["re"] == string(h.ID), "re of the err is hello's id", clip(line))
		}
		c.ended()
	}
}

// badAuth changes our auth, which must be refused.
func badAuth(change func(*conn, *wire.Auth)) func(*trial) {
	return func(t *trial) {
		c := t.dial()
		c.readHello()
		h, _ := wire.Encode(t.hello())
		c.sayHello(string(h))
		a := c.auth()
		change(c, &a)
		c.want(wire.TypeAuth, "auth", nil)
		c.send(a)
		c.refused(wire.AuthFailed)
	}
}

// oddHello says a hello in another spelling, with which all must go well.
func oddHello(spell func(string) string) func(*trial) {
	return func(t *trial) {
		c := t.dial()
		c.readHello()
		h, _ := wire.Encode(t.hello())
		c.sayHello(spell(string(h)))
		c.prove()
		c.proved()
		c.resume(none)
		c.alive()
	}
}
