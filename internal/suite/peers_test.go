package suite

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/daemoncmd"
	"github.com/awp-suite/awp/ipc"
)

// parted reports nothing once h has no link with the peer.
func (h *home) parted(other awp.Key) error {
	p, err := h.peer(other)
	if err == nil && p.Connected {
		err = fmt.Errorf("%s is connected to %s", h.name, other.Short())
	}
	return err
}

// events returns what the home's log has, while the daemon runs.
func (h *home) events() (list []awp.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	err = daemoncmd.Retry(ctx, h.dir, ipc.StoreSocket, func(ctx context.Context, c *ipc.Conn) error {
		list = nil
		_, err := ipc.Read.Call(ctx, c, ipc.ReadParams{Last: 10000}, func(e awp.Event) error {
			list = append(list, e)
			return nil
		})
		return err
	})
	return list, err
}

// links counts the links that the log says are up.
func (h *home) links() (n int, err error) {
	events, err := h.events()
	for _, e := range events {
		switch e.Type {
		case "connected":
			n++
		case "disconnected":
			n--
		}
	}
	return n, err
}

// wireServes waits until a new awp-wire of h answers.
func (h *home) wireServes(not int) {
	h.t.Helper()
	eventually(h.t, 10*time.Second, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, err := ipc.Dial(ctx, h.dir, ipc.WireSocket, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		go c.Run() //nolint:errcheck // the call says it
		who, err := ipc.Ready.Call(ctx, c, ipc.None{})
		if err == nil && who.PID == not {
			err = errors.New("the old one still answers")
		}
		return err
	})
}

func TestByeParksUntilThereIsNews(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	keyA, keyB := join(t, a, b)
	first := get[awp.Sent](a, "send", "bob", "an open thread", "--wait-ack", "30s")
	a.ok("bye", "bob", "--reason", "enough")
	for h, other := range map[*home]awp.Key{a: keyB, b: keyA} {
		eventually(t, 5*time.Second, func() error { return h.parted(other) })
		if p, err := h.peer(other); err != nil || !p.Parked {
			t.Errorf("%s has not parked the peer: %+v %v", h.name, p, err)
		}
	}
	if out := b.ok("tail", "--once"); !strings.Contains(out, "enough") {
		t.Errorf("bob's inbox does not say why:\n%s", out)
	}
	// The open thread is no reason to dial, not even for programs that start anew.
	a.wireServes(a.kill("awp-wire"))
	a.ok("down")
	a.ok("up")
	if p, err := a.peer(keyB); err != nil || p.Connected || p.Dialing || !p.Parked {
		t.Errorf("after a restart: %+v %v", p, err)
	}
	// News is.
	again := get[awp.Sent](a, "send", "--thread", string(first.Th), "one thing more", "--wait-ack", "30s")
	if !again.Acked {
		t.Errorf("news did not arrive: %+v", again)
	}
	check(t, b.linked(keyA))
}

// The side that was dialed has news while its dialer is away: the news is there when the
// dialer is back.
func TestLinkComesBackAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(a, b *home) *home{
		"of the dialer":   func(a, b *home) *home { return a },
		"of the listener": func(a, b *home) *home { return b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newPair(t, tcpAddr)
			keyA, keyB := join(t, a, b)
			th := get[awp.Sent](a, "send", "bob", "an open thread", "--wait-ack", "30s").Th
			h := restart(a, b)
			other, key := b, keyA
			if h == b {
				other, key = a, keyB
			}
			h.ok("down")
			eventually(t, 5*time.Second, func() error { return other.parted(key) })
			other.ok("send", "--thread", string(th), "news")
			h.ok("up")
			eventually(t, 30*time.Second, other.settled)
			check(t, other.linked(key))
		})
	}
}

func TestSimultaneousDialsMakeOneLink(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	keyA, keyB := a.key(), b.key()
	for i := range rounds(20) {
		var both sync.WaitGroup
		both.Go(func() { a.ok("connect", b.addr) })
		both.Go(func() { b.ok("connect", a.addr) })
		both.Wait()
		eventually(t, 10*time.Second, func() error {
			pa, errA := a.peer(keyB)
			pb, errB := b.peer(keyA)
			na, errC := a.links()
			nb, errD := b.links()
			if err := errors.Join(errA, errB, errC, errD); err != nil {
				return err
			}
			if na != 1 || nb != 1 || !pa.Connected || !pb.Connected || pa.Outbound == pb.Outbound {
				return fmt.Errorf("round %d: alice has %d links (outbound %v), bob %d (outbound %v)", i, na, pa.Outbound, nb, pb.Outbound)
			}
			return nil
		})
		for h, who := range map[*home]string{a: "bob", b: "alice"} {
			if sent := get[awp.Sent](h, "send", who, "over the one link", "--wait-ack", "10s"); !sent.Acked {
				t.Errorf("round %d: %s is not acknowledged", i, sent.ID)
			}
		}
		a.ok("bye", "bob")
		eventually(t, 10*time.Second, func() error { return errors.Join(a.parted(keyB), b.parted(keyA)) })
	}
}

// A second connection of the same identity takes the place of the first.
func TestNewerConnectionReplacesTheOlder(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	twin := newHome(t, "alice", nil)
	a.ok("up")
	a.ok("down")
	if out, err := exec.Command("cp", a.dir+"/identity.json", twin.dir+"/identity.json").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	keyA, keyB := join(t, a, b)
	twin.ok("connect", b.addr)
	eventually(t, 10*time.Second, func() error { return a.parted(keyB) })
	check(t, twin.linked(keyB))
	check(t, b.linked(keyA))
	if n, err := b.links(); n != 1 {
		t.Errorf("bob has %d links, %v", n, err)
	}
	events, err := b.events()
	check(t, err)
	var last awp.Event
	for _, e := range events {
		if e.Type == "disconnected" {
			last = e
		}
	}
	if !bytes.Contains(last.Meta, []byte("replaced by a newer connection")) {
		t.Errorf("bob's log says %s", must(json.Marshal(last)))
	}
}

// A peer that stands still is dropped, and goes on where it was when it moves again.
func TestStoppedPeer(t *testing.T) {
	t.Parallel()
	set := settings{"ping_interval": "300ms"}
	a, b := newHome(t, "alice", set), newHome(t, "bob", set)
	k := startTalk(t, newRand(t), a, b, 2)
	keyB := b.key()
	for range rounds(3) {
		pid := b.signal("awp-wire", syscall.SIGSTOP)
		if pid == 0 {
			t.Fatal("bob has no awp-wire")
		}
		eventually(t, 10*time.Second, func() error { return a.parted(keyB) })
		syscall.Kill(pid, syscall.SIGCONT)
		eventually(t, 60*time.Second, func() error { return a.linked(keyB) })
	}
	k.finish(settleWithin)
	k.exact()
}
