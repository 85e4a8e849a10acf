package handshake

import (
	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Event is something that happened to the handshake.
type Event interface{ event() }

// The events.
type (
	// Line is a line of the peer, without its newline. The machine copies what it keeps.
	Line struct{ Raw []byte }
	// BadLine is input that is no line: too long, or not a JSON object.
	BadLine struct {
		Code   wire.Code
		Detail string
	}
	// Lost says that the connection ended, or that the home gave it up: there is nobody
	// to tell, or nothing to say.
	Lost struct{ Reason string }
	// Signed answers [Sign]. The grants are presented with the signature, byte for byte.
	Signed struct {
		Sig    string
		Grants []string
	}
	// Admitted answers [Admit]: the peer may come in.
	Admitted struct{}
	// Refused answers [Admit]: it may not. The peer is told Detail.
	Refused struct{ Detail string }
	// Yielded answers [Admit]: another connection to the same peer stays instead of this
	// one. The peer is told nothing, it finds the same.
	Yielded struct{ Reason string }
	// Tick says that time passed, see [Machine.Deadline].
	Tick struct{}
)

func (Line) event()     {}
func (BadLine) event()  {}
func (Lost) event()     {}
func (Signed) event()   {}
func (Admitted) event() {}
func (Refused) event()  {}
func (Yielded) event()  {}
func (Tick) event()     {}

// Effect is something to be done, in the order given.
type Effect interface{ effect() }

// The effects.
type (
	// Send writes a line, a [wire.Auth] or a [wire.Err] that lacks its id and ts.
	Send struct{ Line any }
	// Sign asks the home to sign the transcript of the two hello lines, ours first.
	Sign struct{ Ours, Theirs []byte }
	// Admit asks the home whether the peer, which proved its key, may come in.
	Admit struct{ Peer Peer }
	// Fail ends the connection.
	Fail struct {
		Reason string // for people
		Flush  bool   // what was sent must reach the peer before the end
		Denied bool   // the peer sent an err auth: it does not want us
	}
)

func (Send) effect()  {}
func (Sign) effect()  {}
func (Admit) effect() {}
func (Fail) effect()  {}

// Peer is who is at the other end. Its key is proved once [Admit] is asked for.
type Peer struct {
	Key    awp.Key
	Hello  []byte   // the line's exact bytes
	Grants [][]byte // presented with its auth, not judged: at most wire.MaxGrants
}
