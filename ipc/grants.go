package ipc

import "github.com/awp-suite/awp"

// Grants and introductions, served by awp-store on StoreSocket (PROTOCOL.md section 13).

// Grant gives a peer, known or not, capabilities for a time, and sends it the grant when
// it is next connected. Errors: invalid for a word that is no capability.
var Grant = Method[GrantParams, awp.Grant]{"grant"}

// GrantParams is a grant to give.
type GrantParams struct {
	Token string   `json:"token"`
	Who   string   `json:"who"`
	Caps  []string `json:"caps"`
	TTL   int64    `json:"ttl_ms,omitzero"` // at least 1000; 0: an hour
}

// Grants lists the grants that were issued, are held and were presented, in this order,
// in each the newest first, in batches. Expired and revoked ones are listed for a while.
var Grants = Stream[None, []awp.Grant, None]{"grants"}

// Revoke stops honoring a grant, and presenting it; it returns the grant in each of its
// roles. Errors: not_found, ambiguous, invalid.
var Revoke = Method[RevokeParams, RevokeResult]{"revoke"}

// RevokeParams names a grant by its hash, or by what is unique of it, 4 characters or more
// from its beginning.
type RevokeParams struct {
	Hash string `json:"hash"`
}

// RevokeResult is the revoked grant, once for each role that it is known in.
type RevokeResult struct {
	Grants []awp.Grant `json:"grants"`
}

// Introduce tells the peer To the key and an address of the peer Who, with a grant that
// Who honors if it granted us introduce. In a thread the line is queued; without one To
// must be connected. Errors: unreachable when it is not; not_found when no address of Who
// is known.
var Introduce = Method[IntroduceParams, SendResult]{"introduce"}

// IntroduceParams is who is introduced to whom.
type IntroduceParams struct {
	Token  string       `json:"token"`
	To     string       `json:"to"`
	Who    string       `json:"who"`
	Thread awp.ThreadID `json:"thread,omitzero"`
	Caps   []string     `json:"caps,omitzero"`
	TTL    int64        `json:"ttl_ms,omitzero"` // as in GrantParams
}
