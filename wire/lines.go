package wire

import (
	"encoding/json/jsontext"

	"github.com/awp-suite/awp"
)

// Envelope is what every line begins with (section 4). T, ID and TS are always there in
// what we send; of a peer's lines only T is certain, see [ParseEnvelope].
type Envelope struct {
	T  string        `json:"t"`           // the type
	ID awp.MessageID `json:"id"`          // the sender's, increasing; opaque to the receiver
	TS string        `json:"ts"`          // when it was first written, see [Stamp]; never interpreted
	Th awp.ThreadID  `json:"th,omitzero"` // the thread, where the type has one
	Re awp.MessageID `json:"re,omitzero"` // the line it answers
}

// Hello opens a link and names its sender (section 7.1). Its exact bytes are signed by
// both sides, so whoever writes or reads one keeps the line.
type Hello struct {
	Envelope
	V      int      `json:"v"`               // 0 where the sender left it out
	Key    string   `json:"key"`             // as spelled; identity is what awp.ParseKey makes of it
	Name   string   `json:"name"`            // for people
	Nonce  string   `json:"nonce"`           // NonceSize random bytes in base64url
	Caps   []string `json:"caps"`            // see Caps
	About  string   `json:"about"`           // for people
	Addr   string   `json:"addr,omitzero"`   // where the sender can be dialed, see ParseAddr
	Shares []string `json:"shares,omitzero"` // keys of the hosts it mirrors threads to, as spelled
}

// Auth proves the key that the sender's hello named (section 7.2). Grants are those it
// holds and wants honored; a bad one among them is no reason to refuse the auth.
type Auth struct {
	Envelope
	Sig    string           `json:"sig"`
	Grants []jsontext.Value `json:"grants,omitzero"`
}

// Resume says, for each thread, the largest id of the peer's reliable lines that the
// sender durably holds (section 7.4). Seen is written even when empty, and read from null.
// The map must fit a line: some 18,000 threads with ids of our make.
type Resume struct {
	Envelope
	Seen map[awp.ThreadID]awp.MessageID `json:"seen"`
}

// Msg is a message (section 11). Subject has a meaning only in a thread's first.
type Msg struct {
	Envelope
	Subject string `json:"subject,omitzero"`
	Parts   []Part `json:"parts"` // may be empty, and is written even then
}

// State tells where the sender stands in the thread (section 11). Any word but the empty
// one will do; some have a meaning, see [StateOpen] and those after it.
type State struct {
	Envelope
	State string `json:"state"`
	Note  string `json:"note,omitzero"`
}

// The states that have a meaning beyond their word: a thread is over for the suite when
// either side's is done, failed or closed.
const (
	StateOpen    = "open" // before anybody said anything
	StateWorking = "working"
	StateWaiting = "waiting"
	StateDone    = "done"
	StateFailed  = "failed"
	StateClosed  = "closed"
)

// Ack says that the line Re of thread Th is on the sender's disk (section 8).
type Ack struct{ Envelope }

// Chunk is a piece of a file, the way the line spells it (section 16). [AppendChunk] and
// [DecodeChunk] work on the bytes instead.
type Chunk struct {
	Envelope
	Ref  string `json:"ref"`  // the blob's, scoped to peer and direction
	N    int64  `json:"n"`    // counts from 0
	Last bool   `json:"last"` // no chunk follows
	Data string `json:"data"` // padded standard base64 of at most ChunkSize bytes
}

// Ping asks for a [Pong] (section 10).
type Ping struct{ Envelope }

// Pong answers the ping Re.
type Pong struct{ Envelope }

// Bye ends a link until one side has new work (section 10).
type Bye struct {
	Envelope
	Reason string `json:"reason,omitzero"`
}

// Err reports what went wrong (section 10), with the line Re or the blob Ref.
type Err struct {
	Envelope
	Code   Code   `json:"code"`
	Detail string `json:"detail,omitzero"`
	Ref    string `json:"ref,omitzero"`
}

// Grant hands over a signed grant (section 13).
type Grant struct {
	Envelope
	Grant jsontext.Value `json:"grant"` // as signed, see VerifySigned
}

// Introduce tells the receiver of a third agent and, with a grant, vouches for the
// receiver there (section 13).
type Introduce struct {
	Envelope
	Peer  Introduced     `json:"peer"`
	Grant jsontext.Value `json:"grant,omitzero"` // issued by the sender to the receiver, for Peer
}

// Introduced is the agent an [Introduce] line is about, all as spelled by the sender.
type Introduced struct {
	Key     string `json:"key"`
	Name    string `json:"name,omitzero"`
	Address string `json:"address,omitzero"`
}

// Presence carries an agent's signed presence document one hop further (section 14).
type Presence struct {
	Envelope
	Doc  jsontext.Value `json:"doc"`  // passed on byte for byte
	Hops int            `json:"hops"` // links it had crossed before this one
}

// Mirror shows a host a line of a thread that the sender shares (section 15); Th is that
// thread. With Withdraw it has no line and asks the host to forget the thread.
type Mirror struct {
	Envelope
	Of       string         `json:"of"` // key of the thread's other party, as spelled
	OfName   string         `json:"of_name,omitzero"`
	Subject  string         `json:"subject,omitzero"`
	Dir      string         `json:"dir,omitzero"`  // awp.Out if the sender wrote the line, else awp.In
	Line     jsontext.Value `json:"line,omitzero"` // the original, byte for byte
	Withdraw bool           `json:"withdraw,omitzero"`
}

// Private says that thread Th is no longer shared with hosts, by either party (section 15).
type Private struct{ Envelope }
