// Package ipc is the protocol between the programs of one host: JSON-RPC 2.0 objects,
// one a line, over Unix sockets in the home.
//
// A line is at most [MaxLine] bytes. A client sends requests; a server answers each with
// one response, in any order. A streaming method sends notifications named "item",
// carrying the request's id, before its response. Beyond JSON-RPC there are two members:
//
//   - "ipc", on the first line each side sends, is [Version]. Unequal versions end the
//     connection with the error skew: the two programs are of different releases.
//   - "lines": n says that n raw lines follow the object. They are protocol lines between
//     hosts, whose bytes must survive the hop; no JSON package re-encodes a value byte for
//     byte, so they travel beside the object, never inside it. They are at most 4096
//     lines and 8 MiB.
//
// A line that cannot be read ends the connection, since nothing after it can be trusted.
// The end of a connection ends what runs for it, so a client hangs up once it has its
// answers, not before.
//
// Errors carry the fixed JSON-RPC code -32000 and, in "data", a word to branch on
// ([awp.Code]) and a hint that names the command that helps.
//
// A server answers only peers of its own user. Nothing is buffered without bound: a
// connection whose other side does not read is closed ([ErrSlow]).
//
// The methods stand in files named after the program that serves them: front.go and
// link.go (awp-store), wire.go (awp-wire).
package ipc

//go:generate go run ../internal/ipcdoc -o ../doc/ipc.md

// Version is the version of this protocol. It changes whenever a method or a shape does: a
// test holds it to doc/ipc.md.
const Version = 3

// MaxLine is the length limit of a line in bytes, without its newline.
const MaxLine = 2 << 20

// maxLines and maxRaw bound the raw lines beside one object: how many, and how many bytes
// in all, without newlines.
const (
	maxLines = 4096
	maxRaw   = 8 << 20
)
