package link

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// middle makes every wait exactly the backoff.
func middle() float64 { return 0.5 }

func tellLoop(fx []LoopEffect) string {
	var parts []string
	for _, f := range fx {
		switch f := f.(type) {
		case Dial:
			parts = append(parts, "dial "+f.Target.Addr)
		case Stop:
			parts = append(parts, "stop")
		case Report:
			parts = append(parts, fmt.Sprintf("dialing=%v", f.Dialing))
		}
	}
	return strings.Join(parts, "; ")
}

// loopAt is one thing that a loop hears of.
type loopAt struct {
	after time.Duration
	ev    LoopEvent
}

// loopTimeline runs events, and every wake-up that the loop asks for in between.
func loopTimeline(l Loop, until time.Duration, events ...loopAt) string {
	var out []string
	step := func(now time.Time, ev LoopEvent) {
		var fx []LoopEffect
		l, fx = l.Step(now, ev)
		if s := tellLoop(fx); s != "" {
			out = append(out, fmt.Sprintf("%v: %s", now.Sub(start), s))
		}
	}
	for _, next := range append(events, loopAt{until, nil}) {
		for w := l.WakeAt(); !w.IsZero() && !w.After(start.Add(next.after)); w = l.WakeAt() {
			step(w, Woke{})
		}
		if next.ev != nil {
			step(start.Add(next.after), next.ev)
		}
	}
	out = append(out, l.State().String())
	return strings.Join(out, "\n")
}

