package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

var start = time.Date(2026, 9, 29, 17, 0, 0, 0, time.UTC)

const interval = 30 * time.Second

// tell writes effects as a test's table spells them.
func tell(fx []Effect) string {
	var parts []string
	for _, f := range fx {
		switch f := f.(type) {
		case Resume:
			if f.Raw == nil {
				parts = append(parts, "resume none")
			} else {
				parts = append(parts, "resume")
			}
		case Pong:
			parts = append(parts, "pong "+string(f.Re))
		case RTT:
			parts = append(parts, "rtt "+f.Took.String())
		case Park:
			parts = append(parts, fmt.Sprintf("park %q", f.Reason))
		case Last:
			parts = append(parts, last(f))
		case Close:
			if parts = append(parts, fmt.Sprintf("close %q", f.Reason)); f.Denied {
				parts = append(parts, "denied")
			}
		default:
			parts = append(parts, strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", f), "link.")))
		}
	}
	return strings.Join(parts, "; ")
}

func last(f Last) string {
	s := "last nothing"
	switch l := f.Line.(type) {
	case wire.Bye:
		s = fmt.Sprintf("last bye %q re=%s", l.Reason, l.Re)
	case wire.Err:
		s = fmt.Sprintf("last err %s re=%s", l.Code, l.Re)
	}
	if f.HalfClose {
		s += " half"
	}
	return s
}

// got is a line of the peer.
func got(text string) Line {
	env, err := wire.ParseEnvelope([]byte(text))
	if err != nil {
		panic(err)
	}
	return Line{Envelope: env, Raw: []byte(text)}
}

func TestSteps(t *testing.T) {
	resume := got(`{"t":"resume","seen":{}}`)
	ping := got(`{"t":"ping","id":"p1"}`)
	msg := got(`{"t":"msg","id":"m1","th":"x","parts":[]}`)
	bye := got(`{"t":"bye","id":"b1","reason":"done"}`)
	authErr := got(`{"t":"err","id":"e1","code":"auth","detail":"not you"}`)
	live := []Event{resume}

	tests := []struct {
		name   string
		before []Event
		ev     Event
		fx     string
		state  State
	}{
		{"resume", nil, resume, "established; resume", Live},
		{"resume of null", nil, got(`{"t":"resume","seen":null}`), "established; resume", Live},
		{"second resume", live, resume, "", Live},
		{"resume that is none", nil, got(`{"t":"resume","id":"r","seen":[]}`), "established; last err bad_frame re=r half", Draining},
		{"line before resume", nil, msg, "established; forward", Resuming},
		{"line", live, msg, "forward", Live},
		{"unknown type", live, got(`{"t":"later"}`), "forward", Live},
		{"hello again", live, got(`{"t":"hello"}`), "", Live},
		{"auth again", live, got(`{"t":"auth"}`), "", Live},
		{"ping", live, ping, "pong p1", Live},
		{"pong nobody asked for", live, got(`{"t":"pong","re":"p9"}`), "", Live},
		{"pong without re", live, got(`{"t":"pong"}`), "", Live},
		{"not a line", live, BadLine{wire.BadFrame, "x"}, "last err bad_frame re= half", Draining},
		{"too long", live, BadLine{wire.TooLarge, "x"}, "last err too_large re= half", Draining},

		{"refused", nil, authErr, `forward; close "peer sent err auth: not you"; denied`, Down},
		{"err auth later", live, authErr, `forward; close "peer sent err auth: not you"`, Down},
		{"err that closes", live, got(`{"t":"err","code":"too_large"}`), `forward; close "peer sent err too_large"`, Down},
		{"err that does not", live, got(`{"t":"err","code":"blob_refused","ref":"b"}`), "forward", Live},
		{"internal does not", live, got(`{"t":"err","code":"internal"}`), "forward", Live},
		{"err of unknown code", live, got(`{"t":"err","code":"odd"}`), "forward", Live},
		{"err is no acceptance", nil, got(`{"t":"err","code":"odd"}`), "forward", Resuming},
		{"err that is none", live, got(`{"t":"err","id":"e","code":7}`), "last err bad_frame re=e half", Draining},

		{"peer's bye", live, bye, `park "done"`, Draining},
		{"peer's bye before resume", nil, bye, `established; park "done"`, Draining},
		{"peer's bye, noted", []Event{resume, bye}, Parked{}, `last bye "done" re=b1 half`, Draining},
		{"peer's bye without reason", []Event{resume, got(`{"t":"bye","id":"b2"}`)}, Parked{}, `last bye "" re=b2 half`, Draining},
		{"peer's bye twice", []Event{resume, bye}, bye, "", Draining},
		{"ping before our answer", []Event{resume, bye}, ping, "pong p1", Draining},
		{"ping after our answer", []Event{resume, bye, Parked{}}, ping, "", Draining},
		{"line after our answer", []Event{resume, bye, Parked{}}, msg, "forward", Draining},
		{"end after our answer", []Event{resume, bye, Parked{}}, Ended{"x"}, `close "peer said bye"`, Down},
		{"noted twice", []Event{resume, bye, Parked{}}, Parked{}, "", Draining},

		{"our bye", live, AskBye{"done"}, `last bye "done" re=`, Draining},
		{"our bye twice", []Event{resume, AskBye{"done"}}, AskBye{"done"}, "", Draining},
		{"answer to our bye", []Event{resume, AskBye{"done"}}, bye, `close "said bye"`, Down},
		{"line after our bye", []Event{resume, AskBye{"done"}}, msg, "forward", Draining},
		{"ping after our bye", []Event{resume, AskBye{"done"}}, ping, "", Draining},
		{"no line after our bye", []Event{resume, AskBye{"done"}}, BadLine{wire.BadFrame, "x"}, `close "said bye"`, Down},
		{"our bye, but the peer was first", []Event{resume, bye}, AskBye{"x"}, "", Draining},
		{"resume after our bye", []Event{AskBye{"done"}}, resume, "established", Draining},

		{"home closes", live, HomeCloses{}, "last nothing half", Draining},
		{"home closes after bye", []Event{resume, AskBye{"x"}}, HomeCloses{}, "", Draining},
		{"home closes instead of our answer", []Event{resume, bye}, HomeCloses{}, "last nothing half", Draining},
		{"line after the err", []Event{resume, BadLine{wire.BadFrame, "x"}}, msg, "", Draining},
		{"bye after the err", []Event{resume, BadLine{wire.BadFrame, "x"}}, bye, "", Draining},
		{"second bad line", []Event{resume, BadLine{wire.BadFrame, "x"}}, BadLine{wire.BadFrame, "y"}, "", Draining},
		{"end after the err", []Event{resume, BadLine{wire.BadFrame, "x"}}, Ended{"gone"}, `close "refused a line: x"`, Down},

		{"end", live, Ended{"gone"}, `close "gone"`, Down},
		{"write failed", live, WriteFailed{"reset"}, "", Draining},
		{"err after a failed write", []Event{resume, WriteFailed{"reset"}}, authErr, `forward; close "peer sent err auth: not you"`, Down},
		{"line after a failed write", []Event{resume, WriteFailed{"reset"}}, msg, "forward", Draining},
		{"end after a failed write", []Event{resume, WriteFailed{"reset"}}, Ended{"gone"}, `close "reset"`, Down},
		{"bye after a failed write", []Event{resume, WriteFailed{"reset"}}, bye, "", Draining},
		{"write of our bye failed", []Event{resume, AskBye{"x"}}, WriteFailed{"reset"}, `close "said bye"`, Down},
		{"replaced", live, Replaced{}, `close "replaced by a newer connection"`, Down},
		{"overflow", live, Overflow{}, `close "peer asks more than it reads"`, Down},
		{"nothing after the end", []Event{Ended{"gone"}}, msg, "", Down},
	}
	for _, tt := range tests {
		m := New(start, interval)
		for _, ev := range tt.before {
			m, _ = m.Step(start, ev)
		}
		m, fx := m.Step(start, tt.ev)
		if got := tell(fx); got != tt.fx || m.State() != tt.state {
			t.Errorf("%s: %s, %v; want %s, %v", tt.name, got, m.State(), tt.fx, tt.state)
		}
	}
}

// at is one thing that happens in a timeline; a nil event lets the machine's own
// clock run until then.
type at struct {
	after time.Duration
	ev    Event
}

// timeline runs events with every tick that the machine asks for in between, and returns
// what came of it, with the second it came in.
func timeline(m Machine, until time.Duration, events ...at) string {
	var out []string
	pings := 0
	step := func(now time.Time, ev Event) {
		var fx []Effect
		m, fx = m.Step(now, ev)
		if s := tell(fx); s != "" {
			out = append(out, fmt.Sprintf("%v: %s", now.Sub(start), s))
		}
		for _, f := range fx {
			if _, ok := f.(Ping); ok {
				pings++
				m, _ = m.Step(now, PingSent{awp.MessageID(fmt.Sprintf("p%d", pings))})
			}
		}
	}
	for _, next := range append(events, at{until, nil}) {
		for w := m.WakeAt(); m.State() != Down && !w.After(start.Add(next.after)); w = m.WakeAt() {
			step(w, Tick{})
		}
		if next.ev != nil {
			step(start.Add(next.after), next.ev)
		}
	}
	return strings.Join(out, "\n")
}

func TestTimelines(t *testing.T) {
	resume := got(`{"t":"resume","seen":{}}`)
	msg := got(`{"t":"msg","id":"m1","th":"x"}`)
	pong := func(id string) Line { return got(`{"t":"pong","re":"` + id + `"}`) }
	const s = time.Second
	tests := []struct {
		name   string
		until  time.Duration
		events []at
		want   []string
	}{
		{"silence from the start", 200 * s, nil, []string{
			"15s: established; resume none", "18s: ping", "30s: ping", "1m0s: ping", `1m30s: close "peer does not answer pings"`}},
		{"resume after its wait", 17 * s, []at{{16 * s, resume}}, []string{"15s: established; resume none"}},
		{"first round trip", 29 * s, []at{{2 * s, resume}, {5*s + 40*time.Millisecond, pong("p1")}}, []string{
			"2s: established; resume", "5s: ping", "5.04s: rtt 40ms"}},
		{"a pong counts once", 29 * s, []at{{0, resume}, {4 * s, pong("p1")}, {5 * s, pong("p1")}}, []string{
			"0s: established; resume", "3s: ping", "4s: rtt 1s"}},
		{"the ping that nobody answered keeps nothing up", 100 * s, []at{{0, resume}}, []string{
			"0s: established; resume", "3s: ping", "30s: ping", "1m0s: ping", `1m30s: close "peer does not answer pings"`}},
		{"any line is life", 160 * s, []at{{0, resume}, {61 * s, msg}}, []string{
			"0s: established; resume", "3s: ping", "30s: ping", "1m0s: ping", "1m1s: forward",
			"1m30s: ping", "2m0s: ping", `2m30s: close "peer does not answer pings"`}},
		{"a busy peer is not pinged", 95 * s, []at{{0, resume}, {28 * s, msg}, {57 * s, msg}, {84 * s, msg}}, []string{
			"0s: established; resume", "3s: ping", "28s: forward", "57s: forward", "1m24s: forward"}},
		{"silence that is our doing", 160 * s, []at{{0, resume}, {10 * s, Held{}}, {100 * s, Freed{}}}, []string{
			"0s: established; resume", "3s: ping", "2m30s: ping"}},
		{"bye without answer", 60 * s, []at{{0, resume}, {1 * s, AskBye{"x"}}, {2 * s, msg}}, []string{
			"0s: established; resume", `1s: last bye "x" re=`, "2s: forward", `6s: close "said bye"`}},
		{"bye answered, peer lingers", 60 * s, []at{{0, resume}, {1 * s, got(`{"t":"bye","id":"b"}`)}, {3 * s, Parked{}}}, []string{
			"0s: established; resume", `1s: park ""`, `3s: last bye "" re=b half`, `8s: close "peer said bye"`}},
		{"bye, home does not answer", 60 * s, []at{{0, resume}, {1 * s, got(`{"t":"bye","id":"b"}`)}}, []string{
			"0s: established; resume", `1s: park ""`, `6s: close "peer said bye"`}},
		{"err heard", 60 * s, []at{{0, resume}, {1 * s, BadLine{wire.BadFrame, "x"}}, {2 * s, Flushed{}}}, []string{
			"0s: established; resume", "1s: last err bad_frame re= half", `3s: close "refused a line: x"`}},
		{"err that cannot be written", 60 * s, []at{{0, resume}, {1 * s, BadLine{wire.BadFrame, "x"}}}, []string{
			"0s: established; resume", "1s: last err bad_frame re= half", `6s: close "refused a line: x"`}},
		{"err written late", 60 * s, []at{{0, resume}, {1 * s, BadLine{wire.BadFrame, "x"}}, {5500 * time.Millisecond, Flushed{}}}, []string{
			"0s: established; resume", "1s: last err bad_frame re= half", `6s: close "refused a line: x"`}},
		{"write failed", 60 * s, []at{{0, resume}, {1 * s, WriteFailed{"reset"}}}, []string{
			"0s: established; resume", `1.5s: close "reset"`}},
		{"home closes", 60 * s, []at{{0, resume}, {1 * s, HomeCloses{}}, {1 * s, Flushed{}}}, []string{
			"0s: established; resume", "1s: last nothing half", `2s: close "the home refused a line"`}},
	}
	for _, tt := range tests {
		if got, want := timeline(New(start, interval), tt.until, tt.events...), strings.Join(tt.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

func TestBrokenHandshake(t *testing.T) {
	m := NewBroken(start, "own key")
	if m.State() != Draining || !m.Discards() {
		t.Errorf("%v, discards %v", m.State(), m.Discards())
	}
	if got := timeline(m, time.Minute, at{0, Flushed{}}, at{500 * time.Millisecond, got(`{"t":"msg"}`)}); got != `1s: close "own key"` {
		t.Error(got)
	}
}

func TestLongByeReasonFitsALine(t *testing.T) {
	m, _ := New(start, interval).Step(start, got(`{"t":"bye","id":"b","reason":"`+strings.Repeat("x", 1<<19)+`"}`))
	_, fx := m.Step(start, Parked{})
	line := fx[0].(Last).Line.(wire.Bye)
	line.ID, line.TS = "i", "t"
	if raw, err := wire.Encode(line); err != nil || len(raw) > 8000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// Whatever happens, in any order: a link ends, once, and soon after it began to drain; it
// hands the peer's resume over once; it writes nothing after its last line; and while it
// is broken nothing goes to the home.
func TestRandomEvents(t *testing.T) {
	events := []Event{
		got(`{"t":"resume","seen":{}}`), got(`{"t":"msg"}`), got(`{"t":"ping","id":"p"}`), got(`{"t":"pong","re":"p1"}`),
		got(`{"t":"bye","id":"b"}`), got(`{"t":"err","code":"auth"}`), got(`{"t":"err","code":"odd"}`), got(`{"t":"err","code":1}`),
		BadLine{wire.TooLarge, "x"}, Ended{"end"}, Held{}, Freed{}, PingSent{"p1"}, Flushed{}, WriteFailed{"w"},
		AskBye{"a"}, Parked{}, HomeCloses{}, Replaced{}, Overflow{}, Tick{}, Tick{}, Tick{},
		Wrote{1, 100, start}, Wrote{4, 1 << 20, start}, Doubt{}, Heard{start.Add(time.Minute)},
	}
	for seed := range uint64(5000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		fail := func(err error) { t.Fatalf("seed %d: %v", seed, err) }
		m, now := New(start, interval), start
		var drainedAt time.Time
		resumes, closes, sealed := 0, 0, false
		for range 60 {
			ev := events[rnd.IntN(len(events))]
			if rnd.IntN(3) > 0 {
				ev = events[rnd.IntN(4)] // mostly a healthy link
			}
			now = now.Add(time.Duration(rnd.IntN(4000)) * time.Millisecond)
			wasDown, broke := m.State() == Down, m.drain == broken
			var fx []Effect
			m, fx = m.Step(now, ev)
			for _, f := range fx {
				if wasDown {
					fail(errors.New("an effect after the end"))
				}
				switch f.(type) {
				case Resume:
					resumes++
				case Close:
					closes++
				case Forward:
					if broke {
						fail(errors.New("forwards while broken"))
					}
				case Ping, Pong, Last:
					if sealed {
						fail(fmt.Errorf("writes %T after the last line", f))
					}
				}
				if _, ok := f.(Last); ok {
					sealed = true
				}
			}
			if m.State() == Draining && drainedAt.IsZero() {
				drainedAt = now
			}
			if m.State() != Down && m.WakeAt().IsZero() {
				fail(errors.New("no time to wake at"))
			}
		}
		if !drainedAt.IsZero() && m.State() == Draining {
			// Answering and answered may take their time one after the other.
			m, fx := m.Step(drainedAt.Add(2*wire.ByeTimeout+5*time.Second+4*time.Second), Tick{})
			for range 3 {
				m, _ = m.Step(m.WakeAt(), Tick{})
			}
			closes += strings.Count(tell(fx), "close")
			if m.State() != Down {
				fail(errors.New("drains for ever"))
			}
		}
		if resumes > 1 || closes > 1 || (m.State() == Down) != (closes == 1) && m.State() != Draining {
			fail(fmt.Errorf("%d resumes, %d closes, %v", resumes, closes, m.State()))
		}
	}
}

func TestImpossibleEdgePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	m := Machine{state: Draining}
	m.become(Live)
}

func TestNames(t *testing.T) {
	for s := Down; s <= Draining; s++ {
		if s.String() == "" || s.String() == "unknown" {
			t.Errorf("state %d has no name", s)
		}
	}
	for s := Idle; s <= Linked; s++ {
		if s.String() == "" || s.String() == "unknown" {
			t.Errorf("loop state %d has no name", s)
		}
	}
	if State(99).String() != "unknown" || LoopState(99).String() != "unknown" {
		t.Error("names where there are none")
	}
}

func TestOwn(t *testing.T) {
	for typ, want := range map[string]bool{
		wire.TypeHello: true, wire.TypeAuth: true, wire.TypeResume: true, wire.TypePing: true, wire.TypePong: true,
		wire.TypeBye: true, wire.TypeErr: false, wire.TypeMsg: false, wire.TypeAck: false, "later": false,
	} {
		if Own(typ) != want {
			t.Errorf("Own(%q) is %v", typ, !want)
		}
	}
}
