package wirecmd

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
)

// When every place is taken, the stranger that has been silent longest goes: not a peer
// that the home knows, nor one that it wrote to meanwhile.
func TestStrangersMakeRoom(t *testing.T) {
	inBubble(t, config.Settings{}, func(w *world) {
		known := map[awp.Key]bool{identity(2).Key: true}
		w.store.admit = func(p ipc.AdmitParams) (ipc.AdmitResult, bool) { return ipc.AdmitResult{Known: known[p.Peer]}, true }
		friend, penpal, idle, busy := w.connect(identity(2)), w.connect(identity(3)), w.connect(identity(4)), w.connect(identity(5))
		for _, p := range []*rawPeer{friend, penpal, idle, busy} {
			p.open()
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		w.store.out(2, ipc.OutParams{}, `{"t":"msg","id":"x"}`)
		penpal.next()
		busy.write(busy.msg("th", "1"))
		synctest.Wait()
		s := w.session()
		s.mu.Lock()
		mine := len(s.links)
		s.leaving = mine - maxLinks // as if there were so many more
		s.mu.Unlock()

		late := w.connect(identity(6))
		late.greet()
		idle.expectEnd()
		late.expect("resume")
		synctest.Wait()
		if downs := w.store.calls(ipc.LinkDown.Name); len(downs) != 1 || !strings.Contains(downs[0].params, `"link":3`) || !strings.Contains(downs[0].params, "idle longest") {
			t.Errorf("down: %v", downs)
		}
		for _, id := range []int{2, 3, 5, 6} {
			if s.linked(identity(id).Key) == nil {
				t.Errorf("peer %d lost its link", id)
			}
		}

		for _, p := range []int{4, 5} { // the strangers; then only known ones are left
			w.store.out(uint64(p), ipc.OutParams{}, `{"t":"msg","id":"x"}`)
		}
		busy.next()
		w.store.out(5, ipc.OutParams{}, `{"t":"msg","id":"x"}`)
		late.next()
		turned := w.connect(identity(7))
		turned.greet()
		turned.expectEnd()
		if s.linked(friend.id.Key) == nil {
			t.Error("a known peer lost its link")
		}
	})
}
