// Package tailcat carries streams through WireGuard tunnels between homes, wherever the
// two are: it is the only importer of github.com/tailscale/tailcat, which promises no
// stability, so that an upgrade touches this package alone.
//
// A [Node] is one home's end of it. [Node.Listen] keeps the home reachable at an address
// that names two keys and a relay, and is the same for ever: tailcat.json in the home
// keeps them. [Node.Dial] reaches another home by its address. A tunnel begins through
// the relay and moves to a direct path where the networks allow it; nobody above notices.
//
// What tailcat does not do, and this package does not either: notice that the other side
// is gone. Reads block and writes succeed through any outage (NATLAB.md section 4). The
// only liveness there is are AWP's own pings.
//
// An address is a secret, and so is every key. The package puts neither into a log nor
// into an error.
package tailcat
