package link

import (
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Machine is one link after both sides proved their keys and the home admitted the peer.
// It is a value: [Machine.Step] returns the next one.
type Machine struct {
	state    State
	drain    drain
	interval time.Duration // of silence before a ping

	established bool
	held        bool
	heard       time.Time // when the peer's last line came
	missed      int       // pings of the idle test since then
	nextTest    time.Time // of idleness

	resumeBy time.Time // while Resuming
	firstAt  time.Time // when to measure a first round trip; zero: not due
	measured bool
	pingID   awp.MessageID // our last ping while no pong has named it
	pingAt   time.Time
	owed     owed

	closeAt time.Time // while Draining
	reason  string    // why it drains

	byeID     awp.MessageID // the peer's bye, while answering
	byeReason string
}

// noAnswer is why a link ends whose peer is silent.
const noAnswer = "peer does not answer pings"

// drainTime is how long a peer that was told an err may still take to hear it.
const drainTime = time.Second

// New returns a link that was admitted now, with the interval of its pings.
func New(now time.Time, interval time.Duration) Machine {
	return Machine{
		state:    Resuming,
		interval: interval,
		heard:    now,
		nextTest: now.Add(interval),
		resumeBy: now.Add(wire.ResumeTimeout),
	}
}

// NewBroken returns what is left of a connection whose handshake failed on our side: to
// let the peer read what is queued for it. The caller does [Last] with no line.
func NewBroken(now time.Time, reason string) Machine {
	return Machine{state: Draining, drain: broken, closeAt: now.Add(wire.ErrTimeout), reason: reason}
}

// State tells how far the link has come.
func (m Machine) State() State { return m.state }

// Discards reports whether the peer's lines no longer matter.
func (m Machine) Discards() bool { return m.state == Down || m.drain == broken }

// Own reports whether lines of type t are the link's own business: all others are the
// home's.
func Own(t string) bool {
	switch t {
	case wire.TypeHello, wire.TypeAuth, wire.TypeResume, wire.TypePing, wire.TypePong, wire.TypeBye:
		return true
	}
	return false
}

// Step takes one event and returns the link after it and what is to be done. Once it is
// Down nothing changes any more.
func (m Machine) Step(now time.Time, ev Event) (Machine, []Effect) {
	if m.state == Down {
		return m, nil
	}
	fx := m.step(now, ev)
	return m, fx
}

func (m *Machine) step(now time.Time, ev Event) []Effect {
	switch ev := ev.(type) {
	case Line:
		return m.line(now, ev)
	case BadLine:
		return m.refuse(now, "", ev.Code, ev.Detail)
	case Heard:
		if ev.At.After(m.heard) {
			m.heard, m.missed = ev.At, 0
		}
	case Ended:
		return m.ended(ev.Reason)
	case Held:
		m.held = true
	case Freed:
		m.held, m.heard, m.missed = false, now, 0
	case PingSent:
		m.pingID, m.pingAt = ev.ID, now
		m.owed.pinged()
	case Wrote:
		return m.wrote(ev)
	case Doubt:
		return m.doubt(now)
	case Flushed:
		if m.drain == broken {
			m.closeAt = earlier(m.closeAt, now.Add(drainTime))
		}
	case WriteFailed:
		return m.writeFailed(now, ev.Reason)
	case AskBye:
		return m.askBye(now, ev.Reason)
	case Parked:
		return m.answerBye(now)
	case HomeCloses:
		if m.state == Draining && m.drain != answering {
			return nil
		}
		m.drainFor(broken, now.Add(wire.ErrTimeout), "the home refused a line")
		return []Effect{Last{HalfClose: true}}
	case Replaced:
		return m.close("replaced by a newer connection")
	case Overflow:
		return m.close("peer asks more than it reads")
	case Tick:
		return m.tick(now)
	}
	return nil
}

// WakeAt is when the next [Tick] is due.
func (m Machine) WakeAt() time.Time {
	switch m.state {
	case Down:
		return time.Time{}
	case Draining:
		return m.closeAt
	}
	at := m.nextTest
	if m.state == Resuming {
		at = earlier(at, m.resumeBy)
	}
	if !m.firstAt.IsZero() {
		at = earlier(at, m.firstAt)
	}
	if due, any := m.owedAt(); any {
		at = earlier(at, due)
	}
	return at
}

func (m *Machine) tick(now time.Time) []Effect {
	if m.state == Draining {
		if now.Before(m.closeAt) {
			return nil
		}
		return m.close(m.reason)
	}
	var fx []Effect
	if m.state == Resuming && !now.Before(m.resumeBy) {
		// The reference waits for the whole handshake timeout before it takes a silent
		// peer for one that accepted us. From here on it gets our outbox, so it counts
		// as one.
		fx = append(m.establish(), m.live(now, nil)...)
	}
	if !m.firstAt.IsZero() && !now.Before(m.firstAt) {
		m.firstAt = time.Time{}
		if !m.measured {
			fx = append(fx, Ping{})
		}
	}
	if due, any := m.owedAt(); any && !now.Before(due) {
		if m.probing() {
			return append(fx, m.close(noAnswer)...)
		}
		fx = append(fx, Ping{})
	}
	if now.Before(m.nextTest) {
		return fx
	}
	m.nextTest = now.Add(m.interval)
	if m.held || now.Sub(m.heard) < m.interval*9/10 {
		return fx
	}
	if m.missed >= wire.MissedPongs {
		return append(fx, m.close(noAnswer)...)
	}
	m.missed++
	return append(fx, Ping{})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
