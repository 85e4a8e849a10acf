// Package link holds the rules of links as pure state machines (PROTOCOL.md sections 7.4,
// 9 and 10). A link is one connection between two hosts that proved their keys.
//
// [Machine] is one link, from the end of its handshake to the end of its connection: who
// waits for whose resume and how long, pings, byes, and how an err ends it. [Loop] is the
// will to have a link to one peer: which address to dial, and when. [Active.Survives] is
// the tie-break between two links to one peer.
//
//	down → dialing → greeting → proving → resuming → live → draining → down
//	       [Loop]    [package handshake]  [Machine               ]
//
// None of them reads a clock, owns a connection or starts a goroutine: the time comes in
// with each event, randomness is given at the start, and what is to be done goes out as
// effects. None of them invents an ack, or knows what a message is.
package link
