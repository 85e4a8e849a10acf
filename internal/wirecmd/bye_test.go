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
