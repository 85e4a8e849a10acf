// Package transport makes the byte streams that links run on: TCP and Unix sockets,
// dialed and listened on (PROTOCOL.md section 2). Neither encrypts, so TCP stays where a
// private network can be assumed: loopback, RFC 1918 and ULA, link-local, and 100.64/10.
// That holds for the address dialed, the address listened on and every peer that calls,
// unless the owner lifts it.
//
// Errors are [awp.Error]s that a person can act on. An address is a secret of its peer, so
// the package logs nothing.
package transport
