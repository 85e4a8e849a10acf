//go:build linux

package nettest

import (
	"testing"
	"time"
)

// Only one side has something to say while the network of one home is silently away. Its
// link is given up within 5 s. What the home behind the cut says arrives within seconds of
// the network's return. What waits for that home may take as long again as the outage: its
// own connection to the relay hangs, nobody there has a reason to look, and tailcat 0.6.0
// offers no way to renew it.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name, peer string
		who        func(*lab) *home
		again      time.Duration // this many outages longer
	}{
		{"of the home behind the cut", "b@net", func(l *lab) *home { return l.a }, 0},
		{"for the home behind the cut", "a@net", func(l *lab) *home { return l.b }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := connectedLab(t, directLab)
			l.untilDirect()
			h := c.who(l)
			for _, away := range []time.Duration{3 * time.Second, 20 * time.Second} {
				l.ra.silence()
				began := time.Now()
				h.run("send", c.peer, "into the silence", "--wait-ack", "0")
				if away > recoverWithin {
					noticed := h.until(recoverWithin+busy, "the outage in status", func() bool { return !connected(h, c.peer) })
					t.Logf("noticed after %v", noticed.Round(10*time.Millisecond))
				}
				time.Sleep(away - time.Since(began))
				l.ra.heal()
				took := h.until(c.again*away+recoverWithin+busy, "delivery", func() bool { return h.status().Outbox == 0 })
				t.Logf("away for %v: delivered %v after the return", away, took.Round(10*time.Millisecond))
			}
		})
	}
}

func connected(h *home, name string) bool {
	for _, p := range h.status().Peers {
		if p.Name == name {
			return p.Connected
		}
	}
	return false
}
