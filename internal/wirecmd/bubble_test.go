package wirecmd

import (
	"encoding/json/v2"
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

func TestHandshakeAndBothWays(t *testing.T) {
	inBubble(t, config.Settings{Advertise: "unix:/here"}, func(w *world) {
		p := w.connect(identity(2))
		p.greet()
		h, err := wire.Decode[wire.Hello](p.ours)
		if err != nil || h.Name != "us" || h.About != "a test" || h.Addr != "unix:/here" || h.Nonce == "" || strings.Join(h.Caps, " ") != strings.Join(wire.Caps(), " ") {
			t.Errorf("hello %+v, %v", h, err)
		}
		r, err := wire.Decode[wire.Resume]([]byte(p.expect(wire.TypeResume)))
		if err != nil || r.Seen["th"] != "01" {
			t.Errorf("resume %+v, %v", r, err)
		}
		odd := `{"t":"resume", "seen":{"x":"1"}, "odd": true }`
		msg := ` {"th":"x","t":"msg","id":"1","parts":[ ]}` + "\r"
		p.write(odd, msg, `{"t":"later","id":"2"}`)
		synctest.Wait()
		if got, want := w.store.story(), "link.claim identity.sign link.admit link.resume link.in"; got != want {
			t.Errorf("store heard %s, want %s", got, want)
		}
		if c := w.store.calls(ipc.LinkResume.Name); len(c) != 1 || c[0].lines[0] != odd {
			t.Errorf("resume came as %v", c)
		}
		if got := w.store.linesIn(); strings.Join(got, "|") != msg+`|{"t":"later","id":"2"}` {
			t.Errorf("store got %q", got)
		}
		if c := w.store.calls(ipc.LinkAdmit.Name); c[0].lines[0] != string(p.hello) {
			t.Errorf("admission of %q, sent %q", c[0].lines[0], p.hello)
		}
		w.store.out(1, ipc.OutParams{}, `{"t":"msg", "id":"a"}`, `{"t":"msg","id":"b"}`)
		w.store.out(1, ipc.OutParams{Control: true}, `{"t":"ack"}`)
		seen := map[string]int{}
		for range 3 {
			env, _ := wire.ParseEnvelope([]byte(p.next()))
			seen[env.T]++
		}
		if seen["msg"] != 2 || seen["ack"] != 1 {
			t.Errorf("peer got %v", seen)
		}
		synctest.Wait()
		written := 0
		for _, c := range w.store.calls(ipc.LinkWritten.Name) {
			var n ipc.LinkCount
			json.Unmarshal([]byte(c.params), &n) //nolint:errcheck // ours
			written += n.Lines
		}
		if written != 2 {
			t.Errorf("%d lines written, want 2", written)
		}
		p.nc.Close()
		synctest.Wait()
		if c := w.store.calls(ipc.LinkDown.Name); len(c) != 1 || c[0].params != `{"link":1,"reason":"closed by the peer"}` {
			t.Errorf("down: %v", c)
		}
	})
}

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

func TestRefusedByTheStore(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.admit = func(ipc.AdmitParams) (ipc.AdmitResult, bool) {
			return ipc.AdmitResult{Refused: "not on the list"}, true
		}
		p := w.connect(identity(2))
		p.greet()
		e, _ := wire.Decode[wire.Err]([]byte(p.expect(wire.TypeErr)))
		if e.Code != wire.AuthFailed || e.Detail != "not on the list" {
			t.Errorf("err %+v", e)
		}
		p.expectEnd()
		if c := w.store.calls(ipc.LinkDown.Name); c != nil {
			t.Errorf("a link that never was is down: %v", c)
		}
	})
}

func TestStrangers(t *testing.T) {
	for name, tt := range map[string]struct {
		write string
		code  wire.Code
	}{
		"text":             {"hello\n", wire.BadFrame},
		"array":            {"[]\n", wire.BadFrame},
		"message":          {`{"t":"msg","id":"m"}` + "\n", wire.BadFrame},
		"version":          {`{"t":"hello","v":99}` + "\n", wire.BadVersion},
		"own key":          {`{"t":"hello","key":"` + identity(1).Key.String() + `"}` + "\n", wire.AuthFailed},
		"too long":         {strings.Repeat("x", wire.MaxLine+1), wire.TooLarge},
		"too long, and on": {strings.Repeat("x", 3*wire.MaxLine) + "\n" + `{"t":"ping"}` + "\n", wire.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config.Settings{}, func(w *world) {
				p := w.connect(identity(2))
				p.expect(wire.TypeHello)
				p.nc.Write([]byte(tt.write)) //nolint:errcheck // awp-wire may close before the end
				e, _ := wire.Decode[wire.Err]([]byte(p.expect(wire.TypeErr)))
				if e.Code != tt.code {
					t.Errorf("err %s, want %s", e.Code, tt.code)
				}
				began := time.Now()
				p.expectEnd()
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("closed after %v", took)
				}
				if c := w.store.calls(ipc.LinkAdmit.Name, ipc.IdentitySign.Name); c != nil {
					t.Errorf("store was asked %v", c)
				}
			})
		})
	}
}

func TestSilentStranger(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		began := time.Now()
		p := w.connect(identity(2))
		p.expect(wire.TypeHello)
		p.expectEnd()
		if took := time.Since(began); took != wire.HandshakeTimeout {
			t.Errorf("closed after %v", took)
		}
	})
}

func TestTooManyStrangers(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		var peers []*rawPeer
		for range maxHandshakes {
			peers = append(peers, w.connect(identity(2)))
		}
		synctest.Wait()
		w.connect(identity(2)).expectEnd()
		peers[0].nc.Close()
		synctest.Wait()
		w.connect(identity(2)).expect(wire.TypeHello)
		for _, p := range peers {
			p.nc.Close()
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

func TestResumeThatNeverComes(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.greet()
		p.expect(wire.TypeResume)
		time.Sleep(wire.ResumeTimeout - time.Second)
		synctest.Wait()
		if c := w.store.calls(ipc.LinkResume.Name); c != nil {
			t.Fatalf("replay began early: %v", c)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := w.store.calls(ipc.LinkResume.Name); len(c) != 1 || c[0].lines != nil {
			t.Fatalf("resume: %v", c)
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

// A store that answers too late has a link that nobody carries: it is told.
func TestAdmissionThatComesLate(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		w.store.admit = func(ipc.AdmitParams) (ipc.AdmitResult, bool) {
			time.Sleep(wire.HandshakeTimeout + time.Second)
			return ipc.AdmitResult{}, true
		}
		p := w.connect(identity(2))
		p.greet()
		p.expectEnd()
		synctest.Wait()
		if got := w.store.story(); !strings.HasSuffix(got, "link.admit link.down") {
			t.Errorf("store heard %s", got)
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
