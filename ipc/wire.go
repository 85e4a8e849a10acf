package ipc

import "github.com/awp-suite/awp"

// What awp-wire serves to the programs that people and agents use, on WireSocket. It
// serves Ready, too.

// Connect brings up a connection, or finds it up. Errors: unreachable (with the reason
// of the last address tried), denied (refused by either side), invalid (no address).
var Connect = Method[ConnectParams, ConnectResult]{"connect"}

// ConnectParams names an address, or a known peer, whose addresses awp-store has.
type ConnectParams struct {
	Addr    string  `json:"addr,omitzero"` // canonical
	Peer    awp.Key `json:"peer,omitzero"`
	Timeout int64   `json:"timeout_ms"`
}

// ConnectResult is the connected peer.
type ConnectResult struct {
	Peer    awp.Key `json:"peer"`
	Via     string  `json:"via"`
	Already bool    `json:"already,omitzero"` // nothing was dialled
}

// Bye closes the connection to a peer gracefully and parks the peer: nobody reconnects
// until there is new work or someone connects. Error: unreachable when the peer is not
// connected; it is parked all the same.
var Bye = Method[ByeParams, None]{"bye"}

// ByeParams names the peer.
type ByeParams struct {
	Peer   awp.Key `json:"peer"`
	Reason string  `json:"reason,omitzero"`
}
