package link

import (
	"errors"
	"time"

	"github.com/awp-suite/awp/wire"
)

// forward is what most lines come to.
var forward = []Effect{Forward{}}

// line takes a line of the peer. Any line is a sign of life.
func (m *Machine) line(now time.Time, l Line) []Effect {
	m.heard, m.missed = now, 0
	if m.drain == broken {
		return nil
	}
	if l.T == wire.TypeErr {
		return m.peerErr(now, l)
	}
	first := m.establish()
	fx := m.accepted(now, l)
	if first == nil {
		return fx
	}
	return append(first, fx...)
}

func (m *Machine) accepted(now time.Time, l Line) []Effect {
	switch l.T {
	case wire.TypeHello, wire.TypeAuth: // said before; no use twice
		return nil
	case wire.TypeResume:
		return m.resume(now, l)
	case wire.TypePing:
		if m.drain == none || m.drain == answering {
			return []Effect{Pong{Re: l.ID}}
		}
		return nil
	case wire.TypePong:
		return m.pong(now, l)
	case wire.TypeBye:
		return m.bye(now, l)
	}
	return forward
}

// establish notes the peer's first line that is not an err: it accepted us.
func (m *Machine) establish() []Effect {
	if m.established {
		return nil
	}
	m.established = true
	return []Effect{Established{}}
}

// resume starts the replay, once: a second resume is ignored, and so is one that comes
// after the wait for it ran out.
func (m *Machine) resume(now time.Time, l Line) []Effect {
	if m.state != Resuming {
		return nil
	}
	if _, err := wire.Decode[wire.Resume](l.Raw); err != nil {
		return m.refuseLine(now, l, err)
	}
	return m.live(now, l.Raw)
}

func (m *Machine) live(now time.Time, resume []byte) []Effect {
	m.become(Live)
	m.firstAt = now.Add(wire.FirstPing)
	return []Effect{Resume{Raw: resume}}
}

func (m *Machine) pong(now time.Time, l Line) []Effect {
	if l.Re == "" || l.Re != m.pingID {
		return nil
	}
	m.pingID = ""
	m.owed.ponged(m.pingAt)
	if m.owed.loaded {
		return nil // it measured our own queue
	}
	m.measured = true
	return []Effect{RTT{Took: now.Sub(m.pingAt)}}
}

// peerErr hands an err to the home, which logs it and may act on it, and ends the link if
// the code does.
func (m *Machine) peerErr(now time.Time, l Line) []Effect {
	e, err := wire.Decode[wire.Err](l.Raw)
	if err != nil {
		return m.refuseLine(now, l, err)
	}
	if !e.Code.Closes() {
		return forward
	}
	reason := "peer sent err " + string(e.Code)
	if e.Detail != "" {
		reason += ": " + wire.Clip(e.Detail, 200)
	}
	m.become(Down)
	return []Effect{Forward{}, Close{Reason: reason, Denied: !m.established && e.Code == wire.AuthFailed}}
}

func (m *Machine) refuseLine(now time.Time, l Line, err error) []Effect {
	if le, ok := errors.AsType[*wire.LineError](err); ok {
		return m.refuse(now, l.ID, le.Code, le.Detail)
	}
	return m.refuse(now, l.ID, wire.BadFrame, "bad line")
}
