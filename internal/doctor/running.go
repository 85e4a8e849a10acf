package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/awp-suite/awp"
)

// How far stamps may lie ahead of the clock. After a crash ids go on a few seconds ahead
// of it, by design.
const clockSlack = 30 * time.Second

// noEarlier is a time at which no release of the suite existed: a clock before it was
// never set.
var noEarlier = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// daemon: the supervisor, and whether each program behind it answers.
func (j *judge) daemon(f Facts) {
	log := f.Home + "/daemon.log"
	if p := f.Place; p != nil && p.Trouble.Said != "" && !f.Store.Answered() {
		j.skip(Daemon) // it cannot run there
		return
	}
	if !f.Store.Answered() && f.Store.Code == awp.Unreachable && f.PID == 0 {
		if f.Place != nil && f.Place.Settings.Said != "" {
			j.fail(Daemon, "correct the settings first, then: awp up", "it does not run, and cannot with these settings")
			return
		}
		if f.Last.Said != "" {
			j.fail(Daemon, fixOr(f.Last, "read "+log)+"; then: awp up", "it does not run, and the last start or run ended with: %s", f.Last.Said)
			return
		}
		j.fail(Daemon, "awp up", "it does not run")
		return
	}
	for _, a := range []Answer{f.Store, f.Wire} {
		if a.Answered() || a.Code == awp.Skew {
			continue
		}
		if a.Code == awp.Unreachable && f.PID != 0 {
			j.fail(Daemon, "awp down, then awp up", "it runs (pid %d), but nobody serves the socket of %s", f.PID, a.Program)
			continue
		}
		if f.Last.Said != "" {
			j.fail(Daemon, fixOr(f.Last, "read "+log)+"; then: awp down, awp up", "%s: %s; its last words: %s", a.Program, a.Said, f.Last.Said)
			continue
		}
		j.fail(Daemon, fixOr(a.Words, "read "+log+"; then: awp down, awp up"), "%s: %s", a.Program, a.Said)
	}
	if j.spoiled(Daemon) {
		return
	}
	if f.PID == 0 {
		j.ok(Daemon, "its programs answer (pids %d, %d); who started them is not ours to see", f.Store.PID, f.Wire.PID)
		return
	}
	j.ok(Daemon, "it runs (pid %d), and its programs answer", f.PID)
}

// store: is what is on disk whole?
func (j *judge) store(f Facts) {
	h := f.Health
	damaged := h != nil && len(h.Problems) > 0
	switch {
	case f.Store.Answered() && f.Asked.Said != "" && !damaged:
		j.fail(Store, fixOr(f.Asked, "read "+f.Home+"/daemon.log; then: awp down, awp up"), "awp-store: %s", f.Asked.Said)
		return
	case h == nil:
		j.skip(Store)
		return
	}
	switch n := len(h.Problems); {
	case n > 0:
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" (and %d more)", n-1)
		}
		j.fail(Store, "awp down, keep a copy of "+f.Home+", and restore awp.db from a backup", "the database is damaged: %s%s", h.Problems[0], more)
	case h.Cut:
		j.warn(Store, longer(f.Within), "the database (%s) was not looked through within %v; no damage in what was", size(uint64(max(0, h.Size))), f.Within)
	default:
		j.ok(Store, "the database (%s) is whole%s", size(uint64(max(0, h.Size))), slow(h.Took))
	}
}

// mostWithin is the longest look at the database that awp-store grants.
const mostWithin = 10 * time.Minute

// longer says how a look at the database gets to its end.
func longer(within time.Duration) string {
	if within >= mostWithin {
		return "ask again when the disk has less to do"
	}
	return fmt.Sprintf("give it longer: awp doctor --within %v", min(10*within, mostWithin))
}

// slow says how long something took, where that was long.
func slow(took time.Duration) string {
	if took < time.Second {
		return ""
	}
	return fmt.Sprintf("; it took %v to look it through", took.Round(time.Second))
}

