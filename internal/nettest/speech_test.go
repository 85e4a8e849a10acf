//go:build linux

package nettest

import (
	"encoding/json/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// voice says 0, 1, 2 … in one thread to the other home.
type voice struct {
	from, to *home
	peer     string
	th       awp.ThreadID
	said     int
}

// sayEvery is the pause between two numbers.
const sayEvery = 300 * time.Millisecond

// say says the next number. It is on the speaker's disk when say returns.
func (v *voice) say() {
	args := []string{"send", v.peer, strconv.Itoa(v.said), "--wait-ack", "0", "--json"}
	if v.th != "" {
		args = append(args, "--thread", string(v.th))
	}
	var sent awp.Sent
	out, err := v.from.try(args...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &sent)
	}
	if err != nil {
		v.from.t.Errorf("say %d: %v\n%s", v.said, err, out)
		return
	}
	v.th = sent.Th
	v.said++
}

// speak has voices talk until the function it returns is called.
func speak(voices ...*voice) (stop func()) {
	var talk sync.WaitGroup
	enough := make(chan struct{})
	for _, v := range voices {
		talk.Go(func() {
			tick := time.NewTicker(sayEvery)
			defer tick.Stop()
			for {
				v.say()
				select {
				case <-tick.C:
				case <-enough:
					return
				}
			}
		})
	}
	return func() { close(enough); talk.Wait() }
}

// delivered waits until the listeners have all that was said, which their acks tell, and
// returns how long that took. Lost and late look alike until within is over.
func delivered(t *testing.T, within time.Duration, voices ...*voice) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, v := range voices {
		for v.from.status().Outbox > 0 {
			if time.Since(began) > within {
				t.Fatalf("not delivered within %v", within)
			}
			<-tick.C
		}
	}
	return time.Since(began)
}

// exact checks that the listener has each number once, and in order.
func (v *voice) exact(t *testing.T) {
	t.Helper()
	var shown struct {
		Events []awp.Event `json:"events"`
	}
	if err := json.Unmarshal([]byte(v.to.run("read", string(v.th), "--json", "-n", "100000")), &shown); err != nil {
		t.Fatal(err)
	}
	heard := 0
	for _, e := range shown.Events {
		if e.Dir != awp.In || e.Type != wire.TypeMsg {
			continue
		}
		m, err := wire.Decode[wire.Msg](e.Msg)
		if err != nil || len(m.Parts) != 1 || m.Parts[0].Text != strconv.Itoa(heard) {
			t.Fatalf("number %d that came is %s", heard, e.Msg)
		}
		heard++
	}
	if heard != v.said {
		t.Fatalf("%d numbers were said, %d came", v.said, heard)
	}
}
