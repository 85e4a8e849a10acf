package wirecmd

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// rawPeer is the other end of a link, scripted by a test.
type rawPeer struct {
	t     *testing.T
	id    wire.Identity
	nc    net.Conn
	hello []byte
	ours  []byte        // awp-wire's hello
	lines chan string   // everything that comes; closed at the end
	gate  chan struct{} // holds one token while the peer reads
	n     int
}

func newRawPeer(t *testing.T, id wire.Identity, nc net.Conn) *rawPeer {
	p := &rawPeer{t: t, id: id, nc: nc, lines: make(chan string, 100000), gate: make(chan struct{}, 1)}
	p.gate <- struct{}{}
	go func() {
		defer close(p.lines)
		r := wire.NewReader(nc)
		for {
			<-p.gate
			p.gate <- struct{}{}
			line, err := r.ReadLine()
			if err != nil {
				return
			}
			p.lines <- string(line)
		}
	}()
	return p
}

// write sends lines, in one write each.
func (p *rawPeer) write(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.nc, l+"\n"); err != nil {
			p.t.Errorf("write %.60s: %v", l, err)
			return
		}
	}
}

// encode writes a line of the peer's.
func (p *rawPeer) encode(v any) string {
	p.t.Helper()
	raw, err := wire.Encode(v)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

func (p *rawPeer) envelope(typ string) wire.Envelope {
	p.n++
	return wire.Envelope{T: typ, ID: awp.MessageID(fmt.Sprintf("%s%d", typ, p.n)), TS: "2026-09-29T17:00:00.000Z"}
}

// next returns the next line, or "" at the end.
func (p *rawPeer) next() string {
	select {
	case l := <-p.lines:
		return l
	case <-time.After(10 * time.Minute):
		return "nothing for 10 minutes"
	}
}

// expect returns the next line, which must be of a type.
func (p *rawPeer) expect(typ string) string {
	p.t.Helper()
	l := p.next()
	if env, err := wire.ParseEnvelope([]byte(l)); err != nil || env.T != typ {
		p.t.Fatalf("got %.200q, want a line of type %s", l, typ)
	}
	return l
}

// expectEnd waits until awp-wire closes.
func (p *rawPeer) expectEnd() {
	p.t.Helper()
	if l, open := <-p.lines; open {
		p.t.Fatalf("got %.200q, want the end", l)
	}
}

// sayHello takes our hello and says the peer's.
func (p *rawPeer) sayHello() {
	p.t.Helper()
	p.ours = []byte(p.expect(wire.TypeHello))
	h := wire.Hello{Envelope: p.envelope(wire.TypeHello), Key: p.id.Key.String(), Name: "raw", Nonce: wire.NewNonce(nil), Caps: wire.Caps()}
	p.hello = []byte(p.encode(h))
	p.write(string(p.hello))
}

// greet does the peer's part up to its auth, and reads ours.
func (p *rawPeer) greet() {
	p.t.Helper()
	p.sayHello()
	auth := p.expect(wire.TypeAuth)
	a, err := wire.Decode[wire.Auth]([]byte(auth))
	if err != nil {
		p.t.Fatal(err)
	}
	theirs, _ := wire.Decode[wire.Hello](p.ours)
	key, _ := awp.ParseKey(theirs.Key)
	if err := wire.VerifyAuth(key, a.Sig, p.ours, p.hello); err != nil {
		p.t.Fatalf("awp-wire's auth: %v", err)
	}
	p.auth()
}

func (p *rawPeer) auth() {
	p.t.Helper()
	p.write(p.encode(wire.Auth{Envelope: p.envelope(wire.TypeAuth), Sig: p.id.SignAuth(p.hello, p.ours)}))
}

// open does the whole opening of a link.
func (p *rawPeer) open() {
	p.t.Helper()
	p.greet()
	p.expect(wire.TypeResume)
	p.write(p.encode(wire.Resume{Envelope: p.envelope(wire.TypeResume)}))
}

func (p *rawPeer) msg(th, text string) string {
	return p.encode(wire.Msg{Envelope: wire.Envelope{T: wire.TypeMsg, ID: awp.MessageID(th + text[:min(len(text), 9)]), TS: "x", Th: awp.ThreadID(th)}, Parts: []wire.Part{{K: wire.PartText, Text: text}}})
}
