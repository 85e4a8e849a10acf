package link

import (
	"slices"
	"time"

	"github.com/awp-suite/awp/wire"
)

// LoopState is what a [Loop] is doing.
type LoopState uint8

// The states.
const (
	Idle     LoopState = iota // nothing is wanted, or no address is known
	Grace                     // leaving the peer, which dialed us before, time to do it again
	Trying                    // an address is being dialed
	Sleeping                  // every address failed; waiting before the next round
	Linked                    // a link is up, whoever dialed it
)

var loopStateNames = [...]string{
	Idle: "idle", Grace: "grace", Trying: "trying", Sleeping: "sleeping", Linked: "linked",
}

// String returns the state's name.
func (s LoopState) String() string {
	if int(s) < len(loopStateNames) {
		return loopStateNames[s]
	}
	return "unknown"
}

// fromHello is the source of an address that nobody but the peer vouched for.
const fromHello = "hello"

// Target is an address to try. Source is connect, introduce or hello.
type Target struct{ Addr, Source string }

// Loop wants a link to one peer and decides when which address is dialed. It is a value:
// [Loop.Step] returns the next one. It never gives up: whoever wants a link says when not
// to any more.
type Loop struct {
	jitter func() float64 // uniform in [0, 1)

	state   LoopState
	wanted  bool
	once    bool // no more than one round
	targets []Target
	round   []Target // still to try in this round, the one being tried first
	trying  bool     // an attempt runs, whatever the state
	wakeAt  time.Time
	backoff time.Duration // the next wait, before jitter
	waiting bool          // lines wait for the peer
	rush    time.Time     // until then they shorten the waits
	upSince time.Time
	told    bool // the last Report
}

// NewLoop returns the loop of a peer that nobody wants yet. jitter returns numbers that
// are uniform in [0, 1).
func NewLoop(jitter func() float64) Loop {
	return Loop{jitter: jitter, backoff: wire.BackoffMin}
}

// LoopEvent is something that a [Loop] hears of.
type LoopEvent interface{ loopEvent() }

// The events of a Loop.
type (
	// Wanted says that there is unfinished business, best address first. New says that
	// there is new work: it ends every wait. Waiting says that lines wait.
	Wanted struct {
		Targets []Target
		New     bool
		Waiting bool
	}
	// Unwanted says that there is none left, or that one side said bye. A link stays.
	Unwanted struct{}
	// Redial asks for one round: a link that we dialed was lost for a reason of ours.
	Redial struct{ Target Target }
	// LinkUp says that a link was established, whoever dialed it.
	LinkUp struct{}
	// LinkDown says that the link ended and no other took its place.
	LinkDown struct{}
	// Hurry says that the network came back: it ends every wait.
	Hurry struct{}
	// Tried answers [Dial]: the attempt ended, well or not.
	Tried struct{ OK bool }
	// Woke says that time passed, see [Loop.WakeAt].
	Woke struct{}
)

func (Wanted) loopEvent()   {}
func (Unwanted) loopEvent() {}
func (Redial) loopEvent()   {}
func (LinkUp) loopEvent()   {}
func (LinkDown) loopEvent() {}
func (Hurry) loopEvent()    {}
func (Tried) loopEvent()    {}
func (Woke) loopEvent()     {}

// LoopEffect is something that a [Loop] wants done.
type LoopEffect interface{ loopEffect() }

// The effects of a Loop.
type (
	// Dial tries an address; [Tried] answers. There is one attempt at a time.
	Dial struct{ Target Target }
	// Stop gives up the running attempt, which [Tried] still answers.
	Stop struct{}
	// Report tells whether the loop runs.
	Report struct{ Dialing bool }
)

func (Dial) loopEffect()   {}
func (Stop) loopEffect()   {}
func (Report) loopEffect() {}

// State tells what the loop is doing.
func (l Loop) State() LoopState { return l.state }

// WakeAt is when the next [Woke] is due; zero: never.
func (l Loop) WakeAt() time.Time {
	if l.state == Grace || l.state == Sleeping {
		return l.wakeAt
	}
	return time.Time{}
}

// Forgettable reports whether a new Loop would do as well as this one.
func (l Loop) Forgettable() bool { return l.state == Idle && !l.wanted && !l.trying }

// Step takes one event and returns the loop after it and what is to be done.
func (l Loop) Step(now time.Time, ev LoopEvent) (Loop, []LoopEffect) {
	fx := l.step(now, ev)
	if running := l.state == Grace || l.state == Trying || l.state == Sleeping; running != l.told {
		l.told = running
		fx = append([]LoopEffect{Report{running}}, fx...)
	}
	return l, fx
}

