package ipc

import (
	"encoding/json/jsontext"
	"time"

	"github.com/awp-suite/awp"
)

// What awp-store serves to the programs that people and agents use, on StoreSocket.
//
// A peer argument ("who") is what a person typed: a full key, an exact alias or name, or
// a unique key prefix of at least 4 characters. A Token is a ULID that the caller chose:
// a call repeated with the same token, after its answer was lost, returns the first
// result and changes nothing.

// Ready answers once the program serves. awp-wire's answer waits, for a few seconds at
// most, until its listeners are open or have failed, and awp-store knows it.
var Ready = Method[None, ReadyResult]{"ready"}

// None is the parameters or the result of a call that has none.
type None struct{}

// ReadyResult says who answers.
type ReadyResult struct {
	Program string `json:"program"`
	Release string `json:"release"`
	PID     int    `json:"pid"`
}

// Status describes the home: itself, its peers, its counts. Peers come connected first,
// then the most recently seen; at most MaxStatusPeers of them. Peers lists all.
var Status = Method[None, awp.Status]{"status"}

// MaxStatusPeers bounds the peers in a status, so that it fits a line.
const MaxStatusPeers = 200

// Peers lists the peers in Status's order, in batches.
var Peers = Stream[None, []awp.Peer, None]{"peers"}

// Threads lists threads, most recently active first, in batches.
var Threads = Stream[ThreadsParams, []awp.Thread, None]{"threads"}

// ThreadsParams narrows Threads.
type ThreadsParams struct {
	Who  string `json:"who,omitzero"`  // only this peer's
	Open bool   `json:"open,omitzero"` // only those neither side called done, failed or closed
	Last int    `json:"last,omitzero"` // at most so many; 0: all
}

// Resolve finds the peer a person means. A full key needs not be known. Errors:
// not_found, ambiguous (the message lists the short keys).
var Resolve = Method[ResolveParams, awp.Peer]{"resolve"}

// ResolveParams names a peer by Who, or by the only peer that has Thread.
type ResolveParams struct {
	Who    string       `json:"who,omitzero"`
	Thread awp.ThreadID `json:"thread,omitzero"`
}

// Send queues a message. Its result means: on this home's disk.
var Send = Method[SendParams, SendResult]{"send"}

// SendParams is a message to queue. Without Thread it starts one; without Who the
// thread's only peer is meant. A file is read when the call is made; later changes to it
// do not matter.
type SendParams struct {
	Token   string        `json:"token"`
	Who     string        `json:"who,omitzero"`
	Thread  awp.ThreadID  `json:"thread,omitzero"`
	Subject string        `json:"subject,omitzero"` // default: first line of text, else a file's name
	Re      awp.MessageID `json:"re,omitzero"`
	Parts   []SendPart    `json:"parts"`
	// WaitAck bounds how long the answer waits for the peer's ack, in milliseconds. Nil:
	// one second when the peer is connected.
	WaitAck *int64 `json:"wait_ack_ms,omitzero"`
}

// SendPart is one part of a message to send. Which fields count depends on Kind.
type SendPart struct {
	Kind string         `json:"kind"` // text, code, data or file
	Text string         `json:"text,omitzero"`
	Lang string         `json:"lang,omitzero"` // code
	Mime string         `json:"mime,omitzero"` // data
	Data jsontext.Value `json:"data,omitzero"` // data
	Path string         `json:"path,omitzero"` // file: absolute
}

// SendResult is what was queued, and what waits to be read in the same thread.
type SendResult struct {
	awp.Sent
	Label       string    `json:"label"`                 // what people see for the peer
	Unread      int       `json:"unread,omitzero"`       // unread messages in the thread
	UnreadSince time.Time `json:"unread_since,omitzero"` // when the latest of them came
	WaitedOut   bool      `json:"waited_out,omitzero"`   // a WaitAck was given and ran out
}

// SetState queues this side's state of a thread.
var SetState = Method[SetStateParams, SendResult]{"state"}

// SetStateParams is a state to report. The thread must exist.
type SetStateParams struct {
	Token  string       `json:"token"`
	Who    string       `json:"who,omitzero"`
	Thread awp.ThreadID `json:"thread"`
	State  string       `json:"state"`
	Note   string       `json:"note,omitzero"`
}

// Read streams events of the log, oldest first, and marks nothing: the caller calls Mark
// once it has shown them.
var Read = Stream[ReadParams, awp.Event, ReadResult]{"read"}

// ReadParams says which events.
type ReadParams struct {
	Who    string       `json:"who,omitzero"`
	Thread awp.ThreadID `json:"thread,omitzero"`
	Last   int          `json:"last,omitzero"`   // the latest so many; default 50
	Unread bool         `json:"unread,omitzero"` // only unread events of the inbox, the earliest Last
}

// ReadResult ends a Read or a Wait.
type ReadResult struct {
	Cursor   int64       `json:"cursor"` // sequence number of the last event, or of the log's end
	TimedOut bool        `json:"timed_out,omitzero"`
	Matched  bool        `json:"matched,omitzero"` // Wait with States: the peer's state is one of them
	Thread   *awp.Thread `json:"thread,omitzero"`  // when one thread was asked for
}

// Mark marks events as read.
var Mark = Method[MarkParams, None]{"mark"}

// MarkParams lists the events' sequence numbers, at most MaxMark.
type MarkParams struct {
	Seqs []int64 `json:"seqs"`
}

// MaxMark bounds one Mark.
const MaxMark = 10000

// Wait blocks until unread messages are there, streams the unread events that fit and
// ends. Notices are streamed with the others but do not end it. With States it ends when
// the peer's state of Thread is one of them, or on a message or state in that thread. It
// marks nothing.
var Wait = Stream[WaitParams, awp.Event, ReadResult]{"wait"}

// WaitParams says what to wait for.
type WaitParams struct {
	Who     string       `json:"who,omitzero"`
	Thread  awp.ThreadID `json:"thread,omitzero"`
	States  []string     `json:"states,omitzero"`
	Timeout int64        `json:"timeout_ms"` // at most 24 h; 0 looks once
}

// Subscribe streams events as they are committed, until the connection ends. A subscriber
// that does not read is held back and misses nothing: events come from the log, not from
// a buffer. Nor does one miss anything whose connection ended, if it subscribes again
// after the last event it had: as one must whose connection was closed because it took
// nothing while all subscribers together held too much.
var Subscribe = Stream[SubscribeParams, awp.Event, None]{"subscribe"}

// SubscribeParams narrows Subscribe. The first item has no type: it says that the stream
// has begun, and its sequence number beyond which event.
type SubscribeParams struct {
	Who    string       `json:"who,omitzero"`
	Thread awp.ThreadID `json:"thread,omitzero"`
	All    bool         `json:"all,omitzero"`   // also what we sent, and every sys event
	After  int64        `json:"after,omitzero"` // begin beyond this event; 0: from now on, FromStart: with the first
}

// FromStart as After is before the first event.
const FromStart = -1

// Blobs lists files sent and received, newest first, in batches.
var Blobs = Stream[BlobsParams, []awp.Blob, None]{"blobs"}

// BlobsParams narrows Blobs.
type BlobsParams struct {
	Who string `json:"who,omitzero"`
}

// Alias gives a peer a local nickname. An empty alias takes it away; one that another
// peer has is refused as ambiguous.
var Alias = Method[AliasParams, awp.Peer]{"alias"}

// AliasParams is a peer and its nickname.
type AliasParams struct {
	Who   string `json:"who"`
	Alias string `json:"alias"`
}
