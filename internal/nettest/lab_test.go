//go:build linux

package nettest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// lab is an internet of its own:
//
//	home a 10.1.0.2 – router .11 ┐
//	                             ├ 203.0.113.0/24, the relay at .1
//	home b 10.2.0.2 – router .12 ┘
//
// Every part is a network namespace, which goes with the test. Routers have no default
// route, so nothing but the outside segment joins the two sides.
type lab struct {
	t        *testing.T
	name     string
	relay    *relay
	a, b     *home
	ra, rb   *firewall
	addressA string
}

var labs atomic.Int32

// layout is what a lab may have otherwise.
type layout struct {
	a, b nat
	mtu  int // of the outside segment; 0: 1500
}

// newLab makes the networks and starts the relay. Homes are made, not up.
func newLab(t *testing.T, how layout) *lab {
	t.Helper()
	l := &lab{t: t, name: fmt.Sprintf("lab%d", labs.Add(1))}
	mtu := strconv.Itoa(how.mtu)
	if how.mtu == 0 {
		mtu = "1500"
	}
	for _, part := range []string{"net", "ra", "rb", "a", "b"} {
		ip(t, "netns add "+l.ns(part))
		t.Cleanup(func() { exec.Command("ip", "netns", "del", l.ns(part)).Run() }) //nolint:errcheck // all goes with the run
		ip(t, "-n "+l.ns(part)+" link set lo up")
	}
	l.ip("net", "link add name br0 type bridge", "addr add 203.0.113.1/24 dev br0", "link set br0 mtu "+mtu+" up")
	l.ra = l.side("a", 1, how.a, mtu)
	l.rb = l.side("b", 2, how.b, mtu)
	l.relay = &relay{t: t, ns: l.ns("net"), args: []string{
		"--host", "203.0.113.1", "--listen", "203.0.113.1:443", "--stun", "203.0.113.1:" + strconv.Itoa(stunPort),
		"--state", t.TempDir(), "--json"}}
	l.relay.start()
	t.Cleanup(func() { l.relay.close() })
	l.a, l.b = newHome(t, l.relay.settings), newHome(t, l.relay.settings)
	l.a.ns, l.b.ns = l.ns("a"), l.ns("b")
	return l
}

// connected makes a lab whose homes are up, and the second connected to the first.
func connectedLab(t *testing.T, how layout) *lab {
	t.Helper()
	l := newLab(t, how)
	l.addressA = l.a.up("--name", "a@net")
	l.b.up("--name", "b@net")
	l.b.run("connect", l.addressA)
	return l
}

// side makes a host and its router.
func (l *lab) side(name string, n int, kind nat, mtu string) *firewall {
	l.t.Helper()
	router := "r" + name
	l.ip(router, "link add name wan type veth peer name "+router+" netns "+l.ns("net"))
	l.ip("net", "link set "+router+" mtu "+mtu+" master br0 up")
	l.ip(router, fmt.Sprintf("addr add 203.0.113.1%d/24 dev wan", n), "link set wan mtu "+mtu+" up",
		"link add name lan type veth peer name eth0 netns "+l.ns(name),
		fmt.Sprintf("addr add 10.%d.0.1/24 dev lan", n), "link set lan up")
	l.ip(name, fmt.Sprintf("addr add 10.%d.0.2/24 dev eth0", n), "link set eth0 up", fmt.Sprintf("route add default via 10.%d.0.1", n))
	run(l.t, "ip", "netns", "exec", l.ns(router), "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	return newFirewall(l.t, l.ns(router), kind)
}

func (l *lab) ns(part string) string { return l.name + "-" + part }

// ip does something to the network of one part.
func (l *lab) ip(part string, dos ...string) {
	l.t.Helper()
	for _, do := range dos {
		ip(l.t, "-n "+l.ns(part)+" "+do)
	}
}

func ip(t *testing.T, args string) {
	t.Helper()
	run(t, "ip", strings.Fields(args)...)
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// needLong skips what takes minutes, unless it was asked for.
func needLong(t *testing.T) {
	t.Helper()
	if os.Getenv(envLong) == "" {
		t.Skip("make test-net-long runs it")
	}
}
