package wire

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kinds of an [Addr].
const (
	KindTailcat = "tailcat"
	KindTCP     = "tcp"
	KindUnix    = "unix"
)

// Addr is where a peer can be dialed or listens (section 2). Addrs of equal spelling are
// equal. A tailcat address is a secret: whoever has it can knock, so it belongs in no log.
type Addr struct {
	Kind string // KindTailcat, KindTCP or KindUnix
	Rest string // "tc…", "host:port" or "/path"
}

// String returns the canonical spelling, kind first. [ParseAddr] reads it back.
func (a Addr) String() string { return a.Kind + ":" + a.Rest }

// ParseAddr reads an address as people and peers spell it: a bare tc… or tailcat:tc…,
// tcp:HOST:PORT or tcp://HOST:PORT with an IPv6 host in brackets, unix:/path or
// unix:///path. HOST is a name or an IP address; port 0 is for listeners. Anything else
// is no address, and may be a peer's name.
func ParseAddr(s string) (Addr, error) {
	if len(s) > MaxAddr {
		return Addr{}, errors.New("parse address: too long")
	}
	kind, rest, ok := strings.Cut(s, ":")
	if !ok {
		kind, rest = KindTailcat, s
	}
	switch kind {
	case KindTailcat:
		return parseTailcat(rest)
	case KindTCP:
		return parseTCP(strings.TrimPrefix(rest, "//"))
	case KindUnix:
		return parseUnix(rest)
	}
	return Addr{}, errors.New("parse address: unknown kind")
}

// minTailcat tells a tailcat address from a word that begins with tc, in bytes.
const minTailcat = 40

func parseTailcat(rest string) (Addr, error) {
	if len(rest) < minTailcat || !strings.HasPrefix(rest, "tc") || !only(rest, "-_") {
		return Addr{}, errors.New("parse address: not a tailcat address")
	}
	return Addr{KindTailcat, rest}, nil
}

func parseTCP(rest string) (Addr, error) {
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return Addr{}, errors.New("parse address: no port")
	}
	host, portText := rest[:i], rest[i+1:]
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || !only(portText, "") {
		return Addr{}, errors.New("parse address: bad port")
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !ip.Is6() || !strings.HasSuffix(inner, "]") || !printable(host) {
			return Addr{}, errors.New("parse address: bad IPv6 host")
		}
		host = "[" + ip.String() + "]"
	} else if host == "" || !only(host, "-_.") {
		return Addr{}, errors.New("parse address: bad host")
	}
	return Addr{KindTCP, host + ":" + strconv.FormatUint(port, 10)}, nil
}

func parseUnix(rest string) (Addr, error) {
	// unix://path would be a host named path in a URL, and //path is a path to some:
	// neither reading is safe to pick.
	if strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///") {
		return Addr{}, errors.New("parse address: two slashes, want one or three")
	}
	path := "/" + strings.TrimLeft(rest, "/")
	if !strings.HasPrefix(rest, "/") || path == "/" || !printable(path) {
		return Addr{}, errors.New("parse address: not an absolute path")
	}
	return Addr{KindUnix, path}, nil
}

// only reports whether s is made of ASCII letters, digits and the characters in more.
func only(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !alnum && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

// printable keeps control characters and what JSON cannot spell out of addresses.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
