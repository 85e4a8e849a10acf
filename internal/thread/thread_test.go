package thread

import (
	"testing"
	"time"

	"github.com/awp-suite/awp/wire"
)

func TestStep(t *testing.T) {
	t0, t1 := time.Unix(100, 0), time.Unix(200, 0)
	start := Side{State: wire.StateOpen, Since: t0}
	tests := []struct {
		name        string
		from        Side
		state, note string
		want        Side
	}{
		{"a new state moves since", start, wire.StateWorking, "", Side{wire.StateWorking, "", t1}},
		{"the same state does not", start, wire.StateOpen, "", start},
		{"a new note does", start, wire.StateOpen, "soon", Side{wire.StateOpen, "soon", t1}},
		{"a lost note does", Side{wire.StateOpen, "soon", t0}, wire.StateOpen, "", Side{wire.StateOpen, "", t1}},
		{"any word is a state", start, "reviewing", "", Side{"reviewing", "", t1}},
		{"back from the end", Side{wire.StateClosed, "", t0}, wire.StateWorking, "", Side{wire.StateWorking, "", t1}},
	}
	for _, tt := range tests {
		if got := tt.from.Step(tt.state, tt.note, t1); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestIsOpen(t *testing.T) {
	states := []string{wire.StateOpen, wire.StateWorking, wire.StateWaiting, "reviewing", wire.StateDone, wire.StateFailed, wire.StateClosed}
	for i, mine := range states {
		for j, theirs := range states {
			if got, want := IsOpen(mine, theirs), i < 4 && j < 4; got != want {
				t.Errorf("IsOpen(%s, %s) = %v", mine, theirs, got)
			}
		}
	}
}
