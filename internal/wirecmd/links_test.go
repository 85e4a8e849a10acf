package wirecmd

import (
	"context"
	"encoding/json/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

func TestByeOfThePeer(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		w.store.parked = func() bool {
			// Noted before the peer is told: nothing but what was sent earlier is there.
			if len(p.lines) != 0 {
				t.Error("the peer was answered before its bye was noted")
			}
			return true
		}
		p.write(p.msg("x", "last"), `{"t":"bye","id":"b1","reason":"done"}`)
		b, err := wire.Decode[wire.Bye]([]byte(p.expect(wire.TypeBye)))
		if err != nil || b.Re != "b1" || b.Reason != "done" {
			t.Errorf("answer %+v, %v", b, err)
		}
		w.store.out(1, ipc.OutParams{Control: true}, `{"t":"ack"}`) // too late
		p.write(p.msg("x", "later"))
		p.nc.Close()
		p.expectEnd()
		synctest.Wait()
		if got := w.store.linesIn(); len(got) != 2 {
			t.Errorf("store got %q", got)
		}
		if c := w.store.calls(ipc.LinkBye.Name); len(c) != 1 || !strings.Contains(c[0].params, `"from_peer":true`) || !strings.Contains(c[0].params, `"reason":"done"`) {
			t.Errorf("bye: %v", c)
		}
		if got := w.store.story(); !strings.HasSuffix(got, "link.bye link.in link.down") {
			t.Errorf("store heard %s", got)
		}
	})
}

func TestByeOfOurs(t *testing.T) {
	for _, answers := range []bool{true, false} {
		inBubble(t, config.Settings{}, func(w *world) {
			p := w.connect(identity(2))
			p.open()
			synctest.Wait()
			done := make(chan error, 1)
			began := time.Now()
			go func() {
				_, err := w.d.bye(w.ctx, ipc.ByeParams{Peer: p.id.Key, Reason: "enough"})
				done <- err
			}()
			b, _ := wire.Decode[wire.Bye]([]byte(p.expect(wire.TypeBye)))
			if b.Reason != "enough" {
				t.Errorf("bye %+v", b)
			}
			if c := w.store.calls(ipc.LinkBye.Name); len(c) != 1 || strings.Contains(c[0].params, "from_peer") {
				t.Errorf("the peer was told before the store: %v", c)
			}
			p.write(p.msg("x", "meanwhile"))
			w.store.out(1, ipc.OutParams{Control: true}, `{"t":"ack"}`)
			w.store.out(1, ipc.OutParams{}, `{"t":"msg"}`)
			synctest.Wait()
			if answers {
				p.write(`{"t":"bye","id":"b"}`)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			want := wire.ByeTimeout
			if answers {
				want = 0
			}
			if took := time.Since(began); took != want {
				t.Errorf("took %v, want %v", took, want)
			}
			p.expectEnd()
			if got := w.store.linesIn(); len(got) != 1 {
				t.Errorf("store got %q", got)
			}
		})
	}
}

func TestByeWithoutALink(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		_, err := w.d.bye(w.ctx, ipc.ByeParams{Peer: identity(2).Key})
		if awp.CodeOf(err) != awp.Unreachable {
			t.Errorf("got %v", err)
		}
		if c := w.store.calls(ipc.LinkBye.Name); len(c) != 1 {
			t.Errorf("parked: %v", c)
		}
	})
}

// A newer connection replaces the older one, which is over and reported before the store
// is asked to admit the newer.
func TestNewerReplaces(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		p.write(p.msg("x", "1"))
		synctest.Wait()
		q := w.connect(identity(2))
		q.open()
		q.write(q.msg("x", "2"))
		p.expectEnd()
		synctest.Wait()
		if got, want := w.store.story(), "link.claim identity.sign link.admit link.resume link.in identity.sign link.down link.admit link.resume link.in"; got != want {
			t.Errorf("store heard\n%s, want\n%s", got, want)
		}
		if c := w.store.calls(ipc.LinkDown.Name); !strings.Contains(c[0].params, `"link":1`) {
			t.Errorf("down: %v", c)
		}
	})
}

// pairDial makes every dial of w reach a raw peer of id, which the test gets.
func (w *world) pairDial(id wire.Identity) <-chan *rawPeer {
	peers := make(chan *rawPeer, 100)
	w.setDial(func(context.Context, wire.Addr) (net.Conn, error) {
		here, there := net.Pipe()
		peers <- newRawPeer(w.t, id, there)
		return here, nil
	})
	return peers
}

