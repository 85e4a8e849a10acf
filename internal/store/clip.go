package store

import "github.com/awp-suite/awp/wire"

// How much of a peer's words is kept beside its lines, in code points. The lines are
// kept as they came, up to 1 MiB each, and shown once; these words are shown again in
// every list and with every event, and must not make those too large to show.
const (
	clipName    = 200
	clipAbout   = 1000
	clipSubject = 500
	clipState   = 64
	clipNote    = 1000
	clipDetail  = 1000
	clipFile    = 255
	clipMime    = 127
	clipCap     = 64
	maxCaps     = 64
)

// clipCaps keeps the first of the capabilities that a peer names.
func clipCaps(caps []string) []string {
	kept := make([]string, 0, min(len(caps), maxCaps))
	for _, c := range caps[:min(len(caps), maxCaps)] {
		kept = append(kept, wire.Clip(c, clipCap))
	}
	return kept
}
