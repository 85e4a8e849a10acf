package wirecmd

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// While the outbox waits to be written, control lines pass it.
func TestControlGoesAhead(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		synctest.Wait()
		<-p.gate
		var outbox []string
		for i := range 40 {
			outbox = append(outbox, fmt.Sprintf(`{"t":"msg","id":"%d","pad":"%s"}`, i, strings.Repeat("x", copyBytes)))
		}
		w.store.out(1, ipc.OutParams{}, outbox...)
		synctest.Wait()
		w.store.out(1, ipc.OutParams{Control: true}, `{"t":"ack","id":"c"}`)
		synctest.Wait()
		p.gate <- struct{}{}
		before := 0
		for {
			l := p.next()
			if strings.HasPrefix(l, `{"t":"ack"`) {
				break
			}
			before++
		}
		if before > wire.OutboxBatch {
			t.Errorf("%d outbox lines went before the ack", before)
		}
	})
}

func TestBadLinesOnALink(t *testing.T) {
	for name, tt := range map[string]struct {
		write string
		code  wire.Code
	}{
		"text":         {"hello\n", wire.BadFrame},
		"cut UTF-8":    {"{\"t\":\"\xff\"}\n", wire.BadFrame},
		"no type":      {"{}\n", wire.BadFrame},
		"odd resume":   {`{"t":"resume","seen":3}` + "\n", wire.BadFrame},
		"endless line": {strings.Repeat("x", wire.MaxLine+100), wire.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config.Settings{}, func(w *world) {
				p := w.connect(identity(2))
				p.greet()
				p.expect(wire.TypeResume)
				p.write(p.msg("x", "before"))
				p.nc.Write([]byte(tt.write)) //nolint:errcheck // awp-wire may close before the end
				e, _ := wire.Decode[wire.Err]([]byte(p.expect(wire.TypeErr)))
				if e.Code != tt.code {
					t.Errorf("err %s, want %s", e.Code, tt.code)
				}
				p.expectEnd()
				synctest.Wait()
				if got := w.store.linesIn(); len(got) != 1 || got[0] != p.msg("x", "before") {
					t.Errorf("store got %q", got)
				}
				if c := w.store.calls(ipc.LinkDown.Name); len(c) != 1 {
					t.Errorf("down: %v", c)
				}
			})
		})
	}
}

func TestErrOfThePeer(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		p.write(`{"t":"err","code":"blob_refused","ref":"b"}`, `{"t":"err","code":"bad_frame","detail":"no"}`)
		p.expectEnd()
		synctest.Wait()
		if got := w.store.linesIn(); len(got) != 2 {
			t.Errorf("store got %q", got)
		}
		if c := w.store.calls(ipc.LinkDown.Name); len(c) != 1 || !strings.Contains(c[0].params, "peer sent err bad_frame: no") {
			t.Errorf("down: %v", c)
		}
	})
}

func TestPings(t *testing.T) {
	inBubble(t, config.Settings{PingInterval: 300 * time.Millisecond}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		p.write(`{"t":"ping","id":"mine"}`)
		if l := p.expect(wire.TypePong); !strings.Contains(l, `"re":"mine"`) {
			t.Errorf("pong %s", l)
		}
		ping, _ := wire.ParseEnvelope([]byte(p.expect(wire.TypePing)))
		time.Sleep(7 * time.Millisecond)
		p.write(p.encode(wire.Pong{Envelope: wire.Envelope{T: wire.TypePong, ID: "q", TS: "x", Re: ping.ID}}))
		synctest.Wait()
		if c := w.store.calls(ipc.LinkRTT.Name); len(c) != 1 || c[0].params != `{"link":1,"rtt_ms":7}` {
			t.Errorf("rtt: %v", c)
		}
		began := time.Now()
		p.expect(wire.TypePing)
		p.expect(wire.TypePing)
		p.expectEnd()
		if took := time.Since(began); took > 1200*time.Millisecond {
			t.Errorf("dead peer dropped after %v", took)
		}
		synctest.Wait()
		if c := w.store.calls(ipc.LinkDown.Name); len(c) != 1 || !strings.Contains(c[0].params, "does not answer pings") {
			t.Errorf("down: %v", c)
		}
	})
}

func TestStoreClosesALink(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		synctest.Wait()
		w.store.out(1, ipc.OutParams{}, `{"t":"msg","id":"a"}`)
		p.expect(wire.TypeMsg)
		w.store.out(1, ipc.OutParams{Control: true, Close: true}, `{"t":"err","code":"internal"}`)
		p.expect(wire.TypeErr)
		w.store.out(1, ipc.OutParams{}, `{"t":"msg","id":"b"}`)
		p.expectEnd()
	})
}

// A peer that asks and does not read is cut off before its answers fill the memory.
func TestPeerThatDoesNotRead(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		synctest.Wait()
		<-p.gate
		io.WriteString(p.nc, strings.Repeat(`{"t":"ping","id":"x"}`+"\n", wire.ControlQueue+1000)) //nolint:errcheck // cut off on the way
		synctest.Wait()
		p.gate <- struct{}{}
		if c := w.store.calls(ipc.LinkDown.Name); len(c) != 1 || !strings.Contains(c[0].params, "asks more than it reads") {
			t.Errorf("down: %v", c)
		}
	})
}

func TestNothingSecretInTheLog(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		p.write(p.msg("x", "a secret"), "junk")
		p.expect(wire.TypeErr)
		p.expectEnd()
		synctest.Wait()
		for _, secret := range []string{"a secret", "unix:", p.id.Key.Short(), awp.KeyPrefix} {
			if strings.Contains(w.log.String(), secret) {
				t.Errorf("the log shows %q:\n%s", secret, w.log)
			}
		}
	})
}

func TestTrace(t *testing.T) {
	inBubble(t, config.Settings{Trace: true}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		p.write(p.msg("x", "to be seen"))
		synctest.Wait()
		p.nc.Close()
		synctest.Wait()
		for _, want := range []string{"to be seen", "dir=in", "dir=out", "resume"} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the trace lacks %q", want)
			}
		}
	})
}
