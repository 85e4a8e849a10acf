package link

import (
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// maxReason bounds the reason of a bye that we write, in code points.
const maxReason = 1000

// drainFor stops writing: what still comes is judged by why, until the time at.
func (m *Machine) drainFor(why drain, at time.Time, reason string) {
	if m.state != Draining {
		m.become(Draining)
	}
	m.drain, m.closeAt, m.reason = why, at, reason
}

// close ends the connection now.
func (m *Machine) close(reason string) []Effect {
	m.become(Down)
	return []Effect{Close{Reason: reason}}
}

// refuse ends the link with an err line, which the peer gets time to read. A peer that
// was already told farewell is told nothing more.
func (m *Machine) refuse(now time.Time, re awp.MessageID, code wire.Code, detail string) []Effect {
	switch m.drain {
	case none, answering:
	case broken:
		return nil
	default:
		return m.close(m.reason)
	}
	m.drainFor(broken, now.Add(wire.ErrTimeout), "refused a line: "+detail)
	return []Effect{Last{Line: wire.NewErr("", "", re, code, detail, ""), HalfClose: true}}
}

// bye takes the peer's. Whoever says it first gets an answer; the answer ends the link.
func (m *Machine) bye(now time.Time, l Line) []Effect {
	switch m.drain {
	case none:
	case asked:
		return m.close(m.reason)
	default:
		return nil
	}
	b, err := wire.Decode[wire.Bye](l.Raw)
	if err != nil {
		return m.refuseLine(now, l, err)
	}
	m.byeID, m.byeReason = l.ID, wire.Clip(b.Reason, maxReason) // the echo must fit a line
	m.drainFor(answering, now.Add(wire.ByeTimeout), "peer said bye")
	return []Effect{Park{Reason: b.Reason}}
}

// answerBye follows the home's note, so that a crash between the two cannot make us dial
// a peer that was told farewell.
func (m *Machine) answerBye(now time.Time) []Effect {
	if m.drain != answering {
		return nil
	}
	m.drainFor(answered, now.Add(wire.ByeTimeout), m.reason)
	line := wire.Bye{Envelope: wire.Envelope{T: wire.TypeBye, Re: m.byeID}, Reason: m.byeReason}
	return []Effect{Last{Line: line, HalfClose: true}}
}

func (m *Machine) askBye(now time.Time, reason string) []Effect {
	if m.state == Draining {
		return nil // it ends anyway
	}
	m.drainFor(asked, now.Add(wire.ByeTimeout), "said bye")
	return []Effect{Last{Line: wire.Bye{Envelope: wire.Envelope{T: wire.TypeBye}, Reason: wire.Clip(reason, maxReason)}}}
}

// writeFailed waits a moment: an err of the peer's may say why it stopped reading.
func (m *Machine) writeFailed(now time.Time, reason string) []Effect {
	if m.state == Draining {
		return m.close(m.reason)
	}
	m.drainFor(cut, now.Add(wire.ErrGrace), reason)
	return nil
}

func (m *Machine) ended(reason string) []Effect {
	if m.state == Draining {
		reason = m.reason
	}
	return m.close(reason)
}
