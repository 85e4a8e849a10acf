package ipc

import "github.com/awp-suite/awp"

// The hot path between awp-wire and awp-store: one long connection to StoreSocket, made
// by awp-wire. The store judges, the wire carries.
//
// A link is one connection between two hosts that passed its handshake; awp-wire numbers
// it, never twice in its life. Lines travel raw beside the object, whole batches at a
// time. Two windows keep memory bounded: the store keeps at most WindowLines lines or
// WindowBytes bytes pushed and not yet LinkWritten per link, and awp-wire keeps at most
// as much sent by LinkIn and LinkResume and not yet LinkTook. One line always fits.
//
// Window comes back with what goes the same way anyhow: by LinkIn what was written, by
// LinkOut what was taken. A note of its own is due once HeldLines lines or HeldBytes bytes
// are to be returned; less may be kept back for any time, and a window is larger than a
// line by as much.
//
// awp-wire gone: the store forgets its links. Store gone: awp-wire stops reading its
// peers, closes its links, claims anew, and greets its peers again.

// The windows of one link, in either direction.
const (
	WindowLines = 256
	WindowBytes = 1<<20 + HeldBytes
)

// What of a window may be kept back is less than this.
const (
	HeldLines = 32
	HeldBytes = 16 << 10
)

// Credit is returned window.
type Credit struct {
	Lines int `json:"lines"`
	Bytes int `json:"bytes"` // without newlines
}

// From awp-wire.

// LinkClaim makes this connection the link connection. While one is alive a second is
// refused with busy. Wants follow at once.
var LinkClaim = Method[None, LinkHello]{"link.claim"}

// LinkHello is what awp-wire needs for its hello lines.
type LinkHello struct {
	Key   awp.Key  `json:"key"`
	Name  string   `json:"name"`
	About string   `json:"about"`
	Caps  []string `json:"caps"` // in the order sent
}

// IdentitySign signs an auth transcript. It takes two raw lines: our hello, which must
// carry our key, and the peer's, which must carry another.
var IdentitySign = Method[None, SignResult]{"identity.sign"}

// SignResult is the signature as the auth line spells it, and the grants to present with
// it: those that we hold of the peer, or for it. Each is a grant's exact text.
type SignResult struct {
	Sig    string   `json:"sig"`
	Grants []string `json:"grants,omitzero"`
}

// LinkAdmit asks whether a peer that proved its key may connect, and records it. It
// takes raw lines: the peer's hello, and behind it the grants that it presented.
var LinkAdmit = Method[AdmitParams, AdmitResult]{"link.admit"}

// AdmitParams describes the new link.
type AdmitParams struct {
	Link     uint64  `json:"link"`
	Peer     awp.Key `json:"peer"`
	Outbound bool    `json:"outbound,omitzero"` // we dialled
	Via      string  `json:"via"`               // canonical address, or what the listener knows
}

// AdmitResult carries what our resume line says we have seen, or the refusal.
type AdmitResult struct {
	Refused string                         `json:"refused,omitzero"` // detail of err auth
	Seen    map[awp.ThreadID]awp.MessageID `json:"seen,omitzero"`    // fits a line
	Known   bool                           `json:"known,omitzero"`   // the home chose to deal with it: its link is kept when there are too many
}

// LinkResume says that the peer's resume came, as one raw line, or, with no line, that
// the wait for it ran out. From here on the store pushes the outbox.
var LinkResume = Note[LinkRef]{"link.resume"}

// LinkRef names a link.
type LinkRef struct {
	Link uint64 `json:"link"`
}

// Valid reports whether a note that returns c says anything. One that does not comes from a
// program of another release, and a window would never open again.
func (c Credit) Valid() bool { return c.Lines > 0 && c.Bytes >= 0 }

// LinkIn hands over lines of the peer, raw, in order: every line that is not awp-wire's
// own business (hello, auth, resume, ping, pong, bye).
var LinkIn = Note[InParams]{"link.in"}

// InParams says whose lines come along.
type InParams struct {
	Link    uint64 `json:"link"`
	Written Credit `json:"written,omitzero"` // as by LinkWritten
}

// LinkWritten returns window: so many pushed lines were written to the peer.
var LinkWritten = Note[LinkCredit]{"link.written"}

