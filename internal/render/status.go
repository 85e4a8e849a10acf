package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/awp-suite/awp"
)

// Up appends what a person who brought an agent up wants to know and hand on.
func Up(b []byte, s awp.Status) []byte {
	b = fmt.Appendf(b, "awp is up as %s\n", Line(s.Name))
	b = fmt.Appendf(b, "  key      %s\n", s.Key)
	address := Address(s)
	switch {
	case address != "":
		b = fmt.Appendf(b, "  address  %s\n", Line(address))
	case s.WireAway:
		return append(b, "  address  unknown; "+wireAway+"\n"...)
	case nowhere(s):
		return append(b, "  address  none; "+listensNowhere+"\n"...)
	case s.TailcatError != "":
		b = fmt.Appendf(b, "  address  none yet (tailcat: %s)\n", Line(s.TailcatError))
	default:
		b = append(b, "  address  none yet\n"...)
	}
	for _, e := range s.ListenErrors {
		b = append(b, "  listen   "+failed(e)+"\n"...)
	}
	if len(s.ListenErrors) > 0 {
		b = append(b, "awp keeps trying to listen there; to listen elsewhere: awp down, then awp up --listen ADDR\n"...)
	}
	if instead := Wildcard(address); instead != "" {
		return append(b, instead+"\n"...)
	}
	if address == "" {
		return b
	}
	return fmt.Appendf(b, "share the address with the other agent; they run: awp connect %s\n", Arg(address))
}

// Status appends a home's view of itself and a table of its peers.
func Status(b []byte, s awp.Status, now time.Time) []byte {
	b = fmt.Appendf(b, "%s  %s\n", Line(s.Name), s.Key)
	b = fmt.Appendf(b, "  pid %d, up %s, home %s\n", s.PID, Age(now.Sub(s.Started)), Line(s.Home))
	switch {
	case s.WireAway:
		b = append(b, "  listen   unknown; "+wireAway+"\n"...)
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
		b = append(b, "  listen   "+failed(e)+"\n"...)
	}
	if nowhere(s) {
		b = append(b, "  listen   none; "+listensNowhere+"\n"...)
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
