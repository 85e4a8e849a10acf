// Package interop holds the suite against python/awp_peer.py, a second implementation that
// was written from the protocol's description alone: what both read alike is in the
// description, not in our habits. It has no code but tests, and they skip where there is
// no python3.
//
// Each side is used as its owner would, by its commands, and both are killed at random.
// AWP_SUITE_ROUNDS=n kills so many times, AWP_SUITE_SEED=n repeats a run's choices.
package interop
