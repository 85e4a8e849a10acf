package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// shownPeers bounds the peers that are named.
const shownPeers = 50

// peers: why is a peer not reachable? One that nothing waits for is not even dialed, and
// that is as it should be.
func (j *judge) peers(f Facts) {
	if f.Status == nil {
		j.skip(Peers)
		return
	}
	connected, idle, bad := 0, 0, 0
	for _, p := range f.Peers {
		if p.Connected {
			connected++
			continue
		}
		c := judgePeer(f, p)
		if c.Status == awp.CheckOK {
			idle++
		} else if bad++; bad <= shownPeers {
			j.checks = append(j.checks, c)
		}
	}
	if len(f.Peers) == 0 {
		j.ok(Peers, "none yet; awp connect ADDRESS brings up the first")
		return
	}
	if bad > shownPeers {
		j.warn(Peers, "awp peers lists all", "%d more are not reachable", bad-shownPeers)
	}
	if connected+idle > 0 {
		j.ok(Peers, "%d connected, %d that nothing waits for", connected, idle)
	}
}

// judgePeer says why a peer is not connected, and what would help.
func judgePeer(f Facts, p awp.Peer) awp.Check {
	c := awp.Check{Name: Peer, Status: awp.CheckOK, Peer: p.Key}
	why := lastError(p)
	switch refused := refusal(f, p); {
	case refused != "":
		c.Status = awp.CheckWarn
		c.Detail = "it was turned away here: " + refused
		c.Fix = "to let it in, add its key to policy.allow in config.json; then: awp down, awp up"
	case p.Parked && p.Outbox > 0:
		c.Status = awp.CheckWarn
		c.Detail = "one side said bye, and it is not dialed until there is something new"
		c.Fix = "awp connect " + p.Short
	case p.Parked:
		c.Detail = "one side said bye"
	case len(p.Addrs) == 0 && (p.Outbox > 0 || p.OpenThreads > 0):
		c.Status = awp.CheckWarn
		c.Detail = "no address of it is known: it has to connect to us"
		c.Fix = "ask its owner for its address, then: awp connect ADDRESS; or run awp connect there, with the address from awp address"
	case denied(why):
		c.Status = awp.CheckWarn
		c.Detail = "it turned us away: " + why
		c.Fix = "ask its owner to allow this agent's key (awp status shows it)"
	case why != "" && p.LastSeen.IsZero():
		c.Status = awp.CheckWarn
		c.Detail = "never seen, and its address does not answer: " + why
		c.Fix = "is the address right? Ask its owner for it (awp address there), then: awp connect ADDRESS"
	case why != "" && (p.Outbox > 0 || p.Dialing):
		c.Status = awp.CheckWarn
		c.Detail = "its address does not answer: " + why
		c.Fix = "is awp up there? If its address changed: awp connect ADDRESS, with what awp address prints there"
	case p.Outbox > 0:
		c.Status = awp.CheckWarn
		c.Detail = "not connected yet"
		c.Fix = "wait a moment, or: awp connect " + p.Short
	}
	if p.Outbox > 0 && c.Status != awp.CheckOK {
		if why != "" || p.Parked || len(p.Addrs) == 0 { // else it may have been queued just now
			c.Status = awp.CheckFail
		}
		c.Detail += fmt.Sprintf("; %s for it", count(p.Outbox, "line waits", "lines wait"))
	}
	if c.Status != awp.CheckOK && !p.LastSeen.IsZero() {
		c.Detail += "; last seen " + ago(f.Now.Sub(p.LastSeen))
	}
	c.Detail = p.Label() + ": " + c.Detail
	return c
}

// lastError is why the last attempt to dial a peer failed; empty where none did.
func lastError(p awp.Peer) string {
	if p.DialError != "" {
		return p.DialError
	}
	for _, a := range p.Addrs { // best first: what the best says counts
		if a.LastErr != "" {
			return a.LastErr
		}
	}
	return ""
}

func denied(why string) bool { return strings.Contains(why, "err "+string(wire.AuthFailed)) }

func refusal(f Facts, p awp.Peer) string {
	if f.Health == nil {
		return ""
	}
	return f.Health.Refused[p.Key]
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "a moment ago"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}
