package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

func TestWait(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	join(t, a, b)
	th := string(get[awp.Sent](a, "send", "bob", "the task", "--wait-ack", "30s").Th)
	if r := b.awp("wait", "--timeout", "5s"); r.exit != 0 || !strings.Contains(r.out, "the task") {
		t.Errorf("what is there ends a wait at once: %v", r)
	}
	if r := b.awp("wait", "--timeout", "200ms"); r.exit != 2 || !strings.Contains(r.out, "nothing new") {
		t.Errorf("a wait for nothing: %v", r)
	}

	waiting := b.inBackground("wait", "--thread", th)
	b.ok("send", "--thread", th, "my own does not end it", "--wait-ack", "30s")
	a.ok("send", "--thread", th, "the answer", "--wait-ack", "30s")
	if r := <-waiting; r.exit != 0 || !strings.Contains(r.out, "the answer") {
		t.Errorf("a wait that a message ends: %v", r)
	}

	waiting = a.inBackground("wait", "--thread", th, "--state", "done,failed", "--timeout", "30s")
	if r := <-waiting; r.exit != 0 || !strings.Contains(r.out, "still open") {
		t.Errorf("a message ends a wait for a state: %v", r)
	}
	waiting = a.inBackground("wait", "--thread", th, "--state", "done,failed", "--timeout", "30s")
	b.ok("state", th, "done", "--note", "all green")
	if r := <-waiting; r.exit != 0 || !strings.Contains(r.out, "done") {
		t.Errorf("a state ends a wait for it: %v", r)
	}
}

// inBackground runs a command that takes its time.
func (h *home) inBackground(args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- h.awp(args...) }()
	return done
}

// A wait outlives the store.
func TestWaitOverACrash(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	join(t, a, b)
	waiting := b.inBackground("wait", "--timeout", "50s")
	for range rounds(3) {
		gone(t, b.kill("awp-store"))
		b.ok("status")
	}
	a.ok("send", "bob", "after the crash", "--wait-ack", "30s")
	if r := <-waiting; r.exit != 0 || !strings.Contains(r.out, "after the crash") {
		t.Errorf("%v", r)
	}
}

// What was printed is marked, also for a reader that leaves after the first line.
func TestTailOnceMarksWhatItShowed(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	join(t, a, b)
	long := strings.Repeat("a line of some length\n", 5000) // more than a pipe holds
	a.ok("send", "bob", "--subject", "long", long, "--wait-ack", "30s")
	a.ok("send", "bob", "--subject", "second", "two", "--wait-ack", "30s")
	ctx, cancel := context.WithTimeout(t.Context(), commandWithin)
	defer cancel()
	tail := b.command(ctx, "tail", "--once")
	head := exec.CommandContext(ctx, "head", "-1")
	pipe, err := tail.StdoutPipe()
	check(t, err)
	head.Stdin = pipe
	check(t, tail.Start())
	first, err := head.Output()
	check(t, err)
	pipe.Close()
	if err := tail.Wait(); err != nil {
		t.Errorf("tail --once | head -1: %v", err)
	}
	if !strings.Contains(string(first), "long") {
		t.Errorf("the first line is %q", first)
	}
	if out := b.ok("tail", "--once"); out != "no unread messages\n" {
		t.Errorf("afterwards: %.200s", out)
	}
}

func TestTailFollows(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	join(t, a, b)
	ctx, cancel := context.WithTimeout(t.Context(), commandWithin)
	defer cancel()
	tail := b.command(ctx, "tail", "--mark")
	out := new(buffer)
	tail.Stdout = out
	check(t, tail.Start())
	eventually(t, 30*time.Second, func() error {
		// It does not say when it has begun, and what came before is not followed.
		a.ok("send", "bob", "followed", "--wait-ack", "30s")
		if !strings.Contains(out.String(), "followed") {
			return errors.New("nothing is printed")
		}
		return nil
	})
	a.ok("send", "bob", "the last word", "--wait-ack", "30s")
	eventually(t, 10*time.Second, func() error { // --mark
		events, err := b.events()
		for _, e := range events {
			if strings.Contains(textOf(e), "the last word") && !e.Unread && strings.Contains(out.String(), "the last word") {
				return nil
			}
		}
		return fmt.Errorf("not printed and marked: %v", err)
	})
	check(t, tail.Process.Signal(os.Interrupt))
	check(t, tail.Wait())
}

// buffer is what a command wrote so far.
type buffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
