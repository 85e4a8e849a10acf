package awp

import (
	"encoding/json/jsontext"
	"time"
)

// The records below are what the suite tells people and scripts: the JSON that
// `awp … --json` prints (CONTROL.md section 3). Zero times and empty values are left
// out unless the field's comment says otherwise.

// Status is one home's own view of itself.
type Status struct {
	Key            Key         `json:"key"`
	Short          string      `json:"short"`
	Name           string      `json:"name"`
	About          string      `json:"about"` // as configured; may be empty
	Harness        string      `json:"harness,omitzero"`
	ShareWith      []KeyName   `json:"share_with,omitzero"`
	Model          string      `json:"model,omitzero"`
	Active         time.Time   `json:"active,omitzero"`
	Waiting        bool        `json:"waiting,omitzero"`
	Host           string      `json:"host,omitzero"`
	Fingerprint    string      `json:"fingerprint"`
	Version        string      `json:"version"`
	Home           string      `json:"home"`
	PID            int         `json:"pid"` // of the supervisor, else of the store
	Started        time.Time   `json:"started"`
	Addresses      []string    `json:"addresses"` // canonical, tailcat first; never null
	Tailcat        string      `json:"tailcat,omitzero"`
	TailcatError   string      `json:"tailcat_error,omitzero"`
	TailcatEnabled bool        `json:"tailcat_enabled"`
	ListenErrors   []ListenErr `json:"listen_errors,omitzero"` // listeners that failed, and why
	Warnings       []string    `json:"warnings,omitzero"`      // e.g. unknown configuration keys
	// WireAway says that awp-wire has not told yet where it listens, because it starts, or
	// crashed and is about to be started again. No addresses then mean nothing.
	WireAway bool     `json:"wire_away,omitzero"`
	Presence bool     `json:"presence,omitzero"`
	Serve    []string `json:"serve,omitzero"`
	Accept   string   `json:"accept"`
	Peers    []Peer   `json:"peers"`
	Unread   int      `json:"unread"`
	Notices  int      `json:"notices"`
	Outbox   int      `json:"outbox"`
}

// KeyName is a key with the name we know it by.
type KeyName struct {
	Key  Key    `json:"key"`
	Name string `json:"name,omitzero"`
}

// ListenErr is an address that could not be listened on.
type ListenErr struct {
	Address string `json:"address"`
	Error   string `json:"error"`
}

// Peer is one other agent as this home knows it.
type Peer struct {
	Key         Key        `json:"key"`
	Short       string     `json:"short"`
	Name        string     `json:"name,omitzero"`
	Alias       string     `json:"alias,omitzero"`
	About       string     `json:"about,omitzero"`
	Caps        []string   `json:"caps,omitzero"`
	Granted     []string   `json:"granted,omitzero"`
	Connected   bool       `json:"connected"`
	Via         string     `json:"via,omitzero"` // address of the live connection
	Outbound    bool       `json:"outbound,omitzero"`
	Since       time.Time  `json:"since,omitzero"`
	Dialing     bool       `json:"dialing,omitzero"`
	DialError   string     `json:"dial_error,omitzero"`
	RTT         int64      `json:"rtt_ms,omitzero"` // milliseconds, at least 1 once measured
	Parked      bool       `json:"parked,omitzero"` // one side said bye
	Outbox      int        `json:"outbox"`
	OpenThreads int        `json:"open_threads"`
	Unread      int        `json:"unread"`
	LastSeen    time.Time  `json:"last_seen,omitzero"`
	Addrs       []PeerAddr `json:"addrs,omitzero"`
}

// Label returns what people see for p.
func (p Peer) Label() string { return Label(p.Alias, p.Name, p.Key) }

// PeerAddr is an address hint for a peer. Source is connect, introduce or hello.
type PeerAddr struct {
	Addr    string    `json:"addr"`
	Source  string    `json:"source"`
	Added   time.Time `json:"added"`
	LastOK  time.Time `json:"last_ok,omitzero"`
	LastErr string    `json:"last_err,omitzero"`
}

// Thread is a conversation with one peer. Both sides' since times move only when the
// state or its note differs.
type Thread struct {
	Peer       Key       `json:"peer"`
	PeerName   string    `json:"peer_name,omitzero"` // label: alias, else name
	Th         ThreadID  `json:"th"`
	Subject    string    `json:"subject,omitzero"`
	Origin     string    `json:"origin"` // "us" or "them"
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	MyState    string    `json:"my_state"`
	MyNote     string    `json:"my_note,omitzero"`
	MySince    time.Time `json:"my_since"` // always present
	TheirState string    `json:"their_state"`
	TheirNote  string    `json:"their_note,omitzero"`
	TheirSince time.Time `json:"their_since"` // always present
	Unread     int       `json:"unread,omitzero"`
}

