package supervise

import "time"

// Restarts of one program: at most one a second, and after several quick ends in a row
// one in half a minute. A program that ran for a while is restarted at once.
const (
	shortGap = time.Second
	longGap  = 30 * time.Second
	patience = 5 // quick ends before the gap grows
	longRun  = 30 * time.Second
)

// backoff counts the quick ends of one program.
type backoff struct{ quick int }

// next takes how long the program ran and returns how long to wait before its next start.
func (b *backoff) next(ran time.Duration) time.Duration {
	gap := shortGap
	switch {
	case ran >= longRun:
		b.quick = 0
	default:
		b.quick++
		if b.quick > patience {
			gap = longGap
		}
	}
	return max(0, gap-ran)
}
