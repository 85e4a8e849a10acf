package handshake

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

var start = time.Date(2026, 9, 29, 17, 0, 0, 0, time.UTC)

func identity(t testing.TB, n byte) wire.Identity {
	t.Helper()
	id, err := wire.IdentityFromSeed(bytes.Repeat([]byte{n}, wire.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func helloLine(t testing.TB, id wire.Identity, nonce string) []byte {
	t.Helper()
	raw, err := wire.Encode(wire.Hello{
		Envelope: wire.Envelope{T: wire.TypeHello, ID: "h1", TS: "2026-09-29T17:00:00.000Z"},
		Key:      id.Key.String(), Name: "n", Nonce: nonce,
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func authLine(t testing.TB, sig string) []byte {
	t.Helper()
	raw, err := wire.Encode(wire.Auth{Envelope: wire.Envelope{T: wire.TypeAuth, ID: "a1", TS: "x"}, Sig: sig})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tell writes effects as a test's table spells them.
func tell(fx []Effect) string {
	var parts []string
	for _, f := range fx {
		switch f := f.(type) {
		case Send:
			switch l := f.Line.(type) {
			case wire.Auth:
				parts = append(parts, "auth "+l.Sig)
			case wire.Err:
				parts = append(parts, fmt.Sprintf("err %s %q re=%s", l.Code, l.Detail, l.Re))
			}
		case Sign:
			parts = append(parts, "sign")
		case Admit:
			parts = append(parts, "admit "+f.Peer.Key.Short())
		case Fail:
			parts = append(parts, fmt.Sprintf("fail %q flush=%v denied=%v", f.Reason, f.Flush, f.Denied))
		}
	}
	return strings.Join(parts, "; ")
}

func TestSteps(t *testing.T) {
	us, them, third := identity(t, 1), identity(t, 2), identity(t, 3)
	ours, theirs := helloLine(t, us, "o"), helloLine(t, them, "t")
	good := authLine(t, them.SignAuth(theirs, ours))
	short := them.Key.Short()

	spelled := func(key, more string) Event {
		return Line{fmt.Appendf(nil, `{"t":"hello","id":"h9"%s,"key":"%s"}`, more, key)}
	}
	hello, auth := Line{theirs}, Line{good}
	text := func(s string) Event { return Line{[]byte(s)} }
	proving := []Event{hello, Signed{Sig: "S"}}

	tests := []struct {
		name   string
		before []Event // that go well
		ev     Event
		expect awp.Key
		fx     string
		state  State
	}{
		{"hello", nil, hello, awp.Key{}, "sign", Signing},
		{"hello of the expected", nil, hello, them.Key, "sign", Signing},
		{"hello without v", nil, spelled(them.Key.String(), ""), awp.Key{}, "sign", Signing},
		{"hello in padded spelling", nil, spelled(them.Key.String()+"=", ""), awp.Key{}, "sign", Signing},
		{"other version", nil, spelled("bad", `,"v":99`), awp.Key{}, `err version "version not spoken" re=h9; fail "refused: version not spoken" flush=true denied=false`, Failed},
		{"bad key", nil, spelled("bad", ""), awp.Key{}, `err auth "bad key" re=h9; fail "refused: bad key" flush=true denied=false`, Failed},
		{"nobody's key", nil, spelled(awp.Key{}.String(), ""), awp.Key{}, `err auth "bad key" re=h9; fail "refused: bad key" flush=true denied=false`, Failed},
		{"own key", nil, Line{helloLine(t, us, "x")}, awp.Key{}, `err auth "own key" re=h1; fail "refused: own key" flush=true denied=false`, Failed},
		{"own key, spelled otherwise", nil, spelled(us.Key.String()+"=", ""), awp.Key{}, `err auth "own key" re=h9; fail "refused: own key" flush=true denied=false`, Failed},
		{"own hello", nil, Line{ours}, awp.Key{}, `err auth "own key" re=h1; fail "refused: own key" flush=true denied=false`, Failed},
		{"ping before hello", nil, text(`{"t":"ping","id":"p"}`), awp.Key{}, `err bad_frame "expected hello" re=p; fail "refused: expected hello" flush=true denied=false`, Failed},
		{"auth before hello", nil, auth, awp.Key{}, `err bad_frame "expected hello" re=a1; fail "refused: expected hello" flush=true denied=false`, Failed},
		{"not JSON", nil, text(`hi`), awp.Key{}, `err bad_frame "parse line: not a JSON object" re=; fail "refused: parse line: not a JSON object" flush=true denied=false`, Failed},
		{"too long", nil, BadLine{wire.TooLarge, "over"}, awp.Key{}, `err too_large "over" re=; fail "refused: over" flush=true denied=false`, Failed},
		{"err before hello", nil, text(`{"t":"err","code":"auth","detail":"no"}`), awp.Key{}, `fail "peer sent err auth: no" flush=false denied=true`, Failed},
		{"err of unknown code", nil, text(`{"t":"err","code":"odd"}`), awp.Key{}, `fail "peer sent err odd" flush=false denied=false`, Failed},
		{"lost", nil, Lost{"gone"}, awp.Key{}, `fail "gone" flush=false denied=false`, Failed},

		{"signature", []Event{hello}, Signed{Sig: "S"}, awp.Key{}, "auth S", Proving},
		{"auth before our signature", []Event{hello}, auth, awp.Key{}, "", Signing},
		{"signature after auth", []Event{hello, auth}, Signed{Sig: "S"}, awp.Key{}, "auth S; admit " + short, Admitting},
		{"auth", proving, auth, awp.Key{}, "admit " + short, Admitting},
		{"auth of another than expected", proving, auth, third.Key, `fail "address belongs to ` + short + `" flush=false denied=false`, Failed},
		{"bad signature", proving, Line{authLine(t, them.SignAuth(ours, theirs))}, awp.Key{}, `err auth "verify auth: bad signature" re=a1; fail "refused: verify auth: bad signature" flush=true denied=false`, Failed},
		{"another's signature", proving, Line{authLine(t, third.SignAuth(theirs, ours))}, awp.Key{}, `err auth "verify auth: bad signature" re=a1; fail "refused: verify auth: bad signature" flush=true denied=false`, Failed},
		{"our own auth played back", proving, Line{authLine(t, us.SignAuth(ours, theirs))}, awp.Key{}, `err auth "verify auth: bad signature" re=a1; fail "refused: verify auth: bad signature" flush=true denied=false`, Failed},
		{"ping instead of auth", proving, text(`{"t":"ping","id":"p"}`), awp.Key{}, "", Proving},
		{"unknown type instead of auth", proving, text(`{"t":"x"}`), awp.Key{}, "", Proving},
		{"msg instead of auth", proving, text(`{"t":"msg","id":"m"}`), awp.Key{}, `err auth "expected auth" re=m; fail "refused: expected auth" flush=true denied=false`, Failed},
		{"second hello", proving, hello, awp.Key{}, `err auth "expected auth" re=h1; fail "refused: expected auth" flush=true denied=false`, Failed},
		{"second auth before our signature", []Event{hello, auth}, auth, awp.Key{}, `err auth "expected auth" re=a1; fail "refused: expected auth" flush=true denied=false`, Failed},
		{"err instead of auth", proving, text(`{"t":"err","code":"version"}`), awp.Key{}, `fail "peer sent err version" flush=false denied=false`, Failed},
		{"second signature", proving, Signed{Sig: "S"}, awp.Key{}, "", Proving},

		{"admitted", append(proving, auth), Admitted{}, awp.Key{}, "", Done},
		{"refused", append(proving, auth), Refused{"not on the list"}, awp.Key{}, `err auth "not on the list" re=; fail "refused: not on the list" flush=true denied=false`, Failed},
		{"tie-break lost", append(proving, auth), Yielded{"tie"}, awp.Key{}, `fail "tie" flush=true denied=false`, Failed},
		{"tie-break before proof", proving, Yielded{"tie"}, awp.Key{}, "", Proving},
		{"home lost", append(proving, auth), Lost{"x"}, awp.Key{}, `fail "x" flush=false denied=false`, Failed},
		{"line while the home decides", append(proving, auth), text(`{"t":"resume"}`), awp.Key{}, "", Admitting},
		{"admitted too early", proving, Admitted{}, awp.Key{}, "", Proving},
	}
	for _, tt := range tests {
		m := New(start, Config{Own: us.Key, Hello: ours, Expect: tt.expect})
		for _, ev := range tt.before {
			m, _ = m.Step(start, ev)
		}
		m, fx := m.Step(start, tt.ev)
		if got := tell(fx); got != tt.fx || m.State() != tt.state {
			t.Errorf("%s: %s, %v; want %s, %v", tt.name, got, m.State(), tt.fx, tt.state)
		}
	}
}

func TestKeepsTheExactHello(t *testing.T) {
	us, them := identity(t, 1), identity(t, 2)
	odd := []byte(` {"key":"` + them.Key.String() + `=" , "t":"hello","x":1}` + "\r")
	m := New(start, Config{Own: us.Key, Hello: helloLine(t, us, "o")})
	buf := bytes.Clone(odd)
	m, fx := m.Step(start, Line{buf})
	clear(buf) // the reader reuses it
	sign, ok := fx[0].(Sign)
	if !ok || !bytes.Equal(sign.Theirs, odd) || !bytes.Equal(m.Peer().Hello, odd) {
		t.Errorf("kept %q, want %q", sign.Theirs, odd)
	}
}

func TestDeadline(t *testing.T) {
	us := identity(t, 1)
	m := New(start, Config{Own: us.Key, Hello: helloLine(t, us, "o")})
	if want := start.Add(wire.HandshakeTimeout); !m.Deadline().Equal(want) {
		t.Fatalf("deadline %v, want %v", m.Deadline(), want)
	}
	m, fx := m.Step(m.Deadline().Add(-1), Tick{})
	if fx != nil {
		t.Errorf("ended early: %s", tell(fx))
	}
	m, fx = m.Step(m.Deadline(), Tick{})
	if m.State() != Failed || tell(fx) != `fail "handshake timed out" flush=false denied=false` {
		t.Errorf("%v: %s", m.State(), tell(fx))
	}
}

// Two machines, with signatures and admission that take their time, always meet, in
// whatever order things happen.
func TestTwoMeet(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		ids := [2]wire.Identity{identity(t, 1), identity(t, 2)}
		var m [2]Machine
		var inbox [2][]Event // from the other side, in order
		var home [2][]Event  // answers of the home
		for i := range m {
			hello := helloLine(t, ids[i], fmt.Sprint(i))
			m[i] = New(start, Config{Own: ids[i].Key, Hello: hello})
			inbox[1-i] = append(inbox[1-i], Line{hello})
		}
		for m[0].State() != Done || m[1].State() != Done {
			i := rnd.IntN(2)
			queue := &inbox[i]
			if rnd.IntN(2) == 0 {
				queue = &home[i]
			} else if !m[i].Reads() {
				continue
			}
			if len(*queue) == 0 {
				continue
			}
			ev := (*queue)[0]
			*queue = (*queue)[1:]
			var fx []Effect
			m[i], fx = m[i].Step(start, ev)
			for _, f := range fx {
				switch f := f.(type) {
				case Send:
					inbox[1-i] = append(inbox[1-i], Line{authLine(t, f.Line.(wire.Auth).Sig)})
				case Sign:
					home[i] = append(home[i], Signed{Sig: ids[i].SignAuth(f.Ours, f.Theirs)})
				case Admit:
					if f.Peer.Key != ids[1-i].Key {
						t.Fatalf("seed %d: admits %s", seed, f.Peer.Key.Short())
					}
					home[i] = append(home[i], Admitted{})
				case Fail:
					t.Fatalf("seed %d: %s", seed, f.Reason)
				}
			}
		}
	}
}

// Whatever comes, nobody is admitted who did not prove its key, a failed handshake stays
// failed and says so once, and no err is sent without an end.
func TestRandomEvents(t *testing.T) {
	us, them := identity(t, 1), identity(t, 2)
	ours, theirs := helloLine(t, us, "o"), helloLine(t, them, "t")
	events := []Event{
		Line{theirs}, Line{authLine(t, them.SignAuth(theirs, ours))}, Line{authLine(t, "bad")}, Line{ours},
		Line{[]byte(`{"t":"ping"}`)}, Line{[]byte(`{"t":"err"}`)}, Line{[]byte(`[]`)}, BadLine{wire.TooLarge, "x"},
		Signed{Sig: "S"}, Admitted{}, Refused{"no"}, Yielded{"tie"}, Lost{"x"}, Tick{},
	}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := New(start, Config{Own: us.Key, Hello: ours})
		proved, fails := false, 0
		for range 12 {
			ev := events[rnd.IntN(len(events))]
			if rnd.IntN(3) > 0 {
				ev = events[[]int{0, 8, 1, 9}[rnd.IntN(4)]] // mostly what leads somewhere
			}
			live := m.Reads()
			var fx []Effect
			m, fx = m.Step(start.Add(time.Duration(rnd.IntN(31))*time.Second), ev)
			if l, ok := ev.(Line); ok && live && bytes.Equal(l.Raw, events[1].(Line).Raw) {
				proved = true
			}
			for _, f := range fx {
				switch f := f.(type) {
				case Admit:
					if !proved {
						t.Fatalf("seed %d: admission without proof", seed)
					}
				case Fail:
					fails++
				case Send:
					if _, isErr := f.Line.(wire.Err); isErr && m.State() != Failed {
						t.Fatalf("seed %d: err without an end", seed)
					}
				}
			}
		}
		if (m.State() == Failed) != (fails == 1) || fails > 1 {
			t.Fatalf("seed %d: %v after %d failures", seed, m.State(), fails)
		}
	}
}

func TestImpossibleEdgePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	m := Machine{state: Greeting}
	m.become(Done)
}

func TestStateString(t *testing.T) {
	if Greeting.String() != "greeting" || State(0).String() != "unknown" || State(99).String() != "unknown" {
		t.Error("wrong names")
	}
}