// Both sides dial at once: the connection of the smaller key stays, whichever is first.
func TestTieBreak(t *testing.T) {
	small, large := ordered()
	for _, tt := range []struct {
		name     string
		us, them wire.Identity
		oursIs   int // which connection comes first
		stays    int
	}{
		{"ours first, we are smaller", small, large, 1, 1},
		{"theirs first, we are smaller", small, large, 2, 2},
		{"ours first, we are larger", large, small, 1, 2},
		{"theirs first, we are larger", large, small, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, config.Settings{}, func(w *world) {
				w.store.id = tt.us
				s := w.session()
				s.hello.Key = tt.us.Key
				dialed := w.pairDial(tt.them)
				dial := func() *rawPeer {
					go s.reach(w.ctx, "unix:/there", tt.them.Key) //nolint:errcheck // seen at the other end
					return <-dialed
				}
				var first, second *rawPeer
				if tt.oursIs == 1 {
					first, second = dial(), w.connect(tt.them)
				} else {
					first, second = w.connect(tt.them), dial()
				}
				first.open()
				synctest.Wait()
				second.greet()
				synctest.Wait()
				stays, goes := first, second
				if tt.stays == 2 {
					stays, goes = second, first
					second.expect(wire.TypeResume)
				}
				goes.expectEnd()
				stays.write(`{"t":"ping","id":"still"}`)
				stays.expect(wire.TypePong)
			})
		})
	}
}

// session returns the current session.
func (w *world) session() *session {
	s, err := w.d.current(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestOutsideTheWindowTheNewerWins(t *testing.T) {
	small, large := ordered()
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.id = large
		w.session().hello.Key = large.Key
		p := w.connect(small)
		p.open()
		time.Sleep(wire.TieBreakWindow)
		dialed := w.pairDial(small)
		go w.session().reach(w.ctx, "unix:/there", awp.Key{}) //nolint:errcheck // seen at the other end
		q := <-dialed
		q.open()
		for range p.lines { // pings, and then the end
		}
		q.write(`{"t":"ping","id":"still"}`)
		q.expect(wire.TypePong)
	})
}

func (w *world) want(id wire.Identity, fresh bool, addrs ...ipc.DialTarget) {
	ipc.LinkWant.Send(w.store.conn, ipc.Want{Peer: id.Key, Addrs: addrs, New: fresh}) //nolint:errcheck // test
}

func TestDiallingLoop(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		a, b := ipc.DialTarget{Addr: "unix:/a", Source: "connect"}, ipc.DialTarget{Addr: "unix:/b", Source: "hello"}
		w.want(identity(2), false, a, b)
		synctest.Wait()
		if len(w.dials) != 2 || (<-w.dials).Rest != "/a" || (<-w.dials).Rest != "/b" {
			t.Fatal("not both addresses were tried, best first")
		}
		c := w.store.calls(ipc.LinkDial.Name)
		if len(c) != 3 || !strings.Contains(c[1].params, `"addr":"unix:/a","dialing":true,"error":"nobody listens there"`) {
			t.Errorf("reports: %v", c)
		}
		time.Sleep(10 * time.Minute)
		if n := len(w.dials) / 2; n < 9 || n > 30 {
			t.Errorf("%d rounds in 10 minutes", n)
		}
		for len(w.dials) > 0 {
			<-w.dials
		}
		dialed := w.pairDial(identity(2))
		w.want(identity(2), true, a)
		p := <-dialed
		p.open()
		synctest.Wait()
		c = w.store.calls(ipc.LinkDial.Name)
		if last := c[len(c)-1].params; !strings.Contains(last, `"addr":"unix:/a"`) || strings.Contains(last, "error") {
			t.Errorf("last report %s", last)
		}
		if c := w.store.calls(ipc.LinkAdmit.Name); len(c) != 1 || !strings.Contains(c[0].params, `"outbound":true`) || !strings.Contains(c[0].params, `"via":"unix:/a"`) {
			t.Errorf("admission: %v", c)
		}
		// The link ends, the work is not done: it is dialed again after a wait.
		p.nc.Close()
		q := <-dialed
		q.open()
		synctest.Wait()
		// No business is left: the link stays, and when it ends nobody dials.
		ipc.LinkUnwant.Send(w.store.conn, ipc.LinkPeerRef{Peer: identity(2).Key}) //nolint:errcheck // test
		synctest.Wait()
		q.write(`{"t":"ping","id":"still"}`)
		q.expect(wire.TypePong)
		q.nc.Close()
		time.Sleep(10 * time.Minute)
		if len(dialed) != 0 {
			t.Error("dialed without business")
		}
	})
}

