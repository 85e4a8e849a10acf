// Package handshake is the opening of a link, from the first byte to proof, as a pure
// state machine (PROTOCOL.md section 7): both sides say hello without waiting, each
// answers the other's with auth, and then the home decides whether the peer may come in.
//
//	greeting → signing → proving → admitting → done
//	     └────────┴─────────┴──────────┴─────→ failed
//
// The peer's auth may overtake our own signature: the machine checks it whenever it
// comes, and moves on once our auth is out and theirs is good.
//
// It keeps the exact bytes of both hello lines, because they are what is signed. It reads
// no clock, owns no connection and no key: the time and every answer come in as events,
// and what is to be done goes out as effects.
package handshake
