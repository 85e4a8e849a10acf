package wirecmd

import (
	"encoding/json/v2"
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
			ipc.LinkTook.Send(w.store.conn, ipc.LinkCredit{Link: 1, Credit: ipc.Credit{Lines: ipc.WindowLines, Bytes: 1}}) //nolint:errcheck // test
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
		ipc.LinkTook.Send(w.store.conn, ipc.LinkCredit{Link: 1, Credit: ipc.Credit{Lines: 1, Bytes: len(long)}}) //nolint:errcheck // test
		synctest.Wait()
		if got := len(w.store.linesIn()); got != 2 {
			t.Fatalf("%d lines handed over after the first was taken", got)
		}
	})
}

// What was written is told with the peer's next line, or once it is much.
func TestWrittenIsKeptBack(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		written := func() (noted, along ipc.Credit) {
			synctest.Wait()
			sum := func(method string) (n ipc.Credit) {
				for _, c := range w.store.calls(method) {
					var in struct {
						Credit  ipc.Credit `json:"credit"`
						Written ipc.Credit `json:"written"`
					}
					json.Unmarshal([]byte(c.params), &in) //nolint:errcheck // ours
					n.Lines += in.Credit.Lines + in.Written.Lines
					n.Bytes += in.Credit.Bytes + in.Written.Bytes
				}
				return n
			}
			return sum(ipc.LinkWritten.Name), sum(ipc.LinkIn.Name)
		}
		push := func(n int) {
			for i := range n {
				w.store.out(1, ipc.OutParams{}, fmt.Sprintf(`{"t":"msg","id":"%04d"}`, i))
				p.next()
			}
		}
		push(ipc.HeldLines - 1)
		if noted, along := written(); noted.Lines+along.Lines != 0 {
			t.Errorf("told %v and %v too early", noted, along)
		}
		p.write(p.msg("x", "1"))
		if noted, along := written(); noted.Lines != 0 || along != (ipc.Credit{Lines: ipc.HeldLines - 1, Bytes: (ipc.HeldLines - 1) * 23}) {
			t.Errorf("told %v and %v with a line", noted, along)
		}
		push(ipc.HeldLines)
		if noted, _ := written(); noted.Lines != ipc.HeldLines {
			t.Errorf("told %v of much", noted)
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
