package handshake

import (
	"bytes"
	"testing"
)

// Whatever lines a stranger writes, it is not admitted without the other key, and the
// machine neither panics nor goes on after its end.
func FuzzStranger(f *testing.F) {
	us, them := identity(f, 1), identity(f, 2)
	ours, theirs := helloLine(f, us, "o"), helloLine(f, them, "t")
	f.Add(theirs, authLine(f, "x"))
	f.Add(ours, authLine(f, us.SignAuth(ours, ours)))
	f.Add([]byte(`{"t":"hello","v":1e0,"key":null}`), []byte(`{"t":"ping"}`))
	f.Add([]byte(`{"t":"err","code":"auth"}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		m := New(start, Config{Own: us.Key, Hello: ours})
		for _, ev := range []Event{Line{first}, Signed{Sig: "S"}, Line{second}, Line{bytes.Clone(first)}} {
			over := m.State().over()
			var fx []Effect
			m, fx = m.Step(start, ev)
			if over && fx != nil {
				t.Fatalf("goes on after its end: %s", tell(fx))
			}
			if m.State() >= Admitting && m.State() != Failed {
				t.Fatalf("admits %s", m.Peer().Key)
			}
		}
	})
}
