package link

import (
	"bytes"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// keys returns two keys whose order as text is not their order as bytes.
func keys(t *testing.T) (small, large awp.Key) {
	t.Helper()
	small[0], large[0] = 0xf8, 0x00 // "-…" and "A…" in base64url
	if small.String() >= large.String() || bytes.Compare(small[:], large[:]) < 0 {
		t.Fatalf("%s and %s do not do", small, large)
	}
	return small, large
}

func TestSurvives(t *testing.T) {
	small, large := keys(t)
	tests := []struct {
		name       string
		old, newer awp.Key // who dialed
		age        time.Duration
		want       bool
	}{
		{"old of the smaller key", small, large, time.Second, true},
		{"old of the larger key", large, small, time.Second, false},
		{"same dialer", small, small, time.Second, false},
		{"just inside the window", small, large, wire.TieBreakWindow - 1, true},
		{"outside the window", small, large, wire.TieBreakWindow, false},
	}
	for _, tt := range tests {
		a := Active{Dialer: tt.old, Since: start}
		if got := a.Survives(tt.newer, start.Add(tt.age)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// Both sides dial at once; each sees the two connections in either order. Whatever the
// orders, both end up with the connection that the smaller key dialed.
func TestBothSidesKeepTheSame(t *testing.T) {
	small, large := keys(t)
	keep := func(first, second awp.Key) awp.Key {
		if (Active{Dialer: first, Since: start}).Survives(second, start.Add(time.Second)) {
			return first
		}
		return second
	}
	for _, here := range [][2]awp.Key{{small, large}, {large, small}} {
		for _, there := range [][2]awp.Key{{small, large}, {large, small}} {
			a, b := keep(here[0], here[1]), keep(there[0], there[1])
			if a != small || b != small {
				t.Errorf("one side keeps %s, the other %s", a.Short(), b.Short())
			}
		}
	}
}
