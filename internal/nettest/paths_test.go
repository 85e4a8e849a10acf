//go:build linux

package nettest

import (
	"strings"
	"testing"
	"time"
)

// Through every kind of router two homes find each other; which path carries the bytes is
// what the router counted.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		how    layout
		direct bool
	}{
		{"plain NAT", layout{a: plain, b: plain}, true},
		{"symmetric NAT on one side", layout{a: symmetric, b: plain}, false},
		{"symmetric NAT on both sides", layout{a: symmetric, b: symmetric}, false},
		{"UDP blocked", layout{a: noUDP, b: plain}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := connectedLab(t, c.how)
			l.b.says("a@net", "through the wall")
			l.a.says("b@net", "and back")
			l.a.hears("through the wall")
			l.b.hears("and back")
			if c.direct {
				l.untilDirect()
			}
			udp, tcp := l.ra.carried()
			sendFile(t, l.b, l.a, "a@net", 20<<20)
			udpAfter, tcpAfter := l.ra.carried()
			udp, tcp = udpAfter-udp, tcpAfter-tcp
			t.Logf("the router carried %s by UDP, %s by TCP", mib(udp), mib(tcp))
			if c.direct && udp < 20<<20 || !c.direct && tcp < 20<<20 {
				t.Errorf("direct is to be %v", c.direct)
			}
		})
	}
}

// untilDirect waits until what is sent goes from router to router.
func (l *lab) untilDirect() {
	l.t.Helper()
	text := strings.Repeat("x", 100_000)
	took := l.b.until(30*time.Second, "a direct path", func() bool {
		udp, _ := l.ra.carried()
		l.b.says("a@net", text)
		after, _ := l.ra.carried()
		return after-udp > uint64(len(text))
	})
	l.t.Logf("direct %v after the first messages", took.Round(time.Millisecond))
}

// Where the outside takes packets of 1280 bytes only, a large file arrives and messages
// the other way are not stuck behind it.
func TestSmallPackets(t *testing.T) {
	t.Parallel()
	l := connectedLab(t, layout{a: plain, b: plain, mtu: 1280})
	l.untilDirect()
	ping := &voice{from: l.a, to: l.b, peer: "b@net"}
	stop := speak(ping)
	udp, _ := l.ra.carried()
	sendFile(t, l.b, l.a, "a@net", 20<<20)
	after, _ := l.ra.carried()
	stop()
	t.Logf("the router carried %s by UDP", mib(after-udp))
	if after-udp < 20<<20 {
		t.Error("the file did not go the direct way")
	}
	delivered(t, 10*time.Second, ping)
	ping.exact(t)
}
