package link

import (
	"testing"

	"github.com/awp-suite/awp/wire"
)

// Whatever lines a peer writes, the machine does not panic, and a resume is handed to the
// home only if it decodes.
func FuzzPeer(f *testing.F) {
	f.Add([]byte(`{"t":"resume","seen":{"a":"1"}}`), []byte(`{"t":"bye","id":"b","reason":"x"}`))
	f.Add([]byte(`{"t":"err","code":"auth"}`), []byte(`{"t":"pong","re":"p"}`))
	f.Add([]byte(`{"t":"resume","seen":[]}`), []byte(`{"t":"err","code":{}}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		m := New(start, interval)
		for _, raw := range [][]byte{first, second, first} {
			env, err := wire.ParseEnvelope(raw)
			if err != nil {
				continue // the reader's business
			}
			var fx []Effect
			m, fx = m.Step(start, Line{Envelope: env, Raw: raw})
			for _, e := range fx {
				if r, ok := e.(Resume); ok {
					if _, err := wire.Decode[wire.Resume](r.Raw); err != nil {
						t.Fatalf("resume %q: %v", r.Raw, err)
					}
				}
			}
			m, _ = m.Step(start, Parked{})
		}
	})
}
