// Package wire is the protocol between hosts: how two peers' lines look, byte for byte.
// It is draft 1 of AWP, protocol version 0; section numbers in the comments are those of
// PROTOCOL.md.
//
// # Layout
//
// A link is an ordered stream of bytes. On it travels UTF-8 text, one JSON object a line:
//
//	{"t":"msg","id":"01K6…","ts":"2026-09-29T17:03:11.000Z","th":"thr_abcd2345","parts":[…]}\n
//	 └ type     └ sender's id └ for people only              └ thread             └ the type's own members
//
// A line has at most [MaxLine] bytes before its newline. Members and types that a reader
// does not know are skipped, so that peers of different ages can talk.
//
// # A link's life
//
//	both sides     hello     who I am and a nonce; sent without waiting
//	both sides     auth      a signature over both hello lines, see [AuthTranscript]
//	both sides     resume    the last id I hold of each thread; the peer replays the rest
//	then, freely   msg, state, chunk, introduce, mirror, private    reliable: in the outbox, replayed
//	               ack                                              the line it names is on my disk
//	               grant, presence, ping, pong                      sent once, lost without harm
//	at the end     bye, or err with a code that closes (see [Code.Closes])
//
// A sender's ids strictly increase ([IDs]), and that is what makes "the last id I hold" a
// sufficient account of everything before it.
//
// # Reading and writing
//
// [Reader] cuts the stream into lines under the bound. [ParseEnvelope] checks that a
// line is one JSON object and says its type; [Decode] reads it as that type and asks for
// the members that the type cannot do without. [Encode] is the way back, and asks for
// the same, so that nothing is written that would not be read. File contents go through
// [AppendChunk] and [DecodeChunk], which do the same work without reflection.
//
// What a peer signed is verified over [Canonical] text and passed on as the very bytes
// that came: no JSON package re-encodes a value it did not make without changing it.
//
// # What it never does
//
// The package opens nothing, keeps nothing between calls and decides nothing about a
// peer. It parses strangers' bytes, so each parser in it is bounded and fuzzed.
package wire