func (l *Loop) step(now time.Time, ev LoopEvent) []LoopEffect {
	switch ev := ev.(type) {
	case Wanted:
		return l.want(now, ev)
	case Unwanted:
		return l.unwant()
	case Redial:
		if l.state == Idle && !l.wanted {
			l.once, l.targets = true, []Target{ev.Target}
			return l.begin()
		}
	case LinkUp:
		l.state, l.upSince = Linked, now
	case LinkDown:
		if l.state == Linked {
			return l.lost(now)
		}
	case Hurry:
		l.backoff = wire.BackoffMin
		if l.state == Grace || l.state == Sleeping {
			return l.begin()
		}
	case Tried:
		l.trying = false
		if l.state == Trying {
			return l.next(now, ev.OK)
		}
	case Woke:
		if at := l.WakeAt(); !at.IsZero() && !now.Before(at) {
			return l.begin()
		}
	}
	return nil
}

func (l *Loop) want(now time.Time, w Wanted) []LoopEffect {
	l.wanted, l.once = true, false
	l.waiting = w.Waiting || w.New
	l.targets = slices.Clone(w.Targets)
	if w.New {
		l.backoff, l.rush = wire.BackoffMin, now.Add(wire.RushFor)
	}
	switch l.state {
	case Idle:
		if w.Waiting { // a link that carried lines was lost, or we were
			l.rush = now.Add(wire.RushFor)
		}
		return l.start(now, w.New || w.Waiting)
	case Grace:
		if w.New || !l.dialBack() {
			return l.begin()
		}
		if w.Waiting && now.Before(l.rush) {
			l.sleep(now) // a link that carried lines was lost: see lost
		}
	case Sleeping:
		if w.New {
			return l.begin()
		}
	}
	return nil
}

func (l *Loop) unwant() []LoopEffect {
	l.wanted, l.once, l.waiting = false, false, false
	if l.state == Linked {
		return nil
	}
	l.state, l.round, l.backoff = Idle, nil, wire.BackoffMin
	if l.trying {
		return []LoopEffect{Stop{}}
	}
	return nil
}

// start begins a loop: at once, unless there is no work and the peer's own hello is all
// we know of its addresses. Such a peer dialed us before and most likely does so again.
func (l *Loop) start(now time.Time, work bool) []LoopEffect {
	if len(l.targets) > 0 && l.dialBack() && !work {
		l.state, l.wakeAt = Grace, now.Add(wire.DialBackGrace)
		return nil
	}
	return l.begin()
}

func (l *Loop) dialBack() bool {
	return !slices.ContainsFunc(l.targets, func(t Target) bool { return t.Source != fromHello })
}

// begin starts a round, or waits for the attempt that still runs from before.
func (l *Loop) begin() []LoopEffect {
	if len(l.targets) == 0 {
		l.state, l.once = Idle, false
		return nil
	}
	l.state, l.round = Trying, l.targets
	if l.trying {
		l.round = append([]Target{{}}, l.targets...) // the zero Target stands for it
		return nil
	}
	return l.dial()
}

func (l *Loop) dial() []LoopEffect {
	l.trying = true
	return []LoopEffect{Dial{l.round[0]}}
}

// next follows an attempt: the next address, or a wait before all are tried again. An
// attempt that went well and whose link is gone already is no better than a failed one.
func (l *Loop) next(now time.Time, ok bool) []LoopEffect {
	earlier := l.round[0] == Target{} // an attempt from before this round
	l.round = l.round[1:]
	switch {
	case len(l.round) > 0 && (earlier || !ok):
		return l.dial()
	case !l.wanted:
		l.state, l.once = Idle, false
		return nil
	}
	l.sleep(now)
	return nil
}

func (l *Loop) sleep(now time.Time) {
	l.state, l.round = Sleeping, nil
	b := l.backoff
	if l.waiting && now.Before(l.rush) {
		b = min(b, wire.RushMax)
	}
	l.wakeAt = now.Add(b/2 + time.Duration(l.jitter()*float64(b)))
	l.backoff = min(2*l.backoff, wire.BackoffMax)
}

// lost follows the end of a link. It is never answered with a dial at once, so that a
// peer which takes every link and drops it is not dialed in a tight loop; only a link
// that held for a while begins the backoff anew.
func (l *Loop) lost(now time.Time) []LoopEffect {
	if now.Sub(l.upSince) >= wire.RedialAfter {
		l.backoff = wire.RedialMin
	}
	l.rush = now.Add(wire.RushFor)
	switch {
	case !l.wanted || len(l.targets) == 0:
		l.state = Idle
	case l.dialBack() && !l.waiting:
		l.state, l.wakeAt = Grace, now.Add(wire.DialBackGrace)
	default:
		l.sleep(now)
	}
	return nil
}
