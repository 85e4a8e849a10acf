// Package relaycmd is awp-relay: a relay of one's own for the tunnels of tailcat. It glues
// Tailscale's DERP server, which passes encrypted packets on by key, to a TLS listener
// with a pinned certificate, and answers STUN, by which homes learn how they look from
// outside.
//
// It never sees what homes say to each other, keeps nothing but its certificate, and
// knows nothing of AWP: it is the only part of the suite that a home does not need.
package relaycmd
