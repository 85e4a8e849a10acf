//go:build linux

package nettest

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fault is something that happens to a lab while its homes talk.
type fault struct {
	name  string
	how   layout
	steps []step
}

// step is one change of the network: it is hurt, away so long, and mended. Where it is
// never away, it stays as it became, and the homes must find the new way.
type step struct {
	away       time.Duration
	hurt, mend func(l *lab)
	onlyB      bool // home a cannot say anything meanwhile
}

// recoverWithin is how long after the network is back what waited may still take, and
// busy what a machine that runs much else may add before that is an error.
const (
	recoverWithin = 5 * time.Second
	busy          = 5 * time.Second
)

var relayedLab = layout{a: symmetric, b: symmetric}
var directLab = layout{a: plain, b: plain}

// cables are three ways to lose a network, by who notices.
var cables = []struct {
	name       string
	hurt, mend func(l *lab)
}{
	{"router side", func(l *lab) { l.ip("ra", "link set lan down") }, func(l *lab) { l.ip("ra", "link set lan up") }},
	{"host side", func(l *lab) { l.ip("a", "link set eth0 down") },
		func(l *lab) { l.ip("a", "link set eth0 up", "route add default via 10.1.0.1") }},
	{"silent drop", func(l *lab) { l.ra.silence() }, func(l *lab) { l.ra.heal() }},
}

func cuts(away time.Duration) (list []fault) {
	for _, c := range cables {
		list = append(list, fault{name: "cut " + c.name, how: directLab, steps: []step{{away: away, hurt: c.hurt, mend: c.mend}}})
	}
	c := cables[0]
	return append(list, fault{name: "cut " + c.name + " relayed", how: relayedLab, steps: []step{{away: away, hurt: c.hurt, mend: c.mend}}})
}

func pauses(away time.Duration) (list []fault) {
	for _, how := range []layout{directLab, relayedLab} {
		name := "paused"
		if how == relayedLab {
			name += " relayed"
		}
		list = append(list, fault{name: name, how: how, steps: []step{{
			away: away, onlyB: true,
			hurt: func(l *lab) { l.a.signal(syscall.SIGSTOP) },
			mend: func(l *lab) { l.a.signal(syscall.SIGCONT) },
		}}})
	}
	return append(list, fault{name: "awp-wire paused", how: directLab, steps: []step{{
		away: away,
		hurt: func(l *lab) { l.b.signal(syscall.SIGSTOP, "awp-wire") },
		mend: func(l *lab) { l.b.signal(syscall.SIGCONT, "awp-wire") },
	}}})
}

func roaming() (list []fault) {
	outside := func(from, to string) step {
		return step{hurt: func(l *lab) {
			l.ip("ra", "addr del 203.0.113."+from+"/24 dev wan", "addr add 203.0.113."+to+"/24 dev wan")
		}}
	}
	host := func(from, to string) step {
		return step{hurt: func(l *lab) {
			l.ip("a", "addr del 10.1.0."+from+"/24 dev eth0", "addr add 10.1.0."+to+"/24 dev eth0", "route add default via 10.1.0.1")
		}}
	}
	return []fault{
		{name: "another outside address", how: directLab, steps: []step{outside("11", "21"), outside("21", "11")}},
		{name: "another outside address relayed", how: relayedLab, steps: []step{outside("11", "21"), outside("21", "11")}},
		{name: "another host address", how: directLab, steps: []step{host("2", "3"), host("3", "2")}},
	}
}

func relayGone(away time.Duration) (list []fault) {
	for _, how := range []layout{directLab, relayedLab} {
		name := "relay killed"
		if how == relayedLab {
			name += " relayed"
		}
		list = append(list, fault{name: name, how: how, steps: []step{{
			away: away,
			hurt: func(l *lab) { l.relay.stop(syscall.SIGKILL) },
			mend: func(l *lab) { l.relay.start() },
		}}})
	}
	return list
}

func crashes() []fault {
	return []fault{{name: "awp-wire killed", how: directLab, steps: []step{
		{hurt: func(l *lab) { l.a.kill("awp-wire") }}, {hurt: func(l *lab) { l.b.kill("awp-wire") }},
	}}, {name: "awp-wire killed relayed", how: relayedLab, steps: []step{
		{hurt: func(l *lab) { l.a.kill("awp-wire") }}, {hurt: func(l *lab) { l.b.kill("awp-wire") }},
	}}}
}

// Whatever happens to the network, nothing is lost, nothing comes twice or out of order,
// and once it is back what waited arrives within seconds.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, list := range [][]fault{cuts(20 * time.Second), pauses(20 * time.Second), roaming(), relayGone(20 * time.Second), crashes()} {
		for _, f := range list {
			t.Run(f.name, f.run)
		}
	}
}

// The same with outages of minutes.
func TestLongFaults(t *testing.T) {
	needLong(t)
	t.Parallel()
	for _, list := range [][]fault{cuts(180 * time.Second), pauses(120 * time.Second)} {
		for _, f := range list {
			t.Run(f.name, f.run)
		}
	}
}

func (f fault) run(t *testing.T) {
	t.Parallel()
	l := connectedLab(t, f.how)
	if f.how == directLab {
		l.untilDirect()
	}
	a, b := &voice{from: l.a, to: l.b, peer: "b@net"}, &voice{from: l.b, to: l.a, peer: "a@net"}
	for i, s := range f.steps {
		stop := speak(a, b)
		time.Sleep(2 * time.Second) // so long they just talk
		waiting := []*voice{a, b}
		if s.onlyB {
			stop()
			waiting = waiting[1:]
		}
		began := time.Now()
		s.hurt(l)
		if s.onlyB {
			stop = speak(b)
		}
		// New messages would hurry the links on. After 10 s those that wait must do.
		time.Sleep(min(max(s.away, time.Second), 10*time.Second))
		stop()
		if s.away > 0 {
			time.Sleep(s.away - time.Since(began))
			began = time.Now()
			s.mend(l)
		}
		delivered(t, time.Minute, waiting...)
		took := time.Since(began)
		verdict := ""
		if took > recoverWithin {
			verdict = ", OVER 5 s"
		}
		t.Logf("step %d: away for %v, delivered %v after%s", i+1, s.away, took.Round(10*time.Millisecond), verdict)
		if took > recoverWithin+busy {
			t.Errorf("step %d: delivered after %v", i+1, took)
		}
	}
	stop := speak(a, b)
	time.Sleep(time.Second)
	stop()
	delivered(t, 10*time.Second, a, b)
	a.exact(t)
	b.exact(t)
}

// signal reaches programs of the home; all of them, if none is named.
func (h *home) signal(sig syscall.Signal, names ...string) {
	h.t.Helper()
	var pids []int
	if len(names) == 0 {
		pid, err := strconv.Atoi(strings.TrimSpace(h.read("daemon.pid")))
		if err != nil {
			h.t.Fatal(err)
		}
		pids, names = []int{pid}, []string{"awp-store", "awp-wire"}
	}
	for _, name := range names {
		starts := h.starts(name)
		pids = append(pids, starts[len(starts)-1])
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil {
			h.t.Fatal(err)
		}
	}
}