// LinkCredit returns window of a link.
type LinkCredit struct {
	Link   uint64 `json:"link"`
	Credit Credit `json:"credit"`
}

// LinkDown says that a link ended. awp-wire sends nothing for it afterwards.
var LinkDown = Note[DownParams]{"link.down"}

// DownParams says why a link ended.
type DownParams struct {
	Link   uint64 `json:"link"`
	Reason string `json:"reason"`
}

// LinkBye says that a bye was said, or asked for while the peer was not connected: the
// peer is parked. It is a call, so that the parking is on disk before anybody is told.
var LinkBye = Method[LinkByeParams, None]{"link.bye"}

// LinkByeParams tells who said bye.
type LinkByeParams struct {
	Peer     awp.Key `json:"peer"`
	Reason   string  `json:"reason,omitzero"`
	FromPeer bool    `json:"from_peer,omitzero"`
}

// LinkRTT reports a measured round trip, in milliseconds, at least 1.
var LinkRTT = Note[RTTParams]{"link.rtt"}

// RTTParams is one measurement.
type RTTParams struct {
	Link uint64 `json:"link"`
	RTT  int64  `json:"rtt_ms"`
}

// LinkListening reports where awp-wire listens now.
var LinkListening = Note[ListeningParams]{"link.listening"}

// ListeningParams replaces what was reported before.
type ListeningParams struct {
	Addresses      []string        `json:"addresses"` // canonical, tailcat first
	Errors         []awp.ListenErr `json:"errors,omitzero"`
	Tailcat        string          `json:"tailcat,omitzero"`
	TailcatError   string          `json:"tailcat_error,omitzero"`
	TailcatEnabled bool            `json:"tailcat_enabled,omitzero"`
}

// LinkDial reports the state of the dialling loop for a peer.
var LinkDial = Note[DialParams]{"link.dial"}

// DialParams tells of one attempt, or, without Addr, that the loop runs or ended.
type DialParams struct {
	Peer    awp.Key `json:"peer"`
	Dialing bool    `json:"dialing"`
	Addr    string  `json:"addr,omitzero"`  // the address that was tried
	Error   string  `json:"error,omitzero"` // why that failed; empty when it worked
}

// LinkPeer looks up a peer by key, or by an address it is known to have. Error:
// not_found.
var LinkPeer = Method[LinkPeerParams, Want]{"link.peer"}

// LinkPeerParams gives one of the two.
type LinkPeerParams struct {
	Peer awp.Key `json:"peer,omitzero"`
	Addr string  `json:"addr,omitzero"`
}

// From awp-store, on the claimed connection.

// LinkWant says that there is unfinished business with a peer: keep a link to it. It
// comes again whenever there is new work, which starts or wakes the dialling loop at once.
var LinkWant = Note[Want]{"want"}

// Want is a peer that should be connected.
type Want struct {
	Peer  awp.Key      `json:"peer"`
	Addrs []DialTarget `json:"addrs,omitzero"` // best first; may be empty
	New   bool         `json:"new,omitzero"`   // new outbound work: no grace, backoff reset
	// Waiting says that lines wait for the peer: for a while after the loss of its link,
	// attempts follow each other quickly.
	Waiting bool `json:"waiting,omitzero"`
}

// DialTarget is an address to try. Source is connect, introduce or hello.
type DialTarget struct {
	Addr   string `json:"addr"`
	Source string `json:"source"`
}

// LinkUnwant says that no business with a peer is left; a live link stays.
var LinkUnwant = Note[LinkPeerRef]{"unwant"}

// LinkPeerRef names a peer.
type LinkPeerRef struct {
	Peer awp.Key `json:"peer"`
}

// LinkOut pushes raw lines for the peer. Control lines (acks, errs) go ahead of reliable
// lines that wait, do not count against the window and are not LinkWritten.
var LinkOut = Note[OutParams]{"out"}

// OutParams says what kind of lines come along.
type OutParams struct {
	Link    uint64 `json:"link"`
	Control bool   `json:"control,omitzero"`
	Close   bool   `json:"close,omitzero"` // after these lines, close the link
	Took    Credit `json:"took,omitzero"`  // as by LinkTook
}

// LinkTook returns window: so many lines of LinkIn and LinkResume were judged and, where that was due,
// committed.
var LinkTook = Note[LinkCredit]{"took"}