// Sent is the result of queueing a line: it is on disk, not necessarily with the peer.
type Sent struct {
	ID        MessageID `json:"id"`
	Th        ThreadID  `json:"th"`
	Thread    ThreadID  `json:"thread"` // the same as Th
	Peer      Key       `json:"peer"`
	PeerName  string    `json:"peer_name,omitzero"`
	NewThread bool      `json:"new_thread,omitzero"`
	Connected bool      `json:"connected"`
	Acked     bool      `json:"acked"` // the peer has it on its disk
}

// Roles of a Grant.
const (
	GrantIssued    = "issued"    // we gave it
	GrantHeld      = "held"      // it was given to us
	GrantPresented = "presented" // a peer showed it to us, about itself
)

// Grant is a signed statement that Sub may do what Caps says until Exp, because Iss says
// so. One that is known in several roles is listed in each.
type Grant struct {
	Hash         string    `json:"hash"`
	Role         string    `json:"role"`
	Iss          Key       `json:"iss"`
	IssName      string    `json:"iss_name,omitzero"` // alias, else name
	Sub          Key       `json:"sub"`
	SubName      string    `json:"sub_name,omitzero"`
	Caps         []string  `json:"caps"` // sorted; may be empty
	Exp          time.Time `json:"exp"`
	Audience     Key       `json:"audience,omitzero"` // who alone is to honor it
	AudienceName string    `json:"audience_name,omitzero"`
	Created      time.Time `json:"created"`          // when this home made it or first saw it
	Revoked      time.Time `json:"revoked,omitzero"` // when it was: it no longer counts
}

// Directions of an Event.
const (
	In  = "in"  // the peer wrote it
	Out = "out" // we wrote it
	Sys = "sys" // the home noted it
)

// Event is one record of the log: a line in or out, or something the home noted.
type Event struct {
	Seq      int64                `json:"seq"` // position in this home's log, increasing
	At       time.Time            `json:"at"`
	Dir      string               `json:"dir"`
	Type     string               `json:"type"`
	Peer     Key                  `json:"peer"`
	PeerName string               `json:"peer_name,omitzero"`
	Th       ThreadID             `json:"th,omitzero"`
	Subject  string               `json:"subject,omitzero"` // of the thread
	ID       MessageID            `json:"id,omitzero"`
	Acked    bool                 `json:"acked,omitzero"`
	Lapsed   bool                 `json:"lapsed,omitzero"` // ours, never acknowledged within the retention: given up
	Unread   bool                 `json:"unread,omitzero"`
	Msg      jsontext.Value       `json:"msg,omitzero"`   // the line's JSON object; absent for sys
	Meta     jsontext.Value       `json:"meta,omitzero"`  // shape depends on Type, CONTROL.md section 3
	Blobs    map[string]EventBlob `json:"blobs,omitzero"` // by the ref in Msg
}

// EventBlob is what an Event says of a file that its message names.
type EventBlob struct {
	Name     string `json:"name,omitzero"`
	Mime     string `json:"mime,omitzero"`
	Size     int64  `json:"size"` // bytes; -1 while unknown
	Received int64  `json:"received"`
	Status   string `json:"status"`
	Path     string `json:"path,omitzero"`
}

// Statuses of a Blob. Incoming: pending (data still arriving), received (all data, its
// message not yet), complete (both; the path is final) or refused. Outgoing: queued,
// sent, refused or expired.
const (
	BlobPending  = "pending"
	BlobReceived = "received"
	BlobComplete = "complete"
	BlobRefused  = "refused"
	BlobQueued   = "queued"
	BlobSent     = "sent"
	BlobExpired  = "expired" // never acknowledged within the retention; it will not leave any more
)

// Blob is a file that travels, or travelled, beside a message.
type Blob struct {
	Peer     Key       `json:"peer"`
	Dir      string    `json:"dir"`
	Ref      string    `json:"ref"`
	Th       ThreadID  `json:"th,omitzero"`
	Name     string    `json:"name,omitzero"`
	Mime     string    `json:"mime,omitzero"`
	Size     int64     `json:"size"` // bytes; -1 while unknown
	Received int64     `json:"received"`
	NextN    int64     `json:"next_n"` // the chunk expected next
	Path     string    `json:"path,omitzero"`
	Status   string    `json:"status"`
	Updated  time.Time `json:"updated"`
}

// Verdicts of a Check.
const (
	CheckOK   = "ok"
	CheckWarn = "warn" // odd, or about to go wrong
	CheckFail = "fail" // wrong
)

// Check is one thing that `awp doctor` looked at. Name is one of programs, home, socket,
// daemon, store, disk, clock, relay, address, peers and peer; a name may come more than
// once.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitzero"`  // what to do; absent when ok
	Peer   Key    `json:"peer,omitzero"` // whom a check called peer is about
}

// Diagnosis is what `awp doctor` found, in the order in which to mend it.
type Diagnosis struct {
	OK      bool     `json:"ok"` // nothing failed; there may be warnings
	Checks  []Check  `json:"checks"`
	Skipped []string `json:"skipped,omitzero"` // names that need a daemon that answers
}
