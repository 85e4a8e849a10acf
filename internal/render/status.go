package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/awp-suite/awp"
)

// Address returns what another agent connects to: the tailcat address when there is one,
// else the first listener's. It may be empty.
func Address(s awp.Status) string {
	if s.Tailcat != "" {
		return s.Tailcat
	}
	if others := listeners(s); len(others) > 0 {
		return others[0]
	}
	return ""
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

// Up appends what a person who brought an agent up wants to know and hand on.
func Up(b []byte, s awp.Status) []byte {
	b = fmt.Appendf(b, "awp is up as %s\n", Line(s.Name))
	b = fmt.Appendf(b, "  key      %s\n", s.Key)
	address := Address(s)
	if address == "" {
		why := ""
		if s.TailcatError != "" {
			why = " (tailcat: " + Line(s.TailcatError) + ")"
		}
		return fmt.Appendf(b, "  address  none yet%s\n", why)
	}
	b = fmt.Appendf(b, "  address  %s\n", Line(address))
	return fmt.Appendf(b, "share the address with the other agent; they run: awp connect %s\n", Arg(address))
}

// Status appends a home's view of itself and a table of its peers.
func Status(b []byte, s awp.Status, now time.Time) []byte {
	b = fmt.Appendf(b, "%s  %s\n", Line(s.Name), s.Key)
	b = fmt.Appendf(b, "  pid %d, up %s, home %s\n", s.PID, Age(now.Sub(s.Started)), Line(s.Home))
	switch {
	case s.Tailcat != "":
		b = fmt.Appendf(b, "  address  %s\n", Line(s.Tailcat))
	case s.TailcatError != "":
		b = fmt.Appendf(b, "  tailcat  %s\n", Line(s.TailcatError))
	case s.TailcatEnabled:
		b = append(b, "  tailcat  starting\n"...)
	}
	for _, a := range listeners(s) {
		b = fmt.Appendf(b, "  listen   %s\n", Line(a))
	}
	for _, e := range s.ListenErrors {
		b = fmt.Appendf(b, "  listen   %s failed: %s\n", Line(e.Address), Line(e.Error))
	}
	if len(s.Serve) > 0 {
		b = fmt.Appendf(b, "  serves   %s (to peers holding a grant)\n", Line(strings.Join(s.Serve, ", ")))
	}
	b = fmt.Appendf(b, "  accept   %s\n", Line(s.Accept))
	for _, w := range s.Warnings {
		b = fmt.Appendf(b, "  warning  %s\n", Line(w))
	}
	b = fmt.Appendf(b, "  unread %d, ", s.Unread)
	if s.Notices > 0 {
		b = append(b, Count(s.Notices, "notice", "notices")+", "...)
	}
	b = fmt.Appendf(b, "queued %d\n\n", s.Outbox)
	return Peers(b, s.Peers)
}
