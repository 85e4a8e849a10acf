package wirecmd

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

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
		// That the attempt went well and that the loop rests is told by two goroutines.
		if last := c[len(c)-2].params + c[len(c)-1].params; !strings.Contains(last, `"addr":"unix:/a"`) || strings.Contains(last, "error") {
			t.Errorf("last reports %s", last)
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
