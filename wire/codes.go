package wire

import (
	"strings"

	"github.com/awp-suite/awp"
)

// Code is the reason in an err line. Codes that a peer invents are kept as they came.
type Code string

// The codes of section 10.
const (
	BadFrame    Code = "bad_frame"    // not a JSON object, or a member is missing or malformed
	BadVersion  Code = "version"      // hello names a version that is not spoken
	AuthFailed  Code = "auth"         // bad key or signature, wrong order, or not admitted
	TooLarge    Code = "too_large"    // a line over MaxLine
	Unsupported Code = "unsupported"  // optional answer to an unknown request
	Forbidden   Code = "forbidden"    // a capability was used without a grant
	BlobRefused Code = "blob_refused" // ref names the blob; its message stands
	Internal    Code = "internal"     // something failed at the sender of the err
)

// Closes reports whether sender and receiver of an err with this code close the link
// after it. Internal does not: a sender that could not store a line sends it and then
// closes by its own decision, so that the line is replayed later (section 8).
func (c Code) Closes() bool {
	switch c {
	case BadFrame, BadVersion, AuthFailed, TooLarge:
		return true
	}
	return false
}

// LineError says why a line was refused, in the words of the err line that answers it:
// [NewErr] takes Code and Detail as they are.
type LineError struct {
	Code   Code
	Detail string // for people, lower case, at most 200 code points
}

// Error returns code and detail.
func (e *LineError) Error() string {
	if e.Detail == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Detail
}

// refuse makes a LineError. A detail may quote the peer's own line, so neither its
// length nor its UTF-8 is certain before.
func refuse(code Code, detail string) *LineError {
	return &LineError{Code: code, Detail: Clip(strings.ToValidUTF8(detail, "\uFFFD"), 200)}
}

// NewErr returns the err line with code and detail. The id re of the line it answers
// and the blob's ref may be empty.
func NewErr(id awp.MessageID, ts string, re awp.MessageID, code Code, detail, ref string) Err {
	return Err{
		Envelope: Envelope{T: TypeErr, ID: id, TS: ts, Re: re},
		Code:     code,
		Detail:   detail,
		Ref:      ref,
	}
}
