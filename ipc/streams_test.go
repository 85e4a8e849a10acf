package ipc

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Hundreds of stuck readers hold no more than the bound together: those that took nothing
// for longest are cut off, and whoever reads is not.
func TestStuckReadersShareABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		words := Stream[None, text, None]{"words"}
		s := NewServer()
		big := strings.Repeat("x", 300<<10)
		HandleStream(s, words, func(_ context.Context, _ None, send func(text) error) (None, error) {
			for range 12 {
				if err := send(text{big}); err != nil {
					return None{}, err
				}
				time.Sleep(time.Second)
			}
			return None{}, nil
		})
		const stuck = 70
		ended := make(chan error, stuck)
		gate := make(chan struct{})
		for range stuck {
			c := pair(t, s)
			go func() {
				_, err := words.Call(t.Context(), c, None{}, func(text) error { <-gate; return nil })
				ended <- err
			}()
			time.Sleep(time.Millisecond)
		}
		reader := pair(t, s)
		read := make(chan error)
		got := 0
		go func() {
			_, err := words.Call(t.Context(), reader, None{}, func(text) error { got++; return nil })
			read <- err
		}()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		s.streams.mu.Lock()
		total, readers, sum := s.streams.total, len(s.streams.held), 0
		for _, h := range s.streams.held {
			sum += h.bytes
		}
		s.streams.mu.Unlock()
		if total > maxHeld || total < maxHeld/2 || total != sum {
			t.Errorf("%d bytes are held (%d by count), bound %d", total, sum, maxHeld)
		}
		if readers >= stuck || readers < maxHeld/(4<<20) {
			t.Errorf("%d of %d stuck readers are left", readers, stuck)
		}
		if err := <-read; err != nil || got != 12 {
			t.Errorf("who reads got %d items, %v", got, err)
		}
		close(gate)
		cut := 0
		for range stuck {
			if err := <-ended; err != nil {
				cut++
			}
		}
		if cut == 0 {
			t.Error("nobody was cut off")
		}
		synctest.Wait()
		if s.streams.total != 0 || len(s.streams.held) != 0 {
			t.Errorf("%d bytes are counted after the end", s.streams.total)
		}
	})
}
