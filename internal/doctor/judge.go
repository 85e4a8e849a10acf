package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/awp-suite/awp"
)

// Names of the checks, in order.
const (
	Programs = "programs"
	Home     = "home"
	Sockets  = "socket"
	Daemon   = "daemon"
	Store    = "store"
	Disk     = "disk"
	Clock    = "clock"
	Relay    = "relay"
	Address  = "address"
	Peers    = "peers"
	Peer     = "peer"
)

// Judge returns what the facts mean.
func Judge(f Facts) awp.Diagnosis {
	var j judge
	j.programs(f)
	j.place(f)
	j.daemon(f)
	j.store(f)
	j.disk(f)
	j.clock(f)
	j.relay(f)
	j.address(f)
	j.peers(f)
	d := awp.Diagnosis{OK: true, Checks: j.checks, Skipped: j.skipped}
	for i := range d.Checks {
		c := &d.Checks[i]
		c.Detail, c.Fix = scrub(c.Detail), scrub(c.Fix)
		d.OK = d.OK && c.Status != awp.CheckFail
	}
	return d
}

// scrub strikes out tailcat addresses and keys: whatever made the sentence, it may be
// pasted anywhere.
func scrub(text string) string {
	if !strings.Contains(text, "tc") { // nearly always: a pattern costs more to make than to use
		return text
	}
	return regexp.MustCompile(`\btc[A-Za-z0-9_-]{30,}`).ReplaceAllString(text, "tc…")
}

// judge gathers checks.
type judge struct {
	checks  []awp.Check
	skipped []string
}

func (j *judge) ok(name, format string, args ...any) {
	j.add(name, awp.CheckOK, "", format, args...)
}

func (j *judge) warn(name, fix, format string, args ...any) {
	j.add(name, awp.CheckWarn, fix, format, args...)
}

func (j *judge) fail(name, fix, format string, args ...any) {
	j.add(name, awp.CheckFail, fix, format, args...)
}

func (j *judge) add(name, status, fix, format string, args ...any) {
	j.checks = append(j.checks, awp.Check{Name: name, Status: status, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

func (j *judge) skip(name string) { j.skipped = append(j.skipped, name) }

// spoiled reports whether a check of this name found something.
func (j *judge) spoiled(name string) bool {
	return slices.ContainsFunc(j.checks, func(c awp.Check) bool { return c.Name == name && c.Status != awp.CheckOK })
}

// fixOr is the hint that came with the words, or else what usually helps.
func fixOr(w Words, usual string) string {
	if w.Hint != "" {
		return w.Hint
	}
	return usual
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// size spells bytes.
func size(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
