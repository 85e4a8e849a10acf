package link

import (
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Event is something that happened to a link.
type Event interface{ event() }

// The events.
type (
	// Line is a line of the peer, with its envelope parsed.
	Line struct {
		wire.Envelope
		Raw []byte // without newline; effects may refer to it
	}
	// BadLine is input that is no line: too long, or not a JSON object.
	BadLine struct {
		Code   wire.Code
		Detail string
	}
	// Heard says that a part of a line came, at that time: a long one may take a while.
	Heard struct{ At time.Time }
	// Ended says that nothing more will be read.
	Ended struct{ Reason string }
	// Held says that reading stopped because the home is behind; Freed, that it goes on.
	// The peer's silence between the two is our doing.
	Held  struct{}
	Freed struct{}
	// PingSent answers [Ping]: under this id it went out.
	PingSent struct{ ID awp.MessageID }
	// Wrote says that so much of the home's outbox was written, newlines not counted, the
	// first of it at At.
	Wrote struct {
		Lines, Bytes int
		At           time.Time
	}
	// Doubt says that the machine slept or its network changed: the link may be dead
	// without a sign.
	Doubt struct{}
	// Flushed answers [Last]: everything is written.
	Flushed struct{}
	// WriteFailed says that nothing more can be written.
	WriteFailed struct{ Reason string }
	// AskBye asks for a graceful end. The home has parked the peer.
	AskBye struct{ Reason string }
	// Parked answers [Park].
	Parked struct{}
	// HomeCloses says that the home's last line for the peer is queued, an err that ends
	// the link.
	HomeCloses struct{}
	// Replaced says that a newer link to the same peer takes over.
	Replaced struct{}
	// Overflow says that too many control lines wait: the peer asks and does not read.
	Overflow struct{}
	// Tick says that time passed, see [Machine.WakeAt].
	Tick struct{}
)

func (Line) event()        {}
func (BadLine) event()     {}
func (Heard) event()       {}
func (Ended) event()       {}
func (Held) event()        {}
func (Freed) event()       {}
func (PingSent) event()    {}
func (Wrote) event()       {}
func (Doubt) event()       {}
func (Flushed) event()     {}
func (WriteFailed) event() {}
func (AskBye) event()      {}
func (Parked) event()      {}
func (HomeCloses) event()  {}
func (Replaced) event()    {}
func (Overflow) event()    {}
func (Tick) event()        {}

// Effect is something to be done, in the order given.
type Effect interface{ effect() }

// The effects.
type (
	// Forward hands the line of this step to the home.
	Forward struct{}
	// Resume tells the home what the peer has seen: the peer's resume line, or nil when
	// the wait for it ran out. The home replays from here on.
	Resume struct{ Raw []byte }
	// Established says that the peer accepted us: a line other than an err came.
	Established struct{}
	// Ping writes a ping; [PingSent] says under which id.
	Ping struct{}
	// Pong answers a ping.
	Pong struct{ Re awp.MessageID }
	// RTT reports a round trip.
	RTT struct{ Took time.Duration }
	// Park asks the home to note that the peer said bye; [Parked] answers.
	Park struct{ Reason string }
	// Last ends writing: control lines already queued go out, then Line, a [wire.Bye] or
	// [wire.Err] that lacks its id and ts, or nothing when it is nil; then nothing at
	// all. [Flushed] answers.
	Last struct {
		Line      any
		HalfClose bool // and tell the peer so
	}
	// Close ends the connection now.
	Close struct {
		Reason string // for people
		Denied bool   // the peer refused us before it accepted us
	}
)

func (Forward) effect()     {}
func (Resume) effect()      {}
func (Established) effect() {}
func (Ping) effect()        {}
func (Pong) effect()        {}
func (RTT) effect()         {}
func (Park) effect()        {}
func (Last) effect()        {}
func (Close) effect()       {}