// clock: against what it said before, and against what peers say.
func (j *judge) clock(f Facts) {
	const set = "set the clock, or let the system do it; see: timedatectl"
	if f.Now.Before(noEarlier) {
		j.fail(Clock, set, "it says %s, which is before this program was made", f.Now.UTC().Format(time.RFC3339))
		return
	}
	h := f.Health
	if h == nil {
		j.ok(Clock, "it says %s", f.Now.UTC().Format(time.RFC3339))
		return
	}
	latest := h.Newest
	if h.Lease.After(latest) {
		latest = h.Lease
	}
	if by := latest.Sub(h.Now); by > clockSlack {
		j.warn(Clock, set, "it went back: this home has stamps that are %v ahead of it; order is kept, ages are off", by.Round(time.Second))
	}
	switch n := len(h.Ahead); {
	case n == 1:
		for key, by := range h.Ahead {
			j.warn(Clock, "compare the clocks of the two machines; see: timedatectl", "the clock of %s is %v ahead of ours, or ours is behind", f.label(key), by.Round(time.Second))
		}
	case n > 1:
		j.warn(Clock, set, "the clocks of %d peers are ahead of ours: ours is behind, in all likelihood", n)
	}
	if !j.spoiled(Clock) {
		j.ok(Clock, "it agrees with the stamps on disk and those of peers")
	}
}

// label returns what people see for a peer.
func (f Facts) label(key awp.Key) string {
	for _, p := range f.Peers {
		if p.Key == key {
			return p.Label()
		}
	}
	return key.Short()
}

// relay: does it carry us?
func (j *judge) relay(f Facts) {
	s := f.Status
	switch {
	case s == nil || s.WireAway:
		j.skip(Relay)
	case !s.TailcatEnabled:
		j.ok(Relay, "none is needed: this home does not listen on tailcat")
	case s.TailcatError != "":
		why, hint := splitHint(s.TailcatError)
		j.fail(Relay, fixOr(Words{Hint: hint}, "is there a network? a relay of your own: doc/guides/own-relay.md"), "%s", why)
	case s.Tailcat == "":
		j.warn(Relay, "wait a moment, then again: awp doctor", "it has not answered yet")
	default:
		j.ok(Relay, "it answered when this home last knocked at its own address")
	}
}

// splitHint takes the hint off a sentence of awp-wire's, which has it at its end in
// brackets.
func splitHint(text string) (said, hint string) {
	if said, rest, ok := strings.Cut(text, " ("); ok && strings.HasSuffix(rest, ")") {
		return said, strings.TrimSuffix(rest, ")")
	}
	return text, ""
}

// address: can peers dial this home?
func (j *judge) address(f Facts) {
	s := f.Status
	switch {
	case s == nil, s.WireAway && !f.Wire.Answered(): // what keeps awp-wire is said already
		j.skip(Address)
		return
	case s.WireAway:
		j.fail(Address, "read "+f.Home+"/daemon.log; if it stays away: awp down, awp up", "awp-wire is away: it starts, or the daemon is about to start it again")
		return
	}
	for _, e := range s.ListenErrors {
		j.fail(Address, "it is tried again by itself; elsewhere: awp down, then awp up --listen ADDR", "%s: %s", e.Address, e.Error)
	}
	if s.TailcatEnabled && s.Tailcat == "" {
		j.warn(Address, "see the check of the relay", "no tailcat address yet")
	}
	if s.TailcatEnabled && f.Offload != "" {
		j.warn(Address, "unset it; then: awp down, awp up", "%s switches UDP segmentation offload on: where a link on the way takes less than 1360 bytes, large files stall in the tunnel", f.Offload)
	}
	switch n := len(s.Addresses); {
	case n > 0:
		j.ok(Address, "this home listens at %s", count(n, "address", "addresses"))
	case !j.spoiled(Address):
		j.ok(Address, "this home listens nowhere, as its settings say: peers cannot dial it, it can dial them")
	}
}
