package wire

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/awp-suite/awp"
)

func at(ms *int64) func() time.Time { return func() time.Time { return time.UnixMilli(*ms) } }

func TestIDsFollowTheClock(t *testing.T) {
	ms := int64(1_790_352_652_876)
	g := NewIDs(at(&ms), bytes.NewReader(slices.Concat(
		bytes.Repeat([]byte{0x00}, 10), bytes.Repeat([]byte{0xff}, 10))))
	if got := g.Last(); got != "" {
		t.Errorf("Last of a new generator is %q", got)
	}
	for _, step := range []struct {
		ms   int64
		want awp.MessageID
	}{
		{0, "01M3CNAYJC0000000000000000"},
		{0, "01M3CNAYJC0000000000000001"},        // the same millisecond
		{-5000, "01M3CNAYJC0000000000000002"},    // the clock went back
		{+5001, "01M3CNAYJDZZZZZZZZZZZZZZZZ"},    // a later one: fresh randomness
		{0, "01M3CNAYJE0000000000000000"},        // which carries into the time
		{0, "01M3CNAYJE0000000000000001"},        // ahead of the clock now
		{1, "01M3CNAYJE0000000000000002"},        // the clock caught up: still not later
		{-1 << 60, "01M3CNAYJE0000000000000003"}, // a clock before 1970
	} {
		ms += step.ms
		if got := g.Next(); got != step.want {
			t.Fatalf("Next = %s, want %s", got, step.want)
		}
		if g.Last() != step.want {
			t.Errorf("Last = %s, want %s", g.Last(), step.want)
		}
	}
}

func TestIDsObserve(t *testing.T) {
	ms := int64(1_000)
	g := NewIDs(at(&ms), nil)
	for _, id := range []awp.MessageID{"", "x", "01k6b0z3m0000000000000000a", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ"} {
		g.Observe(id)
		if g.Last() != "" {
			t.Fatalf("%q was taken for a ULID", id)
		}
	}
	g.Observe(testID)
	g.Observe(testRe) // smaller
	if got, want := g.Next(), awp.MessageID("01K6B0Z3M0000000000000000B"); got != want {
		t.Errorf("Next = %s, want %s", got, want)
	}
	g.Observe("01K6B0Z3M0ZZZZZZZZZZZZZZZZ")
	if got, want := g.Next(), awp.MessageID("01K6B0Z3M10000000000000000"); got != want {
		t.Errorf("Next = %s, want %s", got, want)
	}
}

func TestIDsEnd(t *testing.T) {
	ms := int64(1) << 62 // beyond what a ULID can say
	g := NewIDs(at(&ms), nil)
	g.Observe("7ZZZZZZZZZZZZZZZZZZZZZZZZY")
	if got, want := g.Next(), awp.MessageID("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"); got != want {
		t.Errorf("Next = %s, want %s", got, want)
	}
	mustPanic(t, func() { g.Next() })
	mustPanic(t, func() { NewIDs(nil, iotest.ErrReader(iotest.ErrTimeout)).Next() })
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

func TestIDsConcurrently(t *testing.T) {
	g := NewIDs(nil, nil)
	const callers, each = 8, 500
	got := make([][]awp.MessageID, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				id := g.Next()
				g.Observe(id)
				got[i] = append(got[i], id)
			}
		})
	}
	wg.Wait()
	for _, ids := range got {
		if !slices.IsSorted(ids) {
			t.Error("a caller's ids are not increasing")
		}
	}
	all := slices.Concat(got...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != callers*each {
		t.Errorf("%d different ids, want %d", n, callers*each)
	}
	if last := all[len(all)-1]; g.Last() != last {
		t.Errorf("Last = %s, want %s", g.Last(), last)
	}
}

func TestIsULID(t *testing.T) {
	for id, want := range map[awp.MessageID]bool{
		testID:                        true,
		"00000000000000000000000000":  true,
		"7ZZZZZZZZZZZZZZZZZZZZZZZZZ":  true,
		"80000000000000000000000000":  false, // 129 bits
		"01K6B0Z3M0000000000000000":   false,
		"01K6B0Z3M0000000000000000AA": false,
		"01k6b0z3m0000000000000000a":  false,
		"01K6B0Z3M0000000000000000I":  false,
		"01K6B0Z3M0000000000000000L":  false,
		"01K6B0Z3M0000000000000000O":  false,
		"01K6B0Z3M0000000000000000U":  false,
		"01K6B0Z3M0000000000000000\n": false,
		"":                            false,
	} {
		if got := IsULID(id); got != want {
			t.Errorf("IsULID(%q) = %v", id, got)
		}
	}
}

func TestNames(t *testing.T) {
	if got := NewThreadID(strings.NewReader("\x00\x01\x1f\x20\x3f\xe0\xff\x80")); got != "thr_ab9a9a9a" {
		t.Errorf("NewThreadID = %s", got)
	}
	if a, b := NewThreadID(nil), NewThreadID(nil); a == b {
		t.Errorf("two thread ids are both %s", a)
	}
	ms := int64(1)
	ids := NewIDs(at(&ms), strings.NewReader("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07"))
	if got := NewBlobRef(ids); got != "b_00000000010000000000000007" {
		t.Errorf("NewBlobRef = %s", got)
	}
	ones := bytes.Repeat([]byte{1}, NonceSize)
	if got := NewNonce(bytes.NewReader(ones)); got != "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE" {
		t.Errorf("NewNonce = %s", got)
	}
	if got := NewGrantNonce(bytes.NewReader(ones)); got != "AQEBAQEBAQEBAQEBAQEBAQ" {
		t.Errorf("NewGrantNonce = %s", got)
	}
	mustPanic(t, func() { NewNonce(strings.NewReader("short")) })
}
