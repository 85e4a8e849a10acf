package store

import "github.com/awp-suite/awp"

// Numbers in the database, written out: they outlive this release.
const (
	dirIn  = 0
	dirOut = 1
	dirSys = 2

	sourceConnect   = 0 // we dialled it and the peer answered
	sourceIntroduce = 1
	sourceHello     = 2 // the peer said so itself
)

var dirNames = map[int]string{dirIn: awp.In, dirOut: awp.Out, dirSys: awp.Sys}

var sourceNames = map[int]string{sourceConnect: "connect", sourceIntroduce: "introduce", sourceHello: "hello"}

// Roles of a grant (PROTOCOL.md section 13).
const (
	roleIssued    = 0 // we gave it
	roleHeld      = 1 // it was given to us
	rolePresented = 2 // a peer showed it, about itself
)

var roleNames = map[int]string{roleIssued: awp.GrantIssued, roleHeld: awp.GrantHeld, rolePresented: awp.GrantPresented}

// Types of what the home notes itself.
const (
	noteConnected    = "connected"
	noteDisconnected = "disconnected"
	noteBlob         = "blob"
	noteBye          = "bye"
	noteRefused      = "refused"
	noteExpired      = "expired" // lines for the peer were given up
)

// Admission policies (PROTOCOL.md section 12).
const (
	AcceptAny       = "any"
	AcceptAllowlist = "allowlist"
)

// peerRow is a peer as the committer keeps it at hand.
type peerRow struct {
	n      int64
	key    awp.Key
	name   string
	alias  string
	about  string
	parked bool
}

func (p *peerRow) label() string { return awp.Label(p.alias, p.name, p.key) }

// threadRow is a thread as the committer keeps it at hand. A change to it is written
// once, before the batch commits, however many lines of the batch touch it.
type threadRow struct {
	n          int64
	peer       *peerRow
	th         awp.ThreadID
	shown      bool
	subject    string
	ours       bool
	created    int64
	updated    int64
	myState    string
	myNote     string
	mySince    int64
	theirState string
	theirNote  string
	theirSince int64
	unread     int64
	seen       awp.MessageID
	seenAt     int64

	dirty bool // in tx.dirty
}

// logRow is a new line of the log.
type logRow struct {
	peer   *peerRow
	thread *threadRow // nil: none
	dir    int
	typ    string
	id     awp.MessageID // empty for dirSys
	body   []byte        // nil for dirSys
	meta   string        // JSON object or empty
	unread bool
	notice bool
}
