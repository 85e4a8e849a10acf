package wirecmd

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// A peer whose lines awp-store does not take is not read, and is not called dead for it;
// another peer goes on.
func TestWindow(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.took = false
		p, q := w.connect(identity(2)), w.connect(identity(3))
		p.open()
		q.open()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range 1000 {
				p.write(p.msg("x", fmt.Sprint(i)))
			}
		}()
		synctest.Wait()
		if got := len(w.store.linesIn()); got != ipc.WindowLines {
			t.Fatalf("%d lines handed over, want %d", got, ipc.WindowLines)
		}
		select {
		case <-sent:
			t.Fatal("all lines were read")
		default:
		}
		q.write(q.msg("y", "1"))
		synctest.Wait()
		if got := w.store.linesIn(); got[len(got)-1] != q.msg("y", "1") {
			t.Fatal("another peer's line did not come through")
		}
		go func() { // keeps q alive
			for l := range q.lines {
				if env, err := wire.ParseEnvelope([]byte(l)); err == nil && env.T == wire.TypePing {
					q.write(q.encode(wire.Pong{Envelope: wire.Envelope{T: wire.TypePong, ID: "q", TS: "x", Re: env.ID}}))
				}
			}
		}()
		time.Sleep(5 * time.Minute)
		if c := w.store.calls(ipc.LinkDown.Name); c != nil {
			t.Fatalf("down: %v", c)
		}
		for range 1000 / ipc.WindowLines {
			ipc.LinkTook.Send(w.store.conn, ipc.LinkCount{Link: 1, Lines: ipc.WindowLines, Bytes: 1}) //nolint:errcheck // test
			synctest.Wait()
		}
		<-sent
		synctest.Wait()
		if got := len(w.store.linesIn()); got != 1001 {
			t.Errorf("%d lines handed over", got)
		}
		p.nc.Close()
		q.nc.Close()
	})
}

// One line fits an empty window, whatever its size, and nothing more fits beside it.
func TestWindowOfLongLines(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.took = false
		p := w.connect(identity(2))
		p.open()
		long := p.msg("x", strings.Repeat("y", 600<<10))
		go p.nc.Write([]byte(long + "\n" + long + "\n")) //nolint:errcheck // ends with the bubble
		synctest.Wait()
		if got := len(w.store.linesIn()); got != 1 {
			t.Fatalf("%d lines handed over", got)
		}
		ipc.LinkTook.Send(w.store.conn, ipc.LinkCount{Link: 1, Lines: 1, Bytes: len(long)}) //nolint:errcheck // test
		synctest.Wait()
		if got := len(w.store.linesIn()); got != 2 {
			t.Fatalf("%d lines handed over after the first was taken", got)
		}
	})
}

func TestBudget(t *testing.T) {
	b := budget{free: 100}
	one, two := newMailbox(), newMailbox()
	if !b.take(60, one) || b.take(60, two) || b.take(60, two) || !b.take(40, one) {
		t.Fatal("wrong arithmetic")
	}
	select {
	case <-two.wake:
		t.Fatal("woken without room")
	default:
	}
	b.give(60)
	<-two.wake
	if !b.take(60, two) || b.free != 0 {
		t.Errorf("%d left", b.free)
	}
}
