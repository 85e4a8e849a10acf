package wire

import (
	"strings"
	"testing"
)

var tcAddr = "tc" + strings.Repeat("aZ09-_", 7)

func TestParseAddr(t *testing.T) {
	for in, want := range map[string]string{
		tcAddr:                     "tailcat:" + tcAddr,
		"tailcat:" + tcAddr:        "tailcat:" + tcAddr,
		"tcp:host:7777":            "tcp:host:7777",
		"tcp://host:7777":          "tcp:host:7777",
		"tcp:my-box_1.local.:1":    "tcp:my-box_1.local.:1",
		"tcp:127.0.0.1:0":          "tcp:127.0.0.1:0",
		"tcp:127.0.0.1:00080":      "tcp:127.0.0.1:80",
		"tcp:h:65535":              "tcp:h:65535",
		"tcp:[::1]:7":              "tcp:[::1]:7",
		"tcp://[FE80:0::1%eth0]:7": "tcp:[fe80::1%eth0]:7",
		"unix:/run/a b.sock":       "unix:/run/a b.sock",
		"unix:///run/a.sock":       "unix:/run/a.sock",
		"unix://///run//a.sock":    "unix:/run//a.sock",
		"unix:/é:1":                "unix:/é:1",
	} {
		a, err := ParseAddr(in)
		if err != nil || a.String() != want {
			t.Errorf("ParseAddr(%q) = %s, %v; want %s", in, a, err, want)
		}
		if back, err := ParseAddr(a.String()); err != nil || back != a {
			t.Errorf("ParseAddr(%q) = %v, %v; want %v", a.String(), back, err, a)
		}
	}
}

func TestParseAddrRefuses(t *testing.T) {
	for _, in := range []string{
		"", "bob", "tc", "tcp", tcAddr[:39], tcAddr + "!", "x" + tcAddr, "tailcat:", "tailcat:bob", "tailcat://" + tcAddr,
		"tcp:", "tcp:host", "tcp:host:", "tcp:host:x", "tcp:host:-1", "tcp:host:+1", "tcp:host:65536", "tcp::7", "tcp:///h:7",
		"tcp:a b:7", "tcp:a/b:7", "tcp:a\x00:7", "tcp:::1:7", "tcp:[::1:7", "tcp:::1]:7", "tcp:[]:7", "tcp:[127.0.0.1]:7",
		"tcp:[host]:7", "tcp:[::1]]:7", "tcp:[[::1]:7", "tcp:[::1%\n]:7", "tcp:ü:7", "TCP:h:7", " tcp:h:7", "tcp:h:7 ", "tcp:u@h:7",
		"unix:", "unix:/", "unix:///", "unix:a", "unix:./a", "unix://a", "unix://host/a", "unix:/a\x00", "unix:/a\n", "unix:/\xff",
		"udp:h:7", "http://h:7", ":", "::",
	} {
		if a, err := ParseAddr(in); err == nil {
			t.Errorf("ParseAddr(%q) = %s", in, a)
		}
	}
}
