package suite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/daemoncmd"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// talk is two homes that send to each other, in several threads, whatever happens to
// their programs meanwhile.
type talk struct {
	t      *testing.T
	a, b   *home
	voices []*voice
	read   *home // whose agent reads; nil: nobody does
	stop   chan struct{}
	all    sync.WaitGroup
}

// voice is one side of one thread. Everything it does is in order, one thing at a time.
type voice struct {
	h     *home
	to    awp.Key
	th    awp.ThreadID
	rng   *rand.Rand
	files bool // sends files, too

	said   []awp.MessageID // lines, in order
	texts  map[awp.MessageID]string
	sums   map[awp.MessageID][32]byte // of attached files
	state  string
	err    error          // why it gave up
	errors map[string]int // what its calls failed with before they were repeated
}

// startTalk connects the homes, a to b, begins so many threads on either side, and has
// both sides talk in all of them. The first thread carries files.
func startTalk(t *testing.T, rng *rand.Rand, a, b *home, threads int) *talk {
	t.Helper()
	k := &talk{t: t, a: a, b: b, stop: make(chan struct{})}
	keyA, keyB := join(t, a, b)
	for i := range threads {
		from, to, key := a, b, keyB
		if i%2 == 1 {
			from, to, key = b, a, keyA
		}
		opening := newVoice(from, key, "", rng)
		check(t, opening.say("opening"))
		opening.th = awp.ThreadID(opening.state)
		opening.state = "open"
		k.voices = append(k.voices, opening)
		reply := newVoice(to, from.key(), opening.th, rng)
		eventually(t, 20*time.Second, func() error {
			_, err := call(to, ipc.Resolve, ipc.ResolveParams{Thread: opening.th})
			return err
		})
		k.voices = append(k.voices, reply)
		opening.files, reply.files = i == 0, i == 0
	}
	for _, v := range k.voices {
		k.all.Go(func() { v.talk(k.stop) })
	}
	return k
}

// join starts two homes and connects the first to the second.
func join(t *testing.T, a, b *home) (keyA, keyB awp.Key) {
	t.Helper()
	keyA, keyB = a.key(), b.key()
	a.ok("connect", b.addr)
	eventually(t, 10*time.Second, func() error { return b.linked(keyA) })
	return keyA, keyB
}

func newVoice(h *home, to awp.Key, th awp.ThreadID, rng *rand.Rand) *voice {
	return &voice{
		h: h, to: to, th: th, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), state: "open",
		texts: make(map[awp.MessageID]string), sums: make(map[awp.MessageID][32]byte), errors: make(map[string]int),
	}
}

// finish lets every voice say a last word, and waits until all of it has arrived.
func (k *talk) finish(within time.Duration) {
	k.t.Helper()
	close(k.stop)
	k.all.Wait()
	for _, v := range k.voices {
		check(k.t, v.err)
		for what, n := range v.errors {
			// A daemon that is killed, or stopped, while a command starts it is an error that
			// a person sees. Once it serves, no call may fail.
			if !strings.Contains(what, "while starting") && !strings.Contains(what, "before it served") && !strings.Contains(what, "stopped while it started") {
				k.t.Errorf("%s: %d calls failed: %s", v.h.name, n, what)
			}
		}
	}
	eventually(k.t, within, k.a.settled)
	eventually(k.t, within, k.b.settled)
}

// said counts lines.
func (k *talk) said() (n int) {
	for _, v := range k.voices {
		n += len(v.said)
	}
	return n
}

func (v *voice) talk(stop <-chan struct{}) {
	pace := time.NewTimer(0)
	defer pace.Stop()
	for n := 0; v.err == nil; n++ {
		select {
		case <-stop:
			v.err = v.say("the end")
			return
		case <-pace.C:
			pace.Reset(time.Duration(v.rng.IntN(20)) * time.Millisecond)
		}
		switch {
		case v.files && v.rng.IntN(12) == 0:
			v.err = v.sendFile(n)
		case v.rng.IntN(8) == 0:
			v.err = v.report(n)
		default:
			v.err = v.say(fmt.Sprintf("%s says %d %s", v.h.name, n, filler(v.rng)))
		}
	}
}

// filler is mostly short, sometimes long: both gather differently into batches.
func filler(rng *rand.Rand) string {
	n := rng.IntN(40)
	if rng.IntN(20) == 0 {
		n = rng.IntN(60_000)
	}
	return string(make([]rune, n)) + "\"é\u2028<&>"
}

func (v *voice) say(text string) error {
	sent, err := v.send(ipc.SendPart{Kind: "text", Text: text})
	if err != nil {
		return err
	}
	v.texts[sent.ID] = text
	if v.th == "" {
		v.state = string(sent.Th)
	}
	return nil
}

// sendFile sends a file of several chunks, and changes it as soon as it is sent.
func (v *voice) sendFile(n int) error {
	data := make([]byte, v.rng.IntN(4*wire.ChunkSize))
	for i := range data {
		data[i] = byte(v.rng.Uint32())
	}
	path := filepath.Join(v.h.base, fmt.Sprintf("%d.bin", n))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	sent, err := v.send(ipc.SendPart{Kind: "file", Path: path})
	if err != nil {
		return err
	}
	v.sums[sent.ID] = sha256.Sum256(data)
	return os.WriteFile(path, []byte("changed since"), 0o600)
}

func (v *voice) report(n int) error {
	p := ipc.SetStateParams{Token: token(), Who: v.to.String(), Thread: v.th, State: []string{"working", "waiting", "odd word"}[v.rng.IntN(3)], Note: fmt.Sprint(n)}
	sent, err := insist(v, ipc.SetState, p)
	if err == nil {
		v.said = append(v.said, sent.ID)
		v.state = p.State + " " + p.Note
	}
	return err
}

func (v *voice) send(part ipc.SendPart) (ipc.SendResult, error) {
	none := int64(0)
	sent, err := insist(v, ipc.Send, ipc.SendParams{Token: token(), Who: v.to.String(), Thread: v.th, Parts: []ipc.SendPart{part}, WaitAck: &none})
	if err == nil {
		v.said = append(v.said, sent.ID)
	}
	return sent, err
}

func token() string { return string(wire.NewIDs(nil, nil).Next()) }

// insist repeats a call, with its token, until it is answered. What awp itself repeats
// is repeated without a word; what a person would see as an error is counted.
func insist[P, R any](v *voice, m ipc.Method[P, R], params P) (result R, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*commandWithin)
	defer cancel()
	for {
		err = daemoncmd.Retry(ctx, v.h.dir, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) (err error) {
			result, err = m.Call(ctx, c, params)
			return err
		})
		if err == nil || ctx.Err() != nil {
			return result, err
		}
		v.errors[fmt.Sprintf("%s: %v", awp.CodeOf(err), err)]++
	}
}
