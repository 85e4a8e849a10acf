package wire

import (
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/awp-suite/awp"
)

// IDs makes the ids of our lines: ULIDs, each larger than all before it whatever the
// clock does (section 4). A home has one, for all its peers; at start it must Observe the
// largest id that the home ever sent. It is safe for concurrent use, but ids stand in
// the order of the outbox only if they are taken inside the transaction that fills it.
type IDs struct {
	now     func() time.Time
	entropy io.Reader

	mu   sync.Mutex
	last ulid.ULID // zero while there is none
}

// NewIDs returns a generator. The clock and the source of randomness are arguments for
// tests; nil stands for time.Now and for crypto/rand.
func NewIDs(now func() time.Time, entropy io.Reader) *IDs {
	if now == nil {
		now = time.Now
	}
	return &IDs{now: now, entropy: orRand(entropy)}
}

// Observe makes sure that no id returned from now on is id or smaller. Anything but a
// ULID is ignored.
func (g *IDs) Observe(id awp.MessageID) {
	if !IsULID(id) {
		return
	}
	seen := ulid.MustParse(string(id))
	g.mu.Lock()
	defer g.mu.Unlock()
	if seen.Compare(g.last) > 0 {
		g.last = seen
	}
}

// Next returns a fresh id. In a later millisecond than the last id's it is that
// millisecond and fresh randomness; otherwise, also when the clock went back, it is the
// last id plus one. It panics if the source of randomness fails, and when the last
// possible id is used up (which takes a forged outbox, or until the year 10889): to go on
// would lose messages without a word.
func (g *IDs) Next() awp.MessageID {
	g.mu.Lock()
	defer g.mu.Unlock()
	// A clock before 1970 is as good as one that went back.
	ms := uint64(max(g.now().UnixMilli(), 0))
	if ms <= g.last.Time() || ms > ulid.MaxTime() {
		increment(&g.last)
	} else {
		_ = g.last.SetTime(ms) // fails only above MaxTime
		fill(g.entropy, g.last[6:])
	}
	return awp.MessageID(g.last.String())
}

// Last returns the largest id returned or observed so far, or nothing.
func (g *IDs) Last() awp.MessageID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last.IsZero() {
		return ""
	}
	return awp.MessageID(g.last.String())
}

// Ahead returns an id that is larger than all returned so far, and than those to come for
// as long as the clock takes for d. It does not use it: stored, it stands for them all.
func (g *IDs) Ahead(d time.Duration) awp.MessageID {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.last
	_ = id.SetTime(min(g.last.Time()+uint64(d.Milliseconds()), ulid.MaxTime())) // no error up to there
	return awp.MessageID(id.String())
}

// increment takes all 128 bits as one number: a carry out of the random bits moves the
// time, and later ids follow it until the clock caught up.
func increment(id *ulid.ULID) {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return
		}
	}
	panic("wire: no id is larger than the last")
}

// IsULID reports whether id is a ULID in its one exact spelling: 26 upper-case
// characters of Crockford's base32 that fit 128 bits. Peers' ids need not be.
func IsULID(id awp.MessageID) bool {
	if len(id) != ulid.EncodedSize || id[0] > '7' {
		return false
	}
	for i := range len(id) {
		if strings.IndexByte(ulid.Encoding, id[i]) < 0 {
			return false
		}
	}
	return true
}

func orRand(entropy io.Reader) io.Reader {
	if entropy == nil {
		return rand.Reader
	}
	return entropy
}

// fill panics where crypto/rand would end the program: no caller could do better.
func fill(entropy io.Reader, b []byte) {
	if _, err := io.ReadFull(orRand(entropy), b); err != nil {
		panic("wire: read entropy: " + err.Error())
	}
}
