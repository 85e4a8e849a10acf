// Package thread holds the rules of a thread's two states (PROTOCOL.md section 11). It is
// pure: it keeps nothing, reads no clock and enforces no order between states, because
// states are each side's own words.
package thread

import (
	"time"

	"github.com/awp-suite/awp/wire"
)

// MaxWord bounds a state's length in bytes, and MaxNote a note's, for what is sent from
// here. A peer's are bounded by the line alone.
const (
	MaxWord = 64
	MaxNote = 4096
)

// Side is one side's view of a thread. Since is when the view last changed.
type Side struct {
	State string
	Note  string
	Since time.Time
}

// Step returns the side after it reported state and note. Since moves only when one of
// them differs: a repeated report does not make old news young.
func (s Side) Step(state, note string, now time.Time) Side {
	if s.State == state && s.Note == note {
		return s
	}
	return Side{State: state, Note: note, Since: now}
}

// Ended reports whether a side in this state expects no further work.
func Ended(state string) bool {
	return state == wire.StateDone || state == wire.StateFailed || state == wire.StateClosed
}

// IsOpen reports whether a thread counts as unfinished: neither side ended it.
func IsOpen(mine, theirs string) bool { return !Ended(mine) && !Ended(theirs) }
