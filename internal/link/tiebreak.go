package link

import (
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Active is what the tie-break asks of the link that a peer has.
type Active struct {
	Dialer awp.Key   // who dialed it
	Since  time.Time // when it was admitted
}

// Survives decides between the link a and a new one to the same peer, which dialer dialed
// and which was proved now (PROTOCOL.md section 9). The newer wins, unless both sides
// dialed at once: then both keep the link of the smaller key. Keys are compared as
// text, because that is what the other implementations of this version compare.
func (a Active) Survives(dialer awp.Key, now time.Time) bool {
	return now.Sub(a.Since) < wire.TieBreakWindow && a.Dialer.String() < dialer.String()
}
