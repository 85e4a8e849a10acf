//go:build linux

package nettest

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A message that is sent while the network is away arrives within seconds of its return,
// though no transport says that anything is wrong.
func TestOutage(t *testing.T) {
	// With loopback as the only interface, tailcat would take its loss for the end of all
	// networks and stop for good; no machine is like that.
	for _, args := range []string{
		"link add other0 type veth peer name other1", "addr add 198.18.0.1/24 dev other0",
		"link set other0 up", "link set other1 up",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() { exec.Command("ip", "link", "del", "other0").Run() }) //nolint:errcheck // the namespace goes anyhow
	p := newPair(t)
	p.b.says("a@net", "before")
	for _, away := range []time.Duration{3 * time.Second, 20 * time.Second} {
		if err := loopback(false); err != nil {
			t.Fatal(err)
		}
		p.b.run("send", "a@net", "into the silence")
		noticed := time.Duration(0)
		began := time.Now()
		for time.Since(began) < away {
			if noticed == 0 && !connected(p.b, "a@net") {
				noticed = time.Since(began)
			}
		}
		if err := loopback(true); err != nil {
			t.Fatal(err)
		}
		took := p.b.until(10*time.Second, "delivery", func() bool { return p.b.status().Outbox == 0 })
		t.Logf("away for %v: noticed after %v, delivered %v after the return", away, noticed.Round(10*time.Millisecond), took.Round(10*time.Millisecond))
		if away > 6*time.Second && (noticed == 0 || noticed > 6*time.Second) {
			t.Errorf("noticed after %v", noticed)
		}
		if took > 5*time.Second {
			t.Errorf("delivered %v after the network was back", took)
		}
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
