package store

import (
	"net/netip"
	"strings"

	"github.com/awp-suite/awp/wire"
)

// dialable reports whether the address that a peer gave in its hello can be where that peer
// is, seen from where it came (PROTOCOL.md section 9). Else it would have us knock at
// whatever this machine or its network keeps to itself. Through a tunnel only a tunnel's
// address says anything; a path or a loopback address does only to who came from this
// machine, a private or link-local one only to who came from such.
func dialable(a wire.Addr, via string) bool {
	from, err := wire.ParseAddr(via)
	switch {
	case a.Kind == wire.KindTailcat:
		return true
	case err != nil: // the tunnel: nothing is known
		return false
	case from.Kind == wire.KindUnix:
		return true
	case from.Kind != wire.KindTCP:
		return false
	}
	here := rangeOf(from)
	switch {
	case here == onThisMachine:
		return true
	case a.Kind == wire.KindUnix:
		return false
	}
	there := rangeOf(a)
	return there == byName || there == anywhere || there == here
}

// validity is how far a TCP address means something.
type validity string

const (
	anywhere      validity = "anywhere"
	byName        validity = "by name"         // unknown before it is looked up
	onThisMachine validity = "on this machine" // loopback, or the wildcard
	onThisLink    validity = "on this link"
	onThisNetwork validity = "on this network" // private, or carrier grade
)

var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

// rangeOf returns the validity of a TCP address.
func rangeOf(a wire.Addr) validity {
	host := a.Rest[:strings.LastIndexByte(a.Rest, ':')]
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip, err := netip.ParseAddr(host)
	if err != nil {
		host = strings.TrimSuffix(strings.ToLower(host), ".")
		last := host[strings.LastIndexByte(host, '.')+1:]
		if last == "localhost" || last == "" || '0' <= last[0] && last[0] <= '9' {
			return onThisMachine // or a number, which some resolvers take for an address
		}
		return byName
	}
	switch ip = ip.Unmap(); {
	case ip.IsLoopback(), ip.IsUnspecified():
		return onThisMachine
	case ip.IsLinkLocalUnicast():
		return onThisLink
	case ip.IsPrivate(), carrierGrade.Contains(ip):
		return onThisNetwork
	}
	return anywhere
}
