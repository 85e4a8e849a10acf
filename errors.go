package awp

import "errors"

// Code says what kind of thing went wrong, in a word that a program can branch on.
// Codes travel between programs and are never reused with another meaning.
type Code string

// The codes.
const (
	NotFound    Code = "not_found"   // no such peer, thread, file or method
	Ambiguous   Code = "ambiguous"   // more than one peer or thread fits
	Invalid     Code = "invalid"     // the caller's words or settings are off
	TooLarge    Code = "too_large"   // over a documented size limit
	Denied      Code = "denied"      // not allowed, by permission or policy
	Unreachable Code = "unreachable" // the peer or the daemon cannot be reached
	Busy        Code = "busy"        // a bound is reached; later may work
	Skew        Code = "skew"        // two programs of different releases met
	Full        Code = "disk_full"   // the disk has no room; nothing was changed
	Internal    Code = "internal"    // a defect or a failing machine; the log has more
)

// Error is an error for people and programs: a code, a sentence and, where there is
// one, a hint that names the command that helps. Its cause stays on this side of a
// socket: only Code, Message and Hint travel.
type Error struct {
	Code    Code
	Message string // lower case, no full stop
	Hint    string // what to do, often a command; may be empty
	Cause   error  // may be nil; never shown when Message says it already
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the first *Error in err's chain, Internal for any other
// error, and the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// HintOf returns the hint of the first *Error in err's chain, or nothing.
func HintOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Hint
	}
	return ""
}
