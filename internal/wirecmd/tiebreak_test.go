package wirecmd

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

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
				if tt.stays == 1 { // it must show that it is alive
					answer(first)
				}
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

// answer answers the next ping.
func answer(p *rawPeer) {
	p.t.Helper()
	for {
		env, err := wire.ParseEnvelope([]byte(p.next()))
		if err != nil {
			p.t.Fatal(err)
		}
		if env.T == wire.TypePing {
			p.write(`{"t":"pong","id":"alive","re":"` + string(env.ID) + `"}`)
			return
		}
	}
}

// A link that the tie-break favours and that says nothing is dead: the peer crashed right
// after it was connected, and is back.
func TestTieBreakNeedsALiveLink(t *testing.T) {
	small, large := ordered()
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.id = small
		w.session().hello.Key = small.Key
		dialed := w.pairDial(large)
		go w.session().reach(w.ctx, "unix:/there", awp.Key{}) //nolint:errcheck // seen at the other end
		crashed := <-dialed
		crashed.open()
		synctest.Wait()
		back := w.connect(large)
		back.greet()
		began := time.Now()
		back.expect(wire.TypeResume)
		if took := time.Since(began); took != wire.TieBreakProof {
			t.Errorf("admitted after %v", took)
		}
	})
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
