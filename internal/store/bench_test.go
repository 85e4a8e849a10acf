package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// BenchmarkEnqueue is the store's own group-commit rate: messages queued for a peer that
// is away, by so many callers at a time.
func BenchmarkEnqueue(b *testing.B) {
	for _, callers := range []int{1, 8, 50} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			p := newPair(b)
			th := p.sides[0].say(b, "", "first").Th
			b.ResetTimer()
			sendMany(b, p.sides[0], th, callers)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkExchange is the same with the peer connected, until every message is acked:
// two stores, both durable, no processes between.
func BenchmarkExchange(b *testing.B) {
	for _, callers := range []int{1, 8, 50} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			p := newPair(b)
			p.plug()
			th := p.sides[0].say(b, "", "first").Th
			b.ResetTimer()
			sendMany(b, p.sides[0], th, callers)
			p.settled(b)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

func sendMany(b *testing.B, s *side, th awp.ThreadID, callers int) {
	var wg sync.WaitGroup
	work := make(chan int)
	for range callers {
		wg.Go(func() {
			for i := range work {
				s.say(b, th, fmt.Sprintf("message %d with some text in it, about as long as a sentence", i))
			}
		})
	}
	for i := range b.N {
		work <- i
	}
	close(work)
	wg.Wait()
}

// BenchmarkSendToAck is one message at a time, from the call to the peer's ack.
func BenchmarkSendToAck(b *testing.B) {
	p := newPair(b)
	p.plug()
	th := p.sides[0].say(b, "", "first").Th
	for b.Loop() {
		r := p.sides[0].say(b, th, "x")
		if ok, err := p.sides[0].store.AwaitAck(context.Background(), r, time.Minute); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkBesideFlood is how long a peer's line takes to its ack while others keep as many
// lines waiting as their windows allow.
func BenchmarkBesideFlood(b *testing.B) {
	for _, peers := range []int{0, 1, 64} {
		b.Run(fmt.Sprint(peers), func(b *testing.B) {
			h := newHost(b, Settings{})
			stop := make(chan struct{})
			var flood sync.WaitGroup
			acked := func(p *stranger, n int) func() bool {
				return func() bool { return len(h.acks[p.link]) >= n }
			}
			for range peers {
				p := h.stranger("flood")
				flood.Go(func() {
					for sent := 0; ; {
						var lines [][]byte
						for range windowLines / 2 { // two halves go round: some always wait
							lines = append(lines, p.text("t", strings.Repeat("x", 1000)))
						}
						h.store.In(p.link, lines)
						was := sent
						sent += len(lines)
						for {
							h.mu.Lock()
							ok := acked(p, was)()
							h.mu.Unlock()
							if ok {
								break
							}
							time.Sleep(time.Millisecond)
						}
						select {
						case <-stop:
							return
						default:
						}
					}
				})
			}
			q := h.stranger("quiet")
			var worst time.Duration
			n := 0
			for b.Loop() {
				began := time.Now()
				n++
				h.store.In(q.link, [][]byte{q.text("t", "hello")})
				for ok := false; !ok; time.Sleep(50 * time.Microsecond) {
					h.mu.Lock()
					ok = acked(q, n)()
					h.mu.Unlock()
				}
				worst = max(worst, time.Since(began))
			}
			b.ReportMetric(float64(worst.Milliseconds()), "ms-worst")
			close(stop)
			flood.Wait()
		})
	}
}
