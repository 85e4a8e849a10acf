package link

import (
	"strings"
	"testing"
	"time"
)

func TestOwed(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	resume, line := got(`{"t":"resume","seen":{}}`), got(`{"t":"ack","id":"a1","th":"x","re":"m1"}`)
	pong := func(id string) Line { return got(`{"t":"pong","re":"` + id + `"}`) }
	wroteAll := func(t time.Duration, bytes int) at { return at{t, Wrote{1, bytes, start.Add(t)}} }
	wrote := func(t time.Duration) at { return wroteAll(t, 0) } // bytes make the times odd
	live := []at{{0, resume}, {3*s + 10*ms, pong("p1")}}        // the first round trip is measured
	quiet := []string{"0s: established; resume", "3s: ping", "3.01s: rtt 10ms"}

	tests := []struct {
		name   string
		until  time.Duration
		events []at
		want   []string
	}{
		{"a line into the silence", 60 * s, []at{wrote(20 * s)},
			[]string{"21.5s: ping", `23.52s: close "peer does not answer pings"`}},
		{"answered: the slow test again", 59 * s, []at{wrote(20 * s), {21*s + 530*ms, pong("p2")}},
			[]string{"21.5s: ping", "21.53s: rtt 30ms"}},
		{"an ack is life, and what it is for is asked for once", 45 * s, []at{wrote(20 * s), {20*s + 5*ms, line}, {21*s + 506*ms, pong("p2")}},
			[]string{"20.005s: forward", "21.505s: ping", "21.506s: rtt 1ms"}},
		{"lost after the ack", 45 * s, []at{wrote(20 * s), {20*s + 5*ms, line}},
			[]string{"20.005s: forward", "21.505s: ping", `23.525s: close "peer does not answer pings"`}},
		{"written after the ping: another ping", 45 * s, []at{wrote(20 * s), wrote(21*s + 510*ms), {21*s + 520*ms, pong("p2")}, {23*s + 30*ms, pong("p3")}},
			[]string{"21.5s: ping", "21.52s: rtt 20ms", "23.02s: ping", "23.03s: rtt 10ms"}},
		{"the idle test's ping is out already", 80 * s, []at{wrote(60*s + 500*ms)},
			[]string{"1m0s: ping", "1m2s: ping", `1m4.02s: close "peer does not answer pings"`}},
		{"a file: a ping for so many bytes, and no round trip of our own queue", 45 * s,
			[]at{wroteAll(20*s, 350<<10), wroteAll(20*s+100*ms, 350<<10), {21 * s, pong("p2")}, {23 * s, pong("p3")}},
			[]string{"20s: ping", "22.5s: ping"}},
		{"a file on a slow line: longer", 60 * s, []at{wroteAll(20*s, 640<<10)},
			[]string{"20s: ping", `33.52s: close "peer does not answer pings"`}},
		{"a part of a long line is life", 60 * s, []at{wrote(20 * s), {23 * s, Heard{start.Add(23 * s)}}},
			[]string{"21.5s: ping", `26.52s: close "peer does not answer pings"`}},
		{"silence that is our doing", 60 * s, []at{wrote(20 * s), {21 * s, Held{}}, {50 * s, Freed{}}, {51*s + 510*ms, pong("p2")}},
			[]string{"51.5s: ping", "51.51s: rtt 10ms"}},
		{"a line that is told of late", 60 * s, []at{{20*s + 100*ms, Wrote{Lines: 1, At: start.Add(20 * s)}}},
			[]string{"21.5s: ping", `23.52s: close "peer does not answer pings"`}},
		{"doubt, rightly", 60 * s, []at{{20 * s, Doubt{}}},
			[]string{"20s: ping", `23.52s: close "peer does not answer pings"`}},
		{"doubt, wrongly", 45 * s, []at{{20 * s, Doubt{}}, {20*s + 10*ms, pong("p2")}},
			[]string{"20s: ping", "20.01s: rtt 10ms"}},
		{"nothing is asked of a link that drains", 30 * s, []at{wrote(20 * s), {20 * s, AskBye{"x"}}},
			[]string{`20s: last bye "x" re=`, `25s: close "said bye"`}},
	}
	for _, tt := range tests {
		want := strings.Join(append(quiet[:len(quiet):len(quiet)], tt.want...), "\n")
		if got := timeline(New(start, interval), tt.until, append(live[:len(live):len(live)], tt.events...)...); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}
