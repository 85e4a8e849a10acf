package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
)

// A clock that jumps back, while the daemon runs or while it does not, changes neither
// the order of ids nor that of what is read.
func TestClockJumpsBack(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	a.write("test.clock", "1h")
	join(t, a, b)
	sent := []awp.Sent{get[awp.Sent](a, "send", "bob", "number 0")}
	say := func() {
		t.Helper()
		text := fmt.Sprintf("number %d", len(sent))
		sent = append(sent, get[awp.Sent](a, "send", "--thread", string(sent[0].Th), text, "--wait-ack", "30s"))
	}
	say()
	a.write("test.clock", "-2h")
	say()
	a.ok("down")
	a.write("test.clock", "-48h")
	say()
	gone(t, a.kill("awp-store"))
	a.write("test.clock", "-96h")
	say()
	a.write("test.clock", "2h")
	say()
	var ids []awp.MessageID
	for _, s := range sent {
		ids = append(ids, s.ID)
		if s != sent[0] && !s.Acked {
			t.Errorf("%s is not acknowledged", s.ID)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("ids do not grow: %v", ids)
	}
	for _, h := range []*home{a, b} {
		out, at := h.ok("read", string(sent[0].Th)), 0
		for i := range sent {
			next := strings.Index(out[at:], fmt.Sprintf("number %d", i))
			if next < 0 {
				t.Fatalf("%s: number %d is not in its place:\n%s", h.name, i, out)
			}
			at += next
		}
	}
}
