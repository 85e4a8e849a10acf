package wire

import "time"

// Sizes, in bytes.
const (
	MaxLine          = 1 << 20  // a line's content, its newline not counted (section 3)
	ChunkSize        = 262144   // a chunk's data before base64, all chunks but a file's last
	DefaultBlobLimit = 52428800 // a file, sent or received; configurable
	MaxPresenceDoc   = 65536    // a presence document with its signature (section 14)
	MaxSigned        = 65536    // any signed object; of grants the protocol does not say it
	InlineLimit      = 65536    // exec and fs results inside a message; more goes as a file
	NonceSize        = 32       // a hello's nonce, decoded
	GrantNonceSize   = 16       // a grant's nonce, decoded
)

// MaxID bounds the words that a line names others by, in bytes: id, th, re and a blob's
// ref. The protocol names no bound; without one a peer's line could be accepted whose ack
// does not fit a line.
const MaxID = 1024

// MaxParts bounds the parts of a message. Each costs its receiver far more than the two
// bytes that the smallest takes in a line. The bound is ours.
const MaxParts = 1024

// MaxHello bounds a hello line, in bytes, and MaxAddr the spelling of an address: both are
// kept for every stranger that ever called. The bounds are ours.
const (
	MaxHello = 16 << 10
	MaxAddr  = 1024
)

// MaxGrant bounds a grant, in bytes, and MaxGrants how many of those that an auth line
// presents are looked at. Each costs its receiver the check of a signature. The bounds are
// ours.
const (
	MaxGrant  = 4096
	MaxGrants = 32
)

// MaxDepth is how deep arrays and objects may nest in a line, the line's own object
// counted. The protocol names no bound; this one is far above what people send and
// far below what exhausts a reader's stack. [Encode] keeps to it too: a message may have
// to travel one level deeper, inside a mirror line.
const MaxDepth = 512

// A link's clock (sections 1, 7 to 10).
const (
	PingInterval     = 30 * time.Second        // silence before a ping; configurable
	MissedPongs      = 2                       // unanswered pings that end a link
	ProbeAfter       = 1500 * time.Millisecond // silence before a ping while written lines may not have arrived
	AnswerWithin     = 3500 * time.Millisecond // silence that then ends a link
	SlowestBytes     = 64 << 10                // a second that AnswerWithin allows more for each so many bytes
	SlowestLines     = 50                      // and lines, of those written and not known to have arrived
	ProbeBytes       = 128 << 10               // written after a ping that ask for another one
	ProbeLines       = 64                      // likewise
	FirstPing        = 3 * time.Second         // after the peer's resume, if no round trip is known
	HandshakeTimeout = 30 * time.Second        // for hello and auth, reading and writing
	ResumeTimeout    = 15 * time.Second        // wait for the peer's resume, then replay everything
	ByeTimeout       = 5 * time.Second         // wait for the answer to our bye
	ErrTimeout       = 5 * time.Second         // write deadline of an err that closes
	ErrGrace         = 500 * time.Millisecond  // after a failed write, to read an err that may have come
)

// Dialing (sections 1 and 9). The wait before a retry is drawn from [b/2, 3b/2), where b
// starts at BackoffMin and doubles up to BackoffMax.
const (
	DialTimeout    = 30 * time.Second // an address, in the reconnect loop
	ConnectTimeout = 60 * time.Second // the connect command
	BackoffMin     = time.Second
	BackoffMax     = 60 * time.Second
	RushMax        = 2 * time.Second  // instead, while lines wait and
	RushFor        = 2 * time.Minute  // a link was lost, or there was new work, this lately
	DialBackGrace  = 15 * time.Second // when the peer's hello is all we know of its addresses
	RedialMin      = BackoffMin / 4   // instead of BackoffMin, after the loss of a link that was up for RedialAfter
	RedialAfter    = 5 * time.Second
	TieBreakWindow = 5 * time.Second         // in which two links count as opened simultaneously
	TieBreakProof  = 1500 * time.Millisecond // silence that shows the link to be dead that would survive
	TunnelPort     = 1                       // the TCP port inside a tailcat tunnel
	FreshClient    = 3                       // failed attempts at an address before a fresh tailcat client
	ListenRetryMin = 5 * time.Second         // before a failed tailcat listener is tried again, doubling
	ListenRetryMax = 5 * time.Minute
	ListenTimeout  = 60 * time.Second // an attempt at a tailcat listener
	SocketProbe    = time.Second      // to find out whether an existing Unix socket is alive
	OutboxBatch    = 16               // outbox lines between two looks at the control lines
	ControlQueue   = 4096             // control lines queued before the link is closed
	ControlBytes   = 2 << 20          // likewise, in bytes; ours. A resume and as many acks fit
)

// The store's clock (sections 1 and 13).
const (
	OutboxTTL    = 7 * 24 * time.Hour // an undelivered line's life; configurable
	Maintenance  = 60 * time.Second   // between two rounds of expiry
	GrantTTL     = time.Hour          // a grant's life, if its issuer names none
	ExecTimeout  = 600 * time.Second  // an exec request's, if it names none
	SubjectRunes = 80                 // a derived subject, in code points
)

// Presence (sections 1 and 14). Lengths are in code points, see [Clip].
const (
	PresenceHops      = 8 // transmissions of a document; hops runs from 0 to 7
	PresenceDebounce  = 2 * time.Second
	PresenceHeartbeat = 60 * time.Second
	PresenceStale     = 150 * time.Second
	PresenceForget    = 10 * time.Minute
	PresenceAhead     = 5 * time.Minute // how far in our future a document may be dated
	PresencePeers     = 64              // in a document
	PresenceThreads   = 64              // in a document
	PresenceOrigins   = 1000            // remembered documents
	ActivityGrain     = 30 * time.Second
	ClipAbout         = 200
	ClipSubject       = 120
	ClipHost          = 100
	ClipModel         = 100
)