func TestLoopTimelines(t *testing.T) {
	const s = time.Second
	a, b, h := Target{"a", "connect"}, Target{"b", "introduce"}, Target{"h", "hello"}
	want := func(ts ...Target) LoopEvent { return Wanted{Targets: ts} }
	fresh := func(ts ...Target) LoopEvent { return Wanted{Targets: ts, New: true} }
	lines := func(ts ...Target) LoopEvent { return Wanted{Targets: ts, Waiting: true} }
	failed, reached := Tried{}, Tried{OK: true}

	tests := []struct {
		name   string
		until  time.Duration
		events []loopAt
		want   []string
	}{
		{"best address first, then the others, then a wait", 2 * s, []loopAt{{0, want(a, b)}, {1 * s, failed}, {1 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dial b", "2s: dial a", "trying"}},
		{"the wait doubles up to a minute", 400 * s, []loopAt{
			{0, want(a)}, {0, failed}, {1 * s, failed}, {3 * s, failed}, {7 * s, failed}, {15 * s, failed},
			{31 * s, failed}, {63 * s, failed}, {123 * s, failed}, {183 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dial a", "3s: dial a", "7s: dial a", "15s: dial a",
				"31s: dial a", "1m3s: dial a", "2m3s: dial a", "3m3s: dial a", "4m3s: dial a", "trying"}},
		{"new work ends the wait and begins it anew", 100 * s, []loopAt{
			{0, want(a)}, {0, failed}, {1 * s, failed}, {3 * s, failed}, {4 * s, fresh(a)}, {4 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dial a", "3s: dial a", "4s: dial a", "5s: dial a", "trying"}},
		{"new work while an address is tried", 10 * s, []loopAt{
			{0, want(a)}, {0, failed}, {1 * s, fresh(a)}, {2 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dial a", "3s: dial a", "trying"}},
		{"old work does not end the wait, but its addresses count", 10 * s, []loopAt{
			{0, want(a)}, {0, failed}, {500 * time.Millisecond, want(b)}},
			[]string{"0s: dialing=true; dial a", "1s: dial b", "trying"}},
		{"a link ends the loop", 100 * s, []loopAt{{0, want(a)}, {1 * s, LinkUp{}}, {1 * s, reached}},
			[]string{"0s: dialing=true; dial a", "1s: dialing=false", "linked"}},
		{"the peer was faster; our attempt fails later", 100 * s, []loopAt{{0, want(a)}, {1 * s, LinkUp{}}, {9 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dialing=false", "linked"}},
		{"work while linked", 100 * s, []loopAt{{0, LinkUp{}}, {1 * s, fresh(a)}}, []string{"linked"}},
		{"a link lost with work left is waited for once", 100 * s, []loopAt{
			{0, LinkUp{}}, {1 * s, want(a)}, {2 * s, LinkDown{}}},
			[]string{"2s: dialing=true", "3s: dial a", "trying"}},
		{"a link lost without work", 100 * s, []loopAt{{0, LinkUp{}}, {2 * s, LinkDown{}}}, []string{"idle"}},
		{"links that are dropped at once are not redialed in a tight loop", 8 * s, []loopAt{
			{0, want(a)}, {0, LinkUp{}}, {0, reached}, {0, LinkDown{}},
			{1 * s, LinkUp{}}, {1 * s, reached}, {1 * s, LinkDown{}},
			{3 * s, LinkUp{}}, {3 * s, reached}, {3 * s, LinkDown{}}},
			[]string{"0s: dialing=true; dial a", "0s: dialing=false", "0s: dialing=true", "1s: dial a", "1s: dialing=false",
				"1s: dialing=true", "3s: dial a", "3s: dialing=false", "3s: dialing=true", "7s: dial a", "trying"}},
		{"a link that held begins the wait anew, with less", 300 * s, []loopAt{
			{0, want(a)}, {0, failed}, {1 * s, failed}, {3 * s, LinkUp{}}, {3 * s, reached}, {100 * s, LinkDown{}}},
			[]string{"0s: dialing=true; dial a", "1s: dial a", "3s: dial a", "3s: dialing=false", "1m40s: dialing=true", "1m40.25s: dial a", "trying"}},
		{"an attempt that went well and is gone already", 10 * s, []loopAt{
			{0, want(a)}, {0, LinkUp{}}, {0, LinkDown{}}, {0, reached}},
			[]string{"0s: dialing=true; dial a", "0s: dialing=false", "0s: dialing=true", "1s: dial a", "trying"}},

		{"lines wait for a lost peer: short waits, for a while", 200 * s, []loopAt{
			{0, LinkUp{}}, {1 * s, lines(a)}, {2 * s, LinkDown{}}, {8 * s, failed}, {15 * s, failed}, {22 * s, failed}, {121 * s, failed}, {128 * s, failed}},
			[]string{"2s: dialing=true", "3s: dial a", "10s: dial a", "17s: dial a", "24s: dial a", "2m3s: dial a", "2m40s: dial a", "trying"}},
		{"lines that waited went otherwise: the usual waits", 60 * s, []loopAt{
			{0, LinkUp{}}, {1 * s, lines(a)}, {2 * s, LinkDown{}}, {3 * s, failed}, {4 * s, want(a)}, {5 * s, failed}, {9 * s, failed}},
			[]string{"2s: dialing=true", "3s: dial a", "5s: dial a", "9s: dial a", "17s: dial a", "trying"}},
		{"lines wait for a lost peer that would dial us: no grace", 60 * s, []loopAt{{0, lines(h)}, {0, LinkUp{}}, {0, reached}, {1 * s, LinkDown{}}},
			[]string{"0s: dialing=true; dial h", "0s: dialing=false", "1s: dialing=true", "2s: dial h", "trying"}},
		{"lines wait for a peer whose loop was forgotten: at once, and short waits", 30 * s, []loopAt{
			{0, LinkUp{}}, {1 * s, LinkDown{}}, {1 * s, lines(h)}, {6 * s, failed}, {12 * s, failed}, {19 * s, failed}, {26 * s, failed}},
			[]string{"1s: dialing=true; dial h", "7s: dial h", "14s: dial h", "21s: dial h", "28s: dial h", "trying"}},
		{"lines turn out to wait during the grace", 60 * s, []loopAt{{0, want(h)}, {0, LinkUp{}}, {1 * s, LinkDown{}}, {1 * s, lines(h)}},
			[]string{"0s: dialing=true", "0s: dialing=false", "1s: dialing=true", "2s: dial h", "trying"}},
		{"the network came back", 100 * s, []loopAt{
			{0, want(a)}, {0, failed}, {1 * s, failed}, {3 * s, failed}, {7 * s, failed}, {9 * s, Hurry{}}, {9 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dial a", "3s: dial a", "7s: dial a", "9s: dial a", "10s: dial a", "trying"}},
		{"the network came back, nobody is wanted", 100 * s, []loopAt{{0, Hurry{}}, {1 * s, LinkUp{}}, {2 * s, Hurry{}}}, []string{"linked"}},

		{"dial-back waits for the peer", 16 * s, []loopAt{{0, want(h)}}, []string{"0s: dialing=true", "15s: dial h", "trying"}},
		{"dial-back, the peer comes", 60 * s, []loopAt{{0, want(h)}, {5 * s, LinkUp{}}},
			[]string{"0s: dialing=true", "5s: dialing=false", "linked"}},
		{"dial-back with new work", 60 * s, []loopAt{{0, fresh(h)}}, []string{"0s: dialing=true; dial h", "trying"}},
		{"dial-back, new work during the grace", 60 * s, []loopAt{{0, want(h)}, {5 * s, fresh(h)}},
			[]string{"0s: dialing=true", "5s: dial h", "trying"}},
		{"dial-back, a better address during the grace", 60 * s, []loopAt{{0, want(h)}, {5 * s, want(a, h)}},
			[]string{"0s: dialing=true", "5s: dial a", "trying"}},
		{"dial-back, only more of the same during the grace", 16 * s, []loopAt{{0, want(h)}, {5 * s, want(h, h)}},
			[]string{"0s: dialing=true", "15s: dial h", "trying"}},
		{"one better address is enough", 60 * s, []loopAt{{0, want(h, b)}}, []string{"0s: dialing=true; dial h", "trying"}},
		{"dial-back after a lost link", 60 * s, []loopAt{{0, LinkUp{}}, {0, want(h)}, {1 * s, LinkDown{}}},
			[]string{"1s: dialing=true", "16s: dial h", "trying"}},
		{"the grace comes once a loop", 60 * s, []loopAt{{0, want(h)}, {15 * s, failed}},
			[]string{"0s: dialing=true", "15s: dial h", "16s: dial h", "trying"}},

		{"no address", 60 * s, []loopAt{{0, fresh()}}, []string{"idle"}},
		{"an address at last", 60 * s, []loopAt{{0, want()}, {5 * s, want(a)}}, []string{"5s: dialing=true; dial a", "trying"}},
		{"unwanted while asleep", 60 * s, []loopAt{{0, want(a)}, {0, failed}, {500 * time.Millisecond, Unwanted{}}},
			[]string{"0s: dialing=true; dial a", "500ms: dialing=false", "idle"}},
		{"unwanted while tried", 60 * s, []loopAt{{0, want(a, b)}, {1 * s, Unwanted{}}, {1 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dialing=false; stop", "idle"}},
		{"wanted again before the stopped attempt ended", 60 * s, []loopAt{{0, want(a)}, {1 * s, Unwanted{}}, {1 * s, fresh(b)}, {2 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dialing=false; stop", "1s: dialing=true", "2s: dial b", "trying"}},
		{"unwanted while linked keeps the link", 60 * s, []loopAt{{0, want(a)}, {0, LinkUp{}}, {1 * s, Unwanted{}}, {2 * s, LinkDown{}}},
			[]string{"0s: dialing=true; dial a", "0s: dialing=false", "idle"}},

		{"redial", 60 * s, []loopAt{{0, Redial{a}}, {1 * s, failed}},
			[]string{"0s: dialing=true; dial a", "1s: dialing=false", "idle"}},
		{"redial turns into work", 60 * s, []loopAt{{0, Redial{a}}, {1 * s, want(a)}, {2 * s, failed}},
			[]string{"0s: dialing=true; dial a", "3s: dial a", "trying"}},
		{"redial of what is wanted", 60 * s, []loopAt{{0, want(a)}, {0, Redial{b}}, {1 * s, failed}},
			[]string{"0s: dialing=true; dial a", "2s: dial a", "trying"}},
	}
	for _, tt := range tests {
		if got, want := loopTimeline(NewLoop(middle), tt.until, tt.events...), strings.Join(tt.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

// The wait is drawn from [b/2, 3b/2).
func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		jitter float64
		want   time.Duration
	}{{0, 500 * time.Millisecond}, {0.5, time.Second}, {0.999, 1499 * time.Millisecond}} {
		l := NewLoop(func() float64 { return tt.jitter })
		l, _ = l.Step(start, Wanted{Targets: []Target{{"a", "connect"}}})
		l, _ = l.Step(start, Tried{})
		if got := l.WakeAt().Sub(start); got != tt.want {
			t.Errorf("jitter %v: wait of %v, want %v", tt.jitter, got, tt.want)
		}
	}
}

// Whatever happens, in any order: at most one attempt runs; nothing is dialed that nobody
// wants or that is linked; what is wanted, has an address and has no link is being worked
// on; and no wait is longer than 90 seconds.
func TestLoopRandomEvents(t *testing.T) {
	a, h := []Target{{"a", "connect"}, {"b", "hello"}}, []Target{{"h", "hello"}}
	events := []LoopEvent{
		Wanted{Targets: a}, Wanted{Targets: a, New: true}, Wanted{Targets: h}, Wanted{Targets: h, New: true}, Wanted{},
		Unwanted{}, Redial{a[0]}, LinkUp{}, LinkDown{}, Woke{},
	}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		l, now := NewLoop(rnd.Float64), start
		running, wanted, linked, known := false, false, false, false
		for range 80 {
			ev := events[rnd.IntN(len(events))]
			if running && rnd.IntN(2) == 0 {
				ev, running = Tried{OK: rnd.IntN(3) == 0}, false
			}
			switch e := ev.(type) {
			case Wanted:
				wanted, known = true, len(e.Targets) > 0
			case Unwanted:
				wanted = false
			case Redial:
				if wanted || l.State() != Idle {
					continue
				}
			case LinkUp:
				linked = true
			case LinkDown:
				linked = false
			case Woke:
				if at := l.WakeAt(); !at.IsZero() {
					if at.Sub(now) > 90*time.Second {
						t.Fatalf("seed %d: wait of %v", seed, at.Sub(now))
					}
					if at.After(now) {
						now = at
					}
				}
			}
			var fx []LoopEffect
			l, fx = l.Step(now, ev)
			for _, f := range fx {
				if _, ok := f.(Dial); !ok {
					continue
				}
				if running || linked {
					t.Fatalf("seed %d: dials while running %v, linked %v", seed, running, linked)
				}
				running = true
			}
			if l.trying != running {
				t.Fatalf("seed %d: thinks that an attempt runs: %v", seed, l.trying)
			}
			if (l.State() == Linked) != linked {
				t.Fatalf("seed %d: %v, linked %v", seed, l.State(), linked)
			}
			if wanted && known && !linked && l.State() == Idle {
				t.Fatalf("seed %d: idle, but wanted", seed)
			}
			if l.State() == Trying && !l.trying {
				t.Fatalf("seed %d: stuck", seed)
			}
		}
	}
}
