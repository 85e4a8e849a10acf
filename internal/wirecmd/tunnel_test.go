package wirecmd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// fakeTunnel is a tunnel whose state a test sets.
type fakeTunnel struct {
	report  func(string, error)
	accept  func(net.Conn)
	ready   chan struct{}
	dialed  chan string
	closed  atomic.Bool
	ended   atomic.Bool
	waiting chan net.Conn // what Dial returns
}

func newFakeTunnel() *fakeTunnel {
	return &fakeTunnel{ready: make(chan struct{}), dialed: make(chan string, 100), waiting: make(chan net.Conn, 100)}
}

func (f *fakeTunnel) Listen(ctx context.Context, report func(string, error), accept func(net.Conn)) {
	f.report, f.accept = report, accept
	close(f.ready)
	<-ctx.Done()
	f.ended.Store(true)
}

func (f *fakeTunnel) Dial(_ context.Context, addr string) (net.Conn, error) {
	f.dialed <- addr
	select {
	case nc := <-f.waiting:
		return nc, nil
	default:
		return nil, &awp.Error{Code: awp.Unreachable, Message: "timed out"}
	}
}

func (f *fakeTunnel) Close() {
	if !f.ended.Load() {
		panic("closed before Listen ended")
	}
	f.closed.Store(true)
}

var (
	ownAddress   = "tc" + strings.Repeat("o", 60)
	theirAddress = "tc" + strings.Repeat("p", 60)
)

// inTunnel runs fn with a world that listens on a fake tunnel.
func inTunnel(t *testing.T, set config.Settings, fn func(w *world, f *fakeTunnel)) {
	inBubble(t, set, func(w *world) {
		f := newFakeTunnel()
		w.d.cfg.Tunnel = f
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan struct{})
		go func() { defer close(ended); w.d.listen(ctx) }()
		defer func() { cancel(); <-ended }()
		<-f.ready
		fn(w, f)
	})
}

func (w *world) lastListening() string {
	synctest.Wait()
	c := w.store.calls(ipc.LinkListening.Name)
	return c[len(c)-1].params
}

// Every change of the tunnel's state is told, and nothing twice.
func TestTunnelReports(t *testing.T) {
	inTunnel(t, config.Settings{Listen: []string{config.ListenTailcat}}, func(w *world, f *fakeTunnel) {
		if got := w.lastListening(); !strings.Contains(got, `"addresses":[]`) || !strings.Contains(got, `"tailcat_enabled":true`) {
			t.Errorf("starting: %s", got)
		}
		if w.d.advertised() != "" {
			t.Error("an address is advertised before there is one")
		}
		f.report("", &awp.Error{Message: "the relay does not answer", Hint: "is there a network?"})
		if got := w.lastListening(); !strings.Contains(got, `"tailcat_error":"the relay does not answer (is there a network?)"`) {
			t.Errorf("no relay: %s", got)
		}
		f.report(ownAddress, nil)
		if got := w.lastListening(); !strings.Contains(got, `"addresses":["tailcat:`+ownAddress+`"]`) || !strings.Contains(got, `"tailcat":"`+ownAddress+`"`) || strings.Contains(got, "error") {
			t.Errorf("up: %s", got)
		}
		if w.d.advertised() != "tailcat:"+ownAddress {
			t.Errorf("advertised %s", w.d.advertised())
		}
		n := len(w.store.calls(ipc.LinkListening.Name))
		f.report(ownAddress, nil)
		f.report(ownAddress, errors.New("the relay does not answer"))
		if got := w.lastListening(); !strings.Contains(got, `"tailcat":"`+ownAddress) || !strings.Contains(got, "does not answer") {
			t.Errorf("relay lost: %s", got)
		}
		if got := len(w.store.calls(ipc.LinkListening.Name)) - n; got != 1 {
			t.Errorf("%d reports of one change", got)
		}
		if log := w.log.String(); strings.Contains(log, ownAddress) {
			t.Errorf("the log has the address:\n%s", log)
		}
	})
}

// Tailcat addresses go through the tunnel; what it accepts is greeted like anything else;
// a network that came back ends the waits of dialling loops.
func TestTunnelCarries(t *testing.T) {
	inTunnel(t, config.Settings{Listen: []string{config.ListenTailcat}}, func(w *world, f *fakeTunnel) {
		w.setDial(func(ctx context.Context, a wire.Addr) (net.Conn, error) { return f.Dial(ctx, a.Rest) })
		here, there := net.Pipe()
		go f.accept(here)
		p := newRawPeer(t, identity(2), there)
		p.open()
		if c := w.store.calls(ipc.LinkAdmit.Name); len(c) != 1 || !strings.Contains(c[0].params, `"via":"tailcat"`) {
			t.Errorf("admission: %v", c)
		}
		p.nc.Close()

		w.want(identity(3), true, ipc.DialTarget{Addr: "tailcat:" + theirAddress, Source: "connect"})
		time.Sleep(20 * time.Minute)
		for len(f.dialed) > 0 {
			if to := <-f.dialed; to != theirAddress {
				t.Errorf("dialed %s", to)
			}
		}
		f.report(ownAddress, errors.New("the relay does not answer"))
		synctest.Wait()
		before := len(f.dialed)
		f.report(ownAddress, nil)
		synctest.Wait()
		if len(f.dialed) != before+1 {
			t.Errorf("%d dials when the network came back", len(f.dialed)-before)
		}
	})
}

// Nothing says that a tunnel is dead. A line that was written into it has its link tested,
// given up and made anew within seconds.
func TestSilenceAfterALine(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		dialed := w.pairDial(identity(2))
		w.want(identity(2), true, ipc.DialTarget{Addr: "tailcat:" + theirAddress, Source: "connect"})
		p := <-dialed
		p.open()
		p.answerPing()
		w.store.out(1, ipc.OutParams{Link: 1}, `{"t":"msg","id":"m1"}`)
		p.expect(wire.TypeMsg)
		began := time.Now()
		p.expect(wire.TypePing) // and never an answer
		p.expectEnd()
		if took := time.Since(began); took < wire.AnswerWithin-100*time.Millisecond || took > wire.AnswerWithin+100*time.Millisecond {
			t.Errorf("given up after %v", took)
		}
		<-dialed
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("dialed again after %v", took)
		}
	})
}

// An idle link is left in peace: a ping each interval, and no more.
func TestIdleLinkAfterALine(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		p := w.connect(identity(2))
		p.open()
		p.answerPing()
		w.store.out(1, ipc.OutParams{Link: 1}, `{"t":"msg","id":"m1"}`)
		p.expect(wire.TypeMsg)
		began := time.Now()
		for range 4 {
			p.answerPing()
		}
		if took := time.Since(began); took < 80*time.Second {
			t.Errorf("4 pings within %v", took)
		}
	})
}

// answerPing waits for a ping and answers it.
func (p *rawPeer) answerPing() {
	ping, _ := wire.ParseEnvelope([]byte(p.expect(wire.TypePing)))
	p.write(p.encode(wire.Pong{Envelope: wire.Envelope{T: wire.TypePong, ID: "q", TS: "x", Re: ping.ID}}))
}
