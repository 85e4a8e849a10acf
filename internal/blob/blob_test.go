package blob

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestChunk(t *testing.T) {
	const limit = 100
	named := func(size int64) In { return In{Status: Pending, Size: size, Named: true} }
	tests := []struct {
		name    string
		from    In
		n       int64
		last    bool
		size    int64
		status  Status
		write   bool
		at      int64
		refused bool
	}{
		{"first", New(), 0, false, 10, Pending, true, 0, false},
		{"only one, before its message", New(), 0, true, 10, Received, true, 0, false},
		{"only one, after its message", named(10), 0, true, 10, Complete, true, 0, false},
		{"empty file", named(0), 0, true, 0, Complete, true, 0, false},
		{"next", In{Status: Pending, Size: Unknown, Got: 10, Next: 1}, 1, false, 5, Pending, true, 10, false},
		{"replay", In{Status: Pending, Size: Unknown, Got: 10, Next: 1}, 0, false, 10, Pending, false, 0, false},
		{"gap", New(), 1, false, 10, Refused, false, 0, true},
		{"at the limit", New(), 0, true, limit, Received, true, 0, false},
		{"over the limit", New(), 0, true, limit + 1, Refused, false, 0, true},
		{"more than declared", named(9), 0, false, 10, Refused, false, 0, true},
		{"less than declared", named(11), 0, true, 10, Refused, false, 0, true},
		{"after refusal", In{Status: Refused}, 0, true, 10, Refused, false, 0, false},
		{"after the end", In{Status: Received, Got: 10, Next: 1}, 1, true, 10, Received, false, 0, false},
	}
	for _, tt := range tests {
		got, v := tt.from.Chunk(tt.n, tt.last, tt.size, limit)
		if got.Status != tt.status || v.Write != tt.write || v.At != tt.at || (v.Refuse != "") != tt.refused {
			t.Errorf("%s: got %+v, %+v", tt.name, got, v)
		}
	}
}

func TestMessage(t *testing.T) {
	const limit = 100
	tests := []struct {
		name   string
		from   In
		size   int64
		status Status
		want   int64
	}{
		{"before any data", New(), 10, Pending, 10},
		{"declares too much", New(), limit + 1, Refused, limit + 1},
		{"in the middle", In{Status: Pending, Size: Unknown, Got: 5, Next: 1}, 10, Pending, 10},
		{"declares less than came", In{Status: Pending, Size: Unknown, Got: 11, Next: 1}, 10, Refused, 10},
		{"after the data", In{Status: Received, Size: Unknown, Got: 8, Next: 1}, 10, Complete, 8},
		{"after refusal", In{Status: Refused, Size: Unknown}, 10, Refused, Unknown},
	}
	for _, tt := range tests {
		if got, _ := tt.from.Message(tt.size, limit); got.Status != tt.status || got.Size != tt.want {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
}

func TestChunks(t *testing.T) {
	for size, want := range map[int64]int64{0: 1, 1: 1, 4: 1, 5: 2, 8: 2, 9: 3} {
		if got := Chunks(size, 4); got != want {
			t.Errorf("Chunks(%d, 4) = %d, want %d", size, got, want)
		}
	}
}

// However often lines are replayed and wherever the message falls between the chunks, the
// file ends whole and exact.
func TestReplayedTransferIsExact(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		want := make([]byte, rnd.IntN(40))
		for i := range want {
			want[i] = byte(rnd.Uint32())
		}
		const chunk = 7
		count := int(Chunks(int64(len(want)), chunk))
		message := rnd.IntN(count + 1) // its place between the chunks
		var got []byte
		b, sent := New(), 0
		for b.Status != Complete {
			// A cut: the sender starts again at some line at or before the next.
			for line := rnd.IntN(sent + 1); line <= count && b.Status != Complete; line++ {
				sent = max(sent, line)
				if line == message {
					b, _ = b.Message(int64(len(want)), 1000)
				} else {
					n := line
					if line > message {
						n--
					}
					data := want[n*chunk : min(len(want), (n+1)*chunk)]
					var v Verdict
					if b, v = b.Chunk(int64(n), n == count-1, int64(len(data)), 1000); v.Write {
						got = append(got[:v.At], data...)
					}
				}
				if rnd.IntN(4) == 0 {
					break
				}
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: got %x, want %x", seed, got, want)
		}
	}
}
