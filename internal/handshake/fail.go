package handshake

import (
	"errors"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// fail ends the handshake without a word.
func (m *Machine) fail(f Fail) []Effect {
	m.become(Failed)
	return []Effect{f}
}

// refuse ends the handshake with an err line.
func (m *Machine) refuse(code wire.Code, detail string, re awp.MessageID) []Effect {
	m.become(Failed)
	return []Effect{
		Send{wire.NewErr("", "", re, code, detail, "")},
		Fail{Reason: "refused: " + detail, Flush: true},
	}
}

// refuseLine is refuse for an error of package wire.
func (m *Machine) refuseLine(err error, re awp.MessageID) []Effect {
	if le, ok := errors.AsType[*wire.LineError](err); ok {
		return m.refuse(le.Code, le.Detail, re)
	}
	return m.refuse(wire.BadFrame, "bad line", re)
}

// peerErr ends the handshake because the peer sent an err, whatever its code.
func (m *Machine) peerErr(raw []byte) []Effect {
	e, err := wire.Decode[wire.Err](raw)
	if err != nil {
		return m.refuseLine(err, "")
	}
	return m.fail(Fail{Reason: peerErrText(e), Denied: e.Code == wire.AuthFailed})
}

// peerErrText words an err line of a peer for people.
func peerErrText(e wire.Err) string {
	if e.Detail == "" {
		return "peer sent err " + string(e.Code)
	}
	return "peer sent err " + string(e.Code) + ": " + wire.Clip(e.Detail, 200)
}
