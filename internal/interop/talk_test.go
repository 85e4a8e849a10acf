package interop

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// side is one of the two implementations in use.
type side interface {
	start() (key string)
	address() string
	dial(address string) error
	send(peer, th, text string, files ...string) said
	state(peer, th, state string) said
	met(peer string) error
	outbox() int
	heard(peer string) []heard
	kill(choice int) string
	revive()
}

// said is a message or a state that a side sent.
type said struct {
	id, th, text string
	files        []string
}

// heard is one that a side has, with the files that are complete.
type heard struct {
	id, th, text string
	files        iter.Seq[string]
}

// text returns a line's text, or its state.
func text(t testing.TB, raw []byte) (text string) {
	t.Helper()
	var line struct {
		State string `json:"state"`
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	}
	check(t, json.Unmarshal(raw, &line))
	for _, part := range line.Parts {
		text += part.Text
	}
	return text + line.State
}

// pair is two sides that talk.
type pair struct {
	t    *testing.T
	side [2]side // ours, theirs
	key  [2]string
	mu   sync.Mutex
	said [2][]said
}

// newPair starts both sides; the dialer dials the other.
func newPair(t *testing.T, transport string, dialer int) *pair {
	t.Helper()
	needPython(t)
	t.Parallel()
	p := &pair{t: t, side: [2]side{newOurs(t, transport), newTheirs(t, transport)}}
	for i, s := range p.side {
		p.key[i] = s.start()
	}
	eventually(t, commandWithin, func() error { return p.side[dialer].dial(p.side[1-dialer].address()) })
	for i, s := range p.side {
		eventually(t, commandWithin, func() error { return s.met(p.key[1-i]) })
	}
	return p
}

func (p *pair) note(i int, s said) said {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said[i] = append(p.said[i], s)
	return s
}

func (p *pair) send(i int, th, text string, files ...string) said {
	p.t.Helper()
	return p.note(i, p.side[i].send(p.key[1-i], th, text, files...))
}

func (p *pair) state(i int, th, state string) said {
	p.t.Helper()
	return p.note(i, p.side[i].state(p.key[1-i], th, state))
}

// file makes a file of some bytes.
func (p *pair) file(rng *rand.Rand, size int) string {
	p.t.Helper()
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	path := filepath.Join(p.t.TempDir(), "data.bin")
	check(p.t, os.WriteFile(path, data, 0o600))
	return path
}

// settle waits until neither side has anything to send.
func (p *pair) settle() {
	p.t.Helper()
	eventually(p.t, settleWithin, func() error {
		for i, s := range p.side {
			if n := s.outbox(); n > 0 {
				return fmt.Errorf("%d lines in the outbox of %s", n, []string{"ours", "theirs"}[i])
			}
		}
		return nil
	})
}

// exact checks that each side has everything that the other said, once, in the order of
// its threads, and the files byte for byte.
func (p *pair) exact() {
	p.t.Helper()
	for i := range p.side {
		have := make(map[string][]heard)
		n := 0
		for _, h := range p.side[1-i].heard(p.key[i]) {
			have[h.th] = append(have[h.th], h)
			n++
		}
		if n != len(p.said[i]) {
			p.t.Errorf("side %d said %d lines, the other has %d", i, len(p.said[i]), n)
		}
		next := make(map[string]int)
		for _, s := range p.said[i] {
			at := next[s.th]
			next[s.th]++
			if at >= len(have[s.th]) {
				p.t.Errorf("side %d: %s %q did not arrive", i, s.id, s.text)
				continue
			}
			h := have[s.th][at]
			if h.id != s.id || h.text != s.text {
				p.t.Errorf("side %d: %s %q is where %s %q belongs", i, h.id, h.text, s.id, s.text)
			}
			got := slices.Collect(h.files)
			if len(got) != len(s.files) {
				p.t.Errorf("side %d: %s has files %v, not %v", i, s.id, got, s.files)
				continue
			}
			for j, path := range got { // one a message
				p.same(s.files[j], path)
			}
		}
	}
}

func (p *pair) same(a, b string) {
	p.t.Helper()
	x, err := os.ReadFile(a)
	check(p.t, err)
	y, err := os.ReadFile(b)
	if err != nil || !bytes.Equal(x, y) {
		p.t.Errorf("%s is not the same as %s: %v", b, a, err)
	}
}

