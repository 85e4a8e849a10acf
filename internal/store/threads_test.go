package store

import (
	"testing"

	"github.com/awp-suite/awp/internal/thread"
)

// The rule stands twice, in Go and in SQL: they must agree.
func TestThreadOpenIsTheRule(t *testing.T) {
	h := newHost(t, Settings{})
	states := []string{"open", "working", "waiting", "done", "failed", "closed", "reviewing", ""}
	for _, mine := range states {
		for _, theirs := range states {
			var open bool
			err := h.store.ro.QueryRow("SELECT "+threadOpen+" FROM (SELECT ? AS my_state, ? AS their_state)", mine, theirs).Scan(&open)
			if err != nil || open != thread.IsOpen(mine, theirs) {
				t.Errorf("mine %q, theirs %q: %v, %v", mine, theirs, open, err)
			}
		}
	}
}
