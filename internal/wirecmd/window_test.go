package wirecmd

import (
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
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

// Resume lines count for the budget that all links share: a hundred peers that send the
// largest there is while awp-store stalls make nothing wait beyond it.
func TestResumesShareTheBudget(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.keepsResume = true
		seen := map[awp.ThreadID]awp.MessageID{awp.ThreadID(strings.Repeat("t", 1000)): "x"}
		for i := range 900 {
			seen[awp.ThreadID(fmt.Sprintf("%d%s", i, strings.Repeat("t", 1000)))] = "x"
		}
		const peers = 50
		for i := range peers {
			p := w.connect(identity(2 + i))
			p.greet()
			p.expect(wire.TypeResume)
			go p.nc.Write([]byte(p.encode(wire.Resume{Envelope: p.envelope(wire.TypeResume), Seen: seen}) + "\n")) //nolint:errcheck // ends with the bubble
		}
		time.Sleep(5 * time.Second) // less than the wait for a resume
		synctest.Wait()
		bytes := 0
		for _, c := range w.store.calls(ipc.LinkResume.Name) {
			for _, l := range c.lines {
				bytes += len(l)
			}
		}
		if bytes > budgetBytes || bytes < budgetBytes/2 {
			t.Errorf("%d bytes of resumes wait for awp-store, bound %d", bytes, budgetBytes)
		}
	})
}

// However many strangers come and go while awp-store does not answer, few of their hello
// lines wait for it.
func TestUnansweredHellosAreBounded(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.stalls = true
		for i := range 4 * maxAsks {
			p := w.connect(identity(2))
			p.expect(wire.TypeHello)
			p.write(p.encode(wire.Hello{Envelope: p.envelope(wire.TypeHello), Key: identity(2 + i%50).Key.String(), Name: "raw", Nonce: wire.NewNonce(nil)}))
			synctest.Wait()
		}
		if n := len(w.store.calls(ipc.IdentitySign.Name)); n > maxAsks {
			t.Errorf("%d hello lines wait for awp-store, bound %d", n, maxAsks)
		}
	})
}

// A budget that others used up lets a short line of a quiet link pass, and one only.
func TestShortLinePassesAFullBudget(t *testing.T) {
	b := budget{free: 100}
	loud, quiet := booking{of: &b}, booking{of: &b}
	box := newMailbox()
	if !loud.take(100, box) || loud.take(1, box) {
		t.Fatal("the budget does not hold")
	}
	if !quiet.take(shortLine, box) || quiet.take(1, box) {
		t.Error("not just one short line passed")
	}
	quiet.giveAll()
	if quiet.take(shortLine+1, box) {
		t.Error("a long line passed")
	}
	loud.giveAll()
	if b.free != 100 {
		t.Errorf("%d bytes are free at the end", b.free)
	}
}
