package suite

import (
	"encoding/json/v2"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// settleWithin is how long two homes may take, after the last kill, until everything has
// arrived. A dialling loop may be asleep for up to a minute and a half.
const settleWithin = 100 * time.Second

// TestKill kills the programs of two homes at random moments while both sides send. In
// the end each thread is exact and in order on both sides.
func TestKill(t *testing.T) {
	for name, listen := range map[string]func() string{
		"unix": nil,
		"tcp":  tcpAddr,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := newRand(t)
			a, b := newPair(t, listen)
			k := startTalk(t, rng, a, b, 4)
			killed := newKiller(t, rng).run(rounds(30), a, b)
			k.finish(settleWithin)
			t.Logf("%d lines, killed %v", k.said(), killed)
			k.exact()
		})
	}
}

// newPair makes two homes. listen says where they do; nil: on Unix sockets.
func newPair(t *testing.T, listen func() string) (a, b *home) {
	t.Helper()
	var homes []*home
	for _, name := range []string{"alice", "bob"} {
		set := settings{}
		if listen != nil {
			set["listen"] = listen()
		}
		homes = append(homes, newHome(t, name, set))
	}
	return homes[0], homes[1]
}

// victims are what a killer kills, by how often.
var victims = []string{
	"awp-store", "awp-store", "awp-store", "awp-store", "awp-store", "awp-store",
	"awp-wire", "awp-wire", "awp-wire", "awp-wire",
	"awp", "awp", "everything", "nothing",
}

// killer kills programs at random moments.
type killer struct {
	t      *testing.T
	rng    *rand.Rand
	starts sync.WaitGroup
	killed map[string]int
}

func newKiller(t *testing.T, rng *rand.Rand) *killer {
	return &killer{t: t, rng: rng, killed: make(map[string]int)}
}

// run kills so many times, now one and now another program of one of the homes.
func (k *killer) run(times int, homes ...*home) map[string]int {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for done := 0; done < times; {
		<-pause.C
		pause.Reset(k.pause())
		h := homes[k.rng.IntN(len(homes))]
		victim := victims[k.rng.IntN(len(victims))]
		switch victim {
		case "everything":
			for _, program := range []string{"awp-store", "awp-wire", "awp"} {
				h.kill(program)
			}
		case "nothing": // it is closed in order
			h.ok("down")
		default:
			if h.kill(victim) == 0 {
				continue // it is being restarted
			}
		}
		done++
		k.killed[victim]++
		if h.pid("awp") == 0 && k.rng.IntN(2) == 0 { // else whoever sends next starts it
			k.starts.Go(func() { h.awp("up") })
		}
	}
	k.starts.Wait()
	return k.killed
}

// pause is mostly long enough for links to be up and busy, sometimes so short that the
// next kill meets programs that start.
func (k *killer) pause() time.Duration {
	if k.rng.IntN(3) == 0 {
		return time.Duration(k.rng.IntN(60)) * time.Millisecond
	}
	return time.Duration(100+k.rng.IntN(700)) * time.Millisecond
}

// TestKillWhileReading kills the programs of a home whose agent reads its messages one
// look at a time. Each message is shown, and shown before it counts as read.
func TestKillWhileReading(t *testing.T) {
	t.Parallel()
	rng := newRand(t)
	a, b := newPair(t, nil)
	k := startTalk(t, rng, a, b, 2)
	shown := make(map[awp.MessageID]bool)
	look := func() result {
		r := b.awp("tail", "--once", "--json")
		for line := range strings.Lines(r.out) {
			var e awp.Event
			if err := json.Unmarshal([]byte(line), &e); err == nil { // else it was cut off
				shown[e.ID] = true
			}
		}
		return r
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				look()
			}
		}
	})
	killed := newKiller(t, rng).run(rounds(20), b)
	k.finish(settleWithin)
	close(stop)
	reader.Wait()
	for look().out != "" { // a look shows a thousand
	}
	t.Logf("%d lines, killed %v", k.said(), killed)
	for _, v := range k.voices {
		if v.h != a {
			continue
		}
		for _, id := range v.said {
			if !shown[id] {
				t.Errorf("%s was marked as read and never shown", id)
			}
		}
	}
	k.read = b
	k.exact()
}

// A home whose very first start is killed, at any moment, starts as if nothing had been,
// and is the same agent from the first key on.
func TestKillAtFirstStart(t *testing.T) {
	rng := newRand(t)
	for range rounds(12) {
		victim := []string{"awp", "awp-store", "awp-wire"}[rng.IntN(3)]
		after := time.Duration(rng.IntN(60)) * time.Millisecond
		t.Run("", func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "alice", nil)
			up := h.inBackground("up")
			eventually(t, 10*time.Second, func() error {
				if h.pid(victim) == 0 {
					return errors.New("not started yet")
				}
				return nil
			})
			<-time.After(after)
			text, _ := os.ReadFile(filepath.Join(h.dir, "identity.json"))
			h.kill(victim)
			<-up
			key := h.key()
			if text != nil && !strings.Contains(string(text), key.String()) {
				t.Errorf("it was %s and is %s", text, key)
			}
		})
	}
}
