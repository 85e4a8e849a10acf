package render

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Address returns what another agent connects to: the tailcat address when there is one,
// else the first listener's that means the same elsewhere, else a wildcard. It may be
// empty.
func Address(s awp.Status) string {
	if s.Tailcat != "" {
		return s.Tailcat
	}
	others := listeners(s)
	for _, a := range others {
		if wildcardPort(a) == "" {
			return a
		}
	}
	return append(others, "")[0]
}

// listeners returns the addresses other than tailcat's.
func listeners(s awp.Status) []string {
	var others []string
	for _, a := range s.Addresses {
		if !strings.HasPrefix(a, "tailcat:") {
			others = append(others, a)
		}
	}
	return others
}

// Wildcard says what to share instead of address where that is not one address but every
// one of the machine; else nothing.
func Wildcard(address string) string {
	port := wildcardPort(address)
	if port == "" {
		return ""
	}
	return fmt.Sprintf("%s is every address of this machine: share it as tcp:HOST:%s, with one of them for HOST", Line(address), port)
}

// wildcardPort returns the port of an address that is listened on everywhere, and nothing
// for other addresses.
func wildcardPort(address string) string {
	rest, ok := strings.CutPrefix(address, wire.KindTCP+":")
	if !ok {
		return ""
	}
	at, err := netip.ParseAddrPort(rest)
	if err != nil || !at.Addr().IsUnspecified() {
		return ""
	}
	return fmt.Sprint(at.Port())
}

// listensNowhere says what it means to have no listener, which some homes want.
const listensNowhere = "this home listens nowhere: peers cannot dial it, it can dial them"

// wireAway says that nobody knows just now where a home listens.
const wireAway = "awp-wire is away: it starts, or the daemon is about to start it again"

// NoAddress returns the reasons why a home has no address, or not yet.
func NoAddress(s awp.Status) []string {
	var why []string
	switch {
	case s.WireAway:
		return []string{wireAway}
	case s.TailcatError != "":
		why = append(why, "tailcat: "+Line(s.TailcatError))
	case s.TailcatEnabled && s.Tailcat == "":
		why = append(why, "tailcat is starting")
	}
	for _, e := range s.ListenErrors {
		why = append(why, failed(e))
	}
	if len(why) == 0 {
		return []string{listensNowhere}
	}
	return why
}

func failed(e awp.ListenErr) string { return Line(e.Address) + " failed: " + Line(e.Error) }

// nowhere reports whether a home is told not to listen.
func nowhere(s awp.Status) bool {
	return !s.WireAway && !s.TailcatEnabled && len(s.Addresses) == 0 && len(s.ListenErrors) == 0
}