// cells are the ways to meet: over what, and who dials.
func cells(t *testing.T, fn func(t *testing.T, transport string, dialer int)) {
	for _, transport := range []string{"unix", "tcp"} {
		for dialer, who := range []string{"ours", "theirs"} {
			t.Run(transport+", "+who+" dials", func(t *testing.T) { fn(t, transport, dialer) })
		}
	}
}

// Messages, states and files, both ways, over each transport, whoever dials.
func TestTalk(t *testing.T) {
	cells(t, func(t *testing.T, transport string, dialer int) {
		p := newPair(t, transport, dialer)
		rng := newRand(t)
		for i := range p.side {
			th := p.send(i, "", "é \"quoted\" \\ <&> \u2028 \u007f 漢字 🙂").th
			for n := range 4 {
				p.send(i, th, fmt.Sprintf("%d of side %d", n, i))
			}
			p.state(i, th, "working")
			p.send(i, th, "a file", p.file(rng, 2_000_000))
			p.send(i, th, "an empty file", p.file(rng, 0))
			p.send(i, th, "a file of two chunks exactly", p.file(rng, 2*262_144))
			p.settle()
			p.send(1-i, th, "an answer")
			p.state(1-i, th, "done")
		}
		p.settle()
		p.exact()
	})
}

// What a side gets twice it keeps once, and acknowledges again.
func TestDuplicates(t *testing.T) {
	for _, faults := range [][]string{{"repeats"}, {"mute", "forgets"}} {
		t.Run(fmt.Sprint(faults), func(t *testing.T) {
			p := newPair(t, "unix", 1)
			rng := newRand(t)
			peer := p.side[1].(*theirs)
			restart := func(faults []string) {
				peer.kill(0)
				peer.faults = faults
				peer.revive()
			}
			restart(faults)
			th := p.send(0, "", "first").th
			for n := range 5 {
				for i := range p.side {
					p.send(i, th, fmt.Sprintf("%d of side %d", n, i))
				}
			}
			p.send(0, th, "a file", p.file(rng, 600_000))
			p.send(1, th, "a file", p.file(rng, 600_000))
			for range 2 {
				eventually(t, settleWithin, func() error { // all of it is there, for the first or the next time
					for i, s := range p.side {
						if n := len(s.heard(p.key[1-i])); n != len(p.said[1-i]) {
							return fmt.Errorf("side %d has %d lines, not %d", i, n, len(p.said[1-i]))
						}
					}
					return nil
				})
				restart(faults)
			}
			restart([]string{"forgets"})
			p.settle()
			p.exact()
		})
	}
}

// Both sides are killed while both send. In the end each has everything once and in order.
func TestKill(t *testing.T) {
	for transport, dialer := range map[string]int{"unix": 0, "tcp": 1} {
		t.Run(transport, func(t *testing.T) {
			p := newPair(t, transport, dialer)
			rng := newRand(t)
			big := []string{p.file(rng, 2_000_000), p.file(rng, 2_000_000)}
			var talking sync.WaitGroup
			stop := make(chan struct{})
			for _, i := range []int{0, 1, 1, 1} { // Python's commands are slower to start
				talking.Go(func() { p.talk(i, big[i], stop) })
			}
			killed := map[string]int{}
			pause := time.NewTimer(0)
			defer pause.Stop()
			for range rounds(16) {
				<-pause.C
				pause.Reset(time.Duration(100+rng.IntN(1200)) * time.Millisecond)
				s := p.side[rng.IntN(2)]
				killed[s.kill(rng.IntN(5))]++
				if rng.IntN(3) == 0 {
					<-time.After(time.Duration(rng.IntN(1000)) * time.Millisecond) // the other side notices
				}
				s.revive()
			}
			close(stop)
			talking.Wait()
			p.settle()
			t.Logf("%d and %d lines, killed %v", len(p.said[0]), len(p.said[1]), killed)
			p.exact()
		})
	}
}

// talk says one line after another in a thread of its own, until told to stop.
func (p *pair) talk(i int, file string, stop <-chan struct{}) {
	th := p.send(i, "", "first").th
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		switch text := fmt.Sprintf("%d of side %d", n, i); n % 8 {
		case 3:
			p.send(i, th, text, file)
		case 6:
			p.state(i, th, fmt.Sprintf("state%d", n))
		default:
			p.send(i, th, text)
		}
	}
}
