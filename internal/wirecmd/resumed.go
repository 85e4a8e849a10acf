package wirecmd

import (
	"context"
	"time"

	"github.com/awp-suite/awp/internal/link"
)

// How a sleep of the machine is noticed: the clock on the wall went on and ours did not.
const (
	sleepLook = 2 * time.Second
	sleepMin  = 5 * time.Second // less may be a clock that was set
)

// watchSleep has everything looked at anew after the machine slept. Peers gave up on us
// meanwhile, networks changed, and nothing else would tell: a timer that was set before
// the sleep fires late by as much as that took.
func (d *daemon) watchSleep(ctx context.Context) {
	for before := time.Now(); pause(ctx, sleepLook); {
		now := time.Now()
		if slept := now.Round(0).Sub(before.Round(0)) - now.Sub(before); slept > sleepMin {
			d.log.Info("the machine slept", "seconds", int(slept.Seconds()))
			d.hurry()
		}
		before = now
	}
}

// hurry has links tested and loops dial now: the network may be another one.
func (d *daemon) hurry() {
	d.mu.Lock()
	s := d.session
	d.mu.Unlock()
	if s == nil {
		return // the next one begins anew anyhow
	}
	s.mu.Lock()
	for _, c := range s.links {
		c.box.post(link.Doubt{})
	}
	s.mu.Unlock()
	s.dialer.hurry()
}
