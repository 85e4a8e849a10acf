// Package conformance is a scripted peer that holds any AWP v0 peer to PROTOCOL.md: each
// [Scenario] names its section, is bounded in time, and says on failure what was expected,
// what came, and the lines. It dials nothing by itself: the connections are the caller's.
// It never imitates a peer's store, so it proves nothing about durability.
package conformance
