package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

func TestMessageIsStoredAndAcked(t *testing.T) {
	p := newPair(t)
	p.plug()
	a, b := p.sides[0], p.sides[1]
	r := a.say(t, "", "hello")
	if acked, err := a.store.AwaitAck(context.Background(), r, 5*time.Second); err != nil || !acked {
		t.Fatalf("no ack: %v", err)
	}
	if got := b.heard(t, r.Th); !slices.Equal(got, []string{"hello"}) {
		t.Fatalf("b heard %q", got)
	}
	p.settled(t)
}

func TestQueuedWhileAwayArrivesInOrder(t *testing.T) {
	p := newPair(t)
	a, b := p.sides[0], p.sides[1]
	first := a.say(t, "", "0")
	if first.Connected || first.Acked {
		t.Fatalf("receipt of an unconnected send: %+v", first)
	}
	want := []string{"0"}
	for i := 1; i < 700; i++ { // more than a window
		a.say(t, first.Th, fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
	}
	p.plug()
	p.settled(t)
	if got := b.heard(t, first.Th); !slices.Equal(got, want) {
		t.Fatalf("b heard %d messages, the first %.40q", len(got), got)
	}
}

func TestRepeatedTokenSendsOnce(t *testing.T) {
	p := newPair(t)
	a, b := p.sides[0], p.sides[1]
	m := Message{Token: "one", Who: b.store.Key().String(), Parts: []Part{{Kind: wire.PartText, Text: "once"}}}
	first, err := a.store.Send(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := a.store.Send(context.Background(), m)
		if err != nil || again.ID != first.ID || again.Th != first.Th {
			t.Fatalf("again: %+v, %v; first %+v", again, err, first)
		}
	}
	p.plug()
	p.settled(t)
	if got := b.heard(t, first.Th); !slices.Equal(got, []string{"once"}) {
		t.Fatalf("b heard %q", got)
	}
}

// Cuts at any moment, both sides sending, stores closed and opened: every thread ends
// exact and in order on both sides.
func TestCutsLoseAndDoubleNothing(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			p := newPair(t)
			p.plug()
			threads := []awp.ThreadID{p.sides[0].say(t, "", "0").Th, p.sides[1].say(t, "", "0").Th}
			p.settled(t)
			said := [2][2]int{{1, 0}, {0, 1}} // by side and thread
			for range 60 {
				switch rnd.IntN(8) {
				case 0:
					p.unplug()
				case 1:
					p.unplug()
					s := p.sides[rnd.IntN(2)]
					s.store.Close()
					s.open()
				case 2:
					p.unplug()
					p.plug()
				default:
					side, th := rnd.IntN(2), rnd.IntN(2)
					for range rnd.IntN(20) {
						p.sides[side].say(t, threads[th], fmt.Sprint(said[side][th]))
						said[side][th]++
					}
				}
			}
			p.unplug()
			p.plug()
			p.settled(t)
			for side := range 2 {
				for th, id := range threads {
					got := p.sides[1-side].heard(t, id)
					if len(got) != said[side][th] {
						t.Fatalf("side %d thread %d: %d heard of %d said", side, th, len(got), said[side][th])
					}
					for i, text := range got {
						if text != fmt.Sprint(i) {
							t.Fatalf("side %d thread %d: %q at %d", side, th, text, i)
						}
					}
				}
			}
		})
	}
}

// A copy that somebody removed must not stop what is behind it.
func TestLostCopyStopsNothing(t *testing.T) {
	p := newPair(t)
	a, b := p.sides[0], p.sides[1]
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 3*wire.ChunkSize), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := a.store.Send(context.Background(), Message{Token: token(), Who: b.store.Key().String(), Parts: []Part{{Kind: wire.PartBlob, Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	a.say(t, r.Th, "behind it")
	if err := os.RemoveAll(filepath.Join(a.home, "blobs", "out")); err != nil {
		t.Fatal(err)
	}
	p.plug()
	p.settled(t)
	if got := b.heard(t, r.Th); len(got) != 2 || got[1] != "behind it" {
		t.Errorf("b heard %q", got)
	}
	if blobs, err := a.store.Blobs(context.Background(), ""); err != nil || blobs[0].Status != awp.BlobExpired {
		t.Errorf("blobs %+v, %v", blobs, err)
	}
}

func TestFileArrivesWholeThroughCuts(t *testing.T) {
	p := newPair(t)
	a, b := p.sides[0], p.sides[1]
	data := make([]byte, 5*wire.ChunkSize+12345)
	rnd := rand.NewChaCha8([32]byte{1})
	rnd.Read(data) //nolint:errcheck // never fails
	path := filepath.Join(t.TempDir(), "trace.bin")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	p.plug()
	r, err := a.store.Send(context.Background(), Message{Token: token(), Who: b.store.Key().String(), Parts: []Part{{Kind: wire.PartBlob, Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path) // what was sent is what it was at the call
	for range 5 {
		p.unplug()
		p.plug()
	}
	p.settled(t)
	var got awp.EventBlob
	_, err = b.store.Read(context.Background(), Filter{Thread: r.Th}, 10, func(e awp.Event) error {
		for _, blob := range e.Blobs {
			got = blob
		}
		return nil
	})
	if err != nil || got.Status != awp.BlobComplete {
		t.Fatalf("blob %+v, %v", got, err)
	}
	text, err := os.ReadFile(got.Path)
	if err != nil || sha256.Sum256(text) != sha256.Sum256(data) {
		t.Fatalf("the file differs: %d bytes, %v", len(text), err)
	}
	a.store.w.do(context.Background(), func(*tx) error { return nil }) //nolint:errcheck // what the last ack let out has happened
	if left, _ := os.ReadDir(filepath.Join(a.home, "blobs", "out")); len(left) != 0 {
		t.Errorf("copies left behind: %v", left)
	}
	blobs, err := a.store.Blobs(context.Background(), "")
	if err != nil || len(blobs) != 1 || blobs[0].Status != awp.BlobSent {
		t.Errorf("sender's blobs: %+v, %v", blobs, err)
	}
}
