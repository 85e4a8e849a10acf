package supervise

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	type step struct{ ran, wait time.Duration }
	for name, steps := range map[string][]step{
		"a long run is restarted at once": {{time.Hour, 0}, {longRun, 0}},
		"at most one start a second":      {{0, time.Second}, {300 * time.Millisecond, 700 * time.Millisecond}, {2 * time.Second, 0}},
		"five quick ends, then one in half a minute": {
			{0, time.Second}, {0, time.Second}, {0, time.Second}, {0, time.Second}, {0, time.Second},
			{0, 30 * time.Second}, {time.Second, 29 * time.Second},
		},
		"a long run is forgiven": {
			{0, time.Second}, {0, time.Second}, {0, time.Second}, {0, time.Second}, {0, time.Second},
			{time.Minute, 0}, {0, time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b backoff
			for i, s := range steps {
				if wait := b.next(s.ran); wait != s.wait {
					t.Errorf("step %d: ran %v, waits %v, want %v", i, s.ran, wait, s.wait)
				}
			}
		})
	}
}
