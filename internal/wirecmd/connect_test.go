package wirecmd

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

func TestConnectToAnAddress(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		dialed := w.pairDial(identity(2))
		type result struct {
			ipc.ConnectResult
			err error
		}
		connect := func(p ipc.ConnectParams) <-chan result {
			c := make(chan result, 1)
			go func() {
				r, err := w.d.connect(w.ctx, p)
				c <- result{r, err}
			}()
			return c
		}
		r := connect(ipc.ConnectParams{Addr: "unix:///there"})
		p := <-dialed
		p.greet()
		p.expect(wire.TypeResume)
		synctest.Wait()
		if len(r) != 0 {
			t.Fatal("connected before the peer accepted us")
		}
		p.write(p.msg("x", "hi"))
		if got := <-r; got.err != nil || got.Peer != p.id.Key || got.Via != "unix:/there" || got.Already {
			t.Errorf("got %+v", got)
		}
		// Again, and by key: it is up already, and nothing is dialed.
		known := ipc.Want{Peer: p.id.Key, Addrs: []ipc.DialTarget{{Addr: "unix:/there", Source: "connect"}}}
		w.store.known = func(ipc.LinkPeerParams) (ipc.Want, bool) { return known, true }
		for _, params := range []ipc.ConnectParams{{Addr: "unix:/there"}, {Peer: p.id.Key}} {
			if got := <-connect(params); got.err != nil || !got.Already || got.Peer != p.id.Key {
				t.Errorf("got %+v", got)
			}
		}
		if len(dialed) != 0 {
			t.Error("dialed although a link was up")
		}
	})
}

func TestConnectFails(t *testing.T) {
	key := identity(2).Key
	at := func(addrs ...string) func(ipc.LinkPeerParams) (ipc.Want, bool) {
		w := ipc.Want{Peer: key}
		for _, a := range addrs {
			w.Addrs = append(w.Addrs, ipc.DialTarget{Addr: a, Source: "connect"})
		}
		return func(ipc.LinkPeerParams) (ipc.Want, bool) { return w, true }
	}
	answers := func(id wire.Identity, then func(*rawPeer)) func(*world) {
		return func(w *world) {
			peers := w.pairDial(id)
			go func() {
				select {
				case p := <-peers:
					then(p)
				case <-w.ctx.Done():
				}
			}()
		}
	}
	refuse := func(p *rawPeer) {
		p.greet()
		p.write(`{"t":"err","code":"auth","detail":"not you"}`)
		p.nc.Close()
	}
	for _, tt := range []struct {
		name   string
		params ipc.ConnectParams
		known  func(ipc.LinkPeerParams) (ipc.Want, bool)
		there  func(*world)
		code   awp.Code
		text   string
	}{
		{"not an address", ipc.ConnectParams{Addr: "bob"}, nil, nil, awp.Invalid, "not an address"},
		{"nothing", ipc.ConnectParams{}, nil, nil, awp.Invalid, "neither"},
		{"unknown peer", ipc.ConnectParams{Peer: key}, nil, nil, awp.NotFound, "no such peer"},
		{"peer without address", ipc.ConnectParams{Peer: key}, at(), nil, awp.Invalid, "no address"},
		{"nobody there", ipc.ConnectParams{Addr: "unix:/x"}, nil, nil, awp.Unreachable, "nobody listens"},
		{"nobody at any address", ipc.ConnectParams{Peer: key}, at("unix:/x", "unix:/y"), nil, awp.Unreachable, "nobody listens"},
		{"refused", ipc.ConnectParams{Addr: "unix:/x"}, nil, answers(identity(2), refuse), awp.Denied, "not you"},
		{"another's address", ipc.ConnectParams{Peer: key}, at("unix:/x"), answers(identity(3), (*rawPeer).greet), awp.Unreachable, "address belongs to " + identity(3).Key.Short()},
		{"mute", ipc.ConnectParams{Addr: "unix:/x", Timeout: 2000}, nil, answers(identity(2), func(p *rawPeer) {}), awp.Unreachable, "timed out"},
		{"hangs up", ipc.ConnectParams{Addr: "unix:/x"}, nil, answers(identity(2), func(p *rawPeer) { p.nc.Close() }), awp.Unreachable, "closed"},
		{"ourselves", ipc.ConnectParams{Addr: "unix:/x"}, nil, answers(identity(1), func(p *rawPeer) {
			p.ours = []byte(p.expect(wire.TypeHello))
			p.write(p.encode(wire.Hello{Envelope: p.envelope(wire.TypeHello), Key: p.id.Key.String()}))
		}), awp.Unreachable, "own key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, config.Settings{}, func(w *world) {
				w.store.known = tt.known
				if tt.there != nil {
					tt.there(w)
				}
				_, err := w.d.connect(w.ctx, tt.params)
				if awp.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v (%s), want %s with %q", err, awp.CodeOf(err), tt.code, tt.text)
				}
			})
		})
	}
}