func TestUnwantStopsTheAttempt(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		gone := make(chan struct{})
		w.setDial(func(ctx context.Context, _ wire.Addr) (net.Conn, error) {
			<-ctx.Done()
			close(gone)
			return nil, ctx.Err()
		})
		w.want(identity(2), true, ipc.DialTarget{Addr: "unix:/a", Source: "connect"})
		synctest.Wait()
		ipc.LinkUnwant.Send(w.store.conn, ipc.LinkPeerRef{Peer: identity(2).Key}) //nolint:errcheck // test
		<-gone
	})
}

// After a bye nobody dials until there is something new.
func TestByeParks(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		dialed := w.pairDial(identity(2))
		a := ipc.DialTarget{Addr: "unix:/a", Source: "connect"}
		w.want(identity(2), true, a)
		p := <-dialed
		p.open()
		p.write(`{"t":"bye","id":"b"}`)
		p.expect(wire.TypeBye)
		p.nc.Close()
		time.Sleep(10 * time.Minute)
		if len(dialed) != 0 {
			t.Fatal("dialed a peer that said bye")
		}
		w.want(identity(2), true, a)
		(<-dialed).open()
	})
}

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

// The store goes away: links end without a word, nobody is read, and when it is back the
// peers that we had dialed are dialed again.
func TestStoreComesBack(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		dialed := w.pairDial(identity(2))
		go w.d.connect(w.ctx, ipc.ConnectParams{Addr: "unix:/there"}) //nolint:errcheck // seen at the other end
		p, q := <-dialed, w.connect(identity(3))
		p.open()
		q.open()
		synctest.Wait()
		w.store.conn.Fail(errTimedOut)
		p.expectEnd()
		q.expectEnd()
		synctest.Wait()
		early := make(chan *rawPeer)
		go func() { early <- w.connect(identity(3)) }()
		synctest.Wait()
		ended := w.claim()
		defer func() { w.store.conn.Fail(errTimedOut); <-ended }()
		(<-dialed).open()
		(<-early).open()
		synctest.Wait()
		links := map[uint64]bool{}
		for _, c := range w.store.calls(ipc.LinkAdmit.Name) {
			var p ipc.AdmitParams
			json.Unmarshal([]byte(c.params), &p) //nolint:errcheck // ours
			if links[p.Link] {
				t.Errorf("number %d was used twice", p.Link)
			}
			links[p.Link] = true
		}
		if len(links) != 4 {
			t.Errorf("%d links, want 4", len(links))
		}
		if c := w.store.calls(ipc.LinkListening.Name); len(c) != 2 {
			t.Errorf("listening was reported %d times, want once a claim", len(c))
		}
	})
}

// The tie-break may close the connection that we dialed before the one that stays is
// through its admission here. For whoever waits that is no failure.
func TestConnectDuringATieBreak(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		dialed := w.pairDial(identity(2))
		result := make(chan error, 1)
		go func() {
			_, err := w.d.connect(w.ctx, ipc.ConnectParams{Addr: "unix:/there"})
			result <- err
		}()
		ours := <-dialed
		ours.greet()
		ours.expect(wire.TypeResume)
		ours.nc.Close()
		synctest.Wait()
		theirs := w.connect(identity(2))
		theirs.open()
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

func TestLoopsForgetPeers(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		s := w.session()
		for n := range 20 {
			p := w.connect(identity(n + 10))
			p.open()
			p.nc.Close()
		}
		s.dialer.post(identity(99).Key, link.Unwanted{})
		synctest.Wait()
		if len(s.peers) != 0 || len(s.dialer.loops) != 0 || len(s.links) != 0 || s.budget.free != budgetBytes {
			t.Errorf("left behind: %d peers, %d loops, %d links, budget %d", len(s.peers), len(s.dialer.loops), len(s.links), s.budget.free-budgetBytes)
		}
	})
}
