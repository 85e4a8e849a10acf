package wirecmd

import (
	"encoding/json/v2"
	"testing"
	"testing/synctest"

	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/link"
	"github.com/awp-suite/awp/ipc"
)

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
