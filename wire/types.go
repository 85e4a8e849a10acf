package wire

// Version is the protocol version in hello's member v (section 7.1).
const Version = 0

// AuthContext opens every signed auth transcript, so that a signature made for it can
// never be taken for one over anything else (section 7.2).
const AuthContext = "awp-auth-v0"

// The types of lines: the values of member t.
const (
	TypeHello     = "hello"
	TypeAuth      = "auth"
	TypeResume    = "resume"
	TypeMsg       = "msg"
	TypeState     = "state"
	TypeAck       = "ack"
	TypeChunk     = "chunk"
	TypePing      = "ping"
	TypePong      = "pong"
	TypeBye       = "bye"
	TypeErr       = "err"
	TypeGrant     = "grant"
	TypeIntroduce = "introduce"
	TypePresence  = "presence"
	TypeMirror    = "mirror"
	TypePrivate   = "private"
)

// Reliable reports whether a line of type typ lives in the outbox until the peer is known
// to hold it. Of introduce lines only those with a thread do (section 8).
func Reliable(typ string, hasThread bool) bool {
	switch typ {
	case TypeMsg, TypeState, TypeChunk, TypeMirror, TypePrivate:
		return true
	case TypeIntroduce:
		return hasThread
	}
	return false
}

// Acked reports whether the receiver answers a line of type typ with an ack. A reliable
// type that is not acked leaves the outbox with the next acked line of its thread, or at
// a resume (section 8).
func Acked(typ string) bool {
	switch typ {
	case TypeMsg, TypeState, TypeMirror, TypePrivate:
		return true
	}
	return false
}

// What a hello offers in caps: the optional parts of the protocol (section 7.1). A
// receiver acts only on CapPresence.
const (
	CapChat      = "chat"
	CapBlob      = "blob"
	CapGrant     = "grant"
	CapIntroduce = "introduce"
	CapPresence  = "presence"
	CapMirror    = "mirror"
)

// Caps returns what this implementation offers in its hello, in the customary order.
func Caps() []string {
	return []string{CapChat, CapBlob, CapGrant, CapIntroduce, CapPresence, CapMirror}
}
