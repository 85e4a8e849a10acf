package handshake

import (
	"bytes"
	"encoding/json/jsontext"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Config is what a handshake knows before its first line.
type Config struct {
	Own    awp.Key // our key
	Hello  []byte  // our hello line, whose exact bytes were or will be written
	Expect awp.Key // who must answer; zero: anybody
}

// Machine is one handshake, a value: [Machine.Step] returns the next one.
type Machine struct {
	cfg      Config
	state    State
	deadline time.Time
	peer     Peer // Hello is nil while greeting
	proved   bool // the peer's auth was good
}

// New returns a handshake that begins now: the caller writes cfg.Hello at once, without
// waiting for the peer's.
func New(now time.Time, cfg Config) Machine {
	return Machine{cfg: cfg, state: Greeting, deadline: now.Add(wire.HandshakeTimeout)}
}

// State tells how far the handshake has come.
func (m Machine) State() State { return m.state }

// Peer returns who answered. Before [Done] its key is only a claim, or zero.
func (m Machine) Peer() Peer { return m.peer }

// Deadline is when a [Tick] ends the handshake.
func (m Machine) Deadline() time.Time { return m.deadline }

// Reads reports whether the next line of the peer is the handshake's. Once it is not,
// lines belong to the link that follows.
func (m Machine) Reads() bool { return m.state < Admitting }

// Step takes one event and returns the machine after it and what is to be done. Once the
// handshake is over nothing changes any more.
func (m Machine) Step(now time.Time, ev Event) (Machine, []Effect) {
	if m.state.over() {
		return m, nil
	}
	fx := m.step(now, ev)
	return m, fx
}

func (m *Machine) step(now time.Time, ev Event) []Effect {
	switch ev := ev.(type) {
	case Line:
		switch {
		case m.state == Greeting:
			return m.hello(ev.Raw)
		case m.Reads():
			return m.auth(ev.Raw)
		}
	case BadLine:
		return m.refuse(ev.Code, ev.Detail, "")
	case Lost:
		return m.fail(Fail{Reason: ev.Reason})
	case Signed:
		return m.signed(ev)
	case Admitted:
		if m.state == Admitting {
			m.become(Done)
		}
	case Refused:
		if m.state == Admitting {
			return m.refuse(wire.AuthFailed, ev.Detail, "")
		}
	case Yielded:
		if m.state == Admitting {
			// Flushed, because the peer has to see our auth to know whose link stays.
			return m.fail(Fail{Reason: ev.Reason, Flush: true})
		}
	case Tick:
		if !now.Before(m.deadline) {
			return m.fail(Fail{Reason: "handshake timed out"})
		}
	}
	return nil
}

// hello takes the first line. The order of the checks is section 7.1's: a version we do
// not speak is named before anything else is judged, and gets no auth.
func (m *Machine) hello(raw []byte) []Effect {
	if len(raw) > wire.MaxHello {
		return m.refuse(wire.TooLarge, "hello too long", "")
	}
	env, err := wire.ParseEnvelope(raw)
	switch {
	case err != nil:
		return m.refuseLine(err, "")
	case env.T == wire.TypeErr:
		return m.peerErr(raw)
	case env.T != wire.TypeHello:
		return m.refuse(wire.BadFrame, "expected hello", env.ID)
	}
	h, err := wire.Decode[wire.Hello](raw)
	if err != nil {
		return m.refuseLine(err, env.ID)
	}
	if h.V != wire.Version {
		return m.refuse(wire.BadVersion, "version not spoken", env.ID)
	}
	key, err := awp.ParseKey(h.Key)
	switch {
	case err != nil || key.IsZero():
		return m.refuse(wire.AuthFailed, "bad key", env.ID)
	case key == m.cfg.Own || bytes.Equal(raw, m.cfg.Hello):
		// The transcript is the same from both ends, so our own auth, played back to
		// us, would verify.
		return m.refuse(wire.AuthFailed, "own key", env.ID)
	}
	m.peer = Peer{Key: key, Hello: bytes.Clone(raw)}
	m.become(Signing)
	return []Effect{Sign{Ours: m.cfg.Hello, Theirs: m.peer.Hello}}
}

// auth takes a line after hello. Pings, pongs and types we do not know are let pass:
// they claim nothing.
func (m *Machine) auth(raw []byte) []Effect {
	env, err := wire.ParseEnvelope(raw)
	switch {
	case err != nil:
		return m.refuseLine(err, "")
	case env.T == wire.TypeErr:
		return m.peerErr(raw)
	case harmless(env.T):
		return nil
	case env.T != wire.TypeAuth || m.proved:
		return m.refuse(wire.AuthFailed, "expected auth", env.ID)
	}
	a, err := wire.Decode[wire.Auth](raw)
	if err != nil {
		return m.refuseLine(err, env.ID)
	}
	if err := wire.VerifyAuth(m.peer.Key, a.Sig, m.peer.Hello, m.cfg.Hello); err != nil {
		return m.refuseLine(err, env.ID)
	}
	m.proved = true
	m.peer.Grants = presented(a.Grants)
	if m.state == Proving {
		return m.admit()
	}
	return nil
}

// presented returns the grants that are looked at. What is too long to be one, or too many,
// is no reason to refuse the auth (section 7.2).
func presented(raw []jsontext.Value) (grants [][]byte) {
	for _, g := range raw {
		if len(g) <= wire.MaxGrant && len(grants) < wire.MaxGrants {
			grants = append(grants, bytes.Clone(g))
		}
	}
	return grants
}

func (m *Machine) signed(ev Signed) []Effect {
	if m.state != Signing {
		return nil
	}
	m.become(Proving)
	auth := wire.Auth{Envelope: wire.Envelope{T: wire.TypeAuth}, Sig: ev.Sig}
	for _, g := range ev.Grants {
		auth.Grants = append(auth.Grants, jsontext.Value(g))
	}
	fx := []Effect{Send{auth}}
	if m.proved {
		fx = append(fx, m.admit()...)
	}
	return fx
}

func (m *Machine) admit() []Effect {
	if !m.cfg.Expect.IsZero() && m.peer.Key != m.cfg.Expect {
		return m.fail(Fail{Reason: "address belongs to " + m.peer.Key.Short()})
	}
	m.become(Admitting)
	return []Effect{Admit{m.peer}}
}

// harmless reports whether a line of type t may come where auth is due.
func harmless(t string) bool {
	switch t {
	case wire.TypePing, wire.TypePong:
		return true
	case wire.TypeHello, wire.TypeAuth, wire.TypeResume, wire.TypeMsg, wire.TypeState, wire.TypeAck,
		wire.TypeChunk, wire.TypeBye, wire.TypeErr, wire.TypeGrant, wire.TypeIntroduce,
		wire.TypePresence, wire.TypeMirror, wire.TypePrivate:
		return false
	}
	return true
}
