package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// smallDisk puts the home on a disk of so many bytes, which only the home's programs see:
// it is mounted in the view of one thread, from which they are started. The machine's own
// is left alone. It takes root; without, the test is skipped.
func smallDisk(t *testing.T, h *home, size int) {
	t.Helper()
	calls := make(chan func())
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := syscall.Unshare(syscall.CLONE_NEWNS)
		if err == nil {
			err = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
		}
		if err == nil {
			err = syscall.Mount("tmpfs", h.dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
		}
		ready <- err
		for fn := range calls {
			fn()
		}
	}()
	text, err := os.ReadFile(filepath.Join(h.dir, "config.json"))
	check(t, err)
	if err := <-ready; err != nil {
		close(calls)
		t.Skipf("cannot make a small disk: %v", err)
	}
	h.within = func(fn func()) {
		done := make(chan struct{})
		calls <- func() { defer close(done); fn() }
		<-done
	}
	h.write("config.json", string(text))
	h.write("test.gap", "20ms")
}

// fill takes all the room that is left on the home's disk. What it returns gives it back.
func (h *home) fill() (free func()) {
	h.t.Helper()
	path := filepath.Join(h.dir, "fill")
	var err error
	h.within(func() {
		var f *os.File
		if f, err = os.Create(path); err != nil {
			return
		}
		defer f.Close()
		for piece := 1 << 16; piece > 0; piece /= 2 {
			for err == nil {
				_, err = f.Write(make([]byte, piece))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				return
			}
			err = nil
		}
	})
	check(h.t, err)
	return func() { h.within(func() { os.Remove(path) }) }
}

// status is the home's status, by the command.
func (h *home) status() awp.Status {
	h.t.Helper()
	return get[awp.Status](h, "status")
}

// texts are the texts that a home has of a thread, in order.
func (h *home) texts(th awp.ThreadID, dir string) (list []string) {
	h.t.Helper()
	type read struct {
		Events []awp.Event `json:"events"`
	}
	for _, e := range get[read](h, "read", string(th), "--last", "1000", "--no-mark").Events {
		if e.Dir == dir && e.Type == "msg" {
			text := textOf(e)
			list = append(list, text[:strings.IndexByte(text, ' ')])
		}
	}
	return list
}

// On a full disk a send fails with a clear error, and is not sent. With room again
// everything goes on, and what was sent arrived.
func TestSenderWithAFullDisk(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	smallDisk(t, a, 32<<20)
	join(t, a, b)
	th := get[awp.Sent](a, "send", "bob", "first of all").Th
	sent := []string{"first"}
	for round := range rounds(3) {
		free := a.fill()
		full := false
		for n := 0; n < 500 && !full; n++ { // until what it had in reserve is used up
			word := fmt.Sprintf("r%dn%d", round, n)
			r := a.awp("send", "--thread", string(th), word+" "+strings.Repeat("x", 50_000), "--wait-ack", "0")
			switch {
			case r.exit == 0:
				sent = append(sent, word)
			case r.exit == 1 && strings.Contains(r.err, "disk"):
				full = true
			default:
				t.Fatalf("send on a full disk: %v", r)
			}
		}
		if !full {
			t.Fatal("the disk never was full")
		}
		if r := a.awp("send", "--thread", string(th), "a file", "--file", filepath.Join(bin, "awp")); r.exit != 1 || !strings.Contains(r.err, "disk") {
			t.Errorf("send a file on a full disk: %v", r)
		}
		if round%2 == 1 {
			a.kill("awp-store")
		}
		a.awp("read", string(th)) // may well fail, must not hang
		free()
		word := fmt.Sprintf("r%dfree", round)
		a.ok("send", "--thread", string(th), word+" again")
		sent = append(sent, word)
	}
	eventually(t, 60*time.Second, func() error {
		if n := a.status().Outbox; n > 0 {
			return fmt.Errorf("%d lines in the outbox", n)
		}
		return nil
	})
	for _, got := range [][]string{a.texts(th, awp.Out), b.texts(th, awp.In)} {
		if strings.Join(got, " ") != strings.Join(sent, " ") {
			t.Errorf("got  %v\nwant %v", got, sent)
		}
	}
}

// What comes for a full disk waits with its sender, and comes when there is room.
func TestReceiverWithAFullDisk(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	smallDisk(t, b, 32<<20)
	a.ok("up")
	b.ok("up")
	a.ok("connect", b.addr)
	th := get[awp.Sent](a, "send", "bob", "first of all", "--wait-ack", "30s").Th
	sent := []string{"first"}
	for round := range rounds(2) {
		free := b.fill()
		for n := range 60 {
			word := fmt.Sprintf("r%dn%d", round, n)
			args := []string{"send", "--thread", string(th), word + " " + strings.Repeat("x", 50_000), "--wait-ack", "0"}
			if n == 30 {
				args = append(args, "--file", filepath.Join(a.dir, "config.json"))
			}
			a.ok(args...)
			sent = append(sent, word)
		}
		if n := a.status().Outbox; n == 0 {
			t.Error("everything fitted on a full disk")
		}
		if round == 0 {
			b.kill("awp-store")
		}
		free()
		word := fmt.Sprintf("r%dfree", round)
		a.ok("send", "--thread", string(th), word+" again")
		sent = append(sent, word)
		eventually(t, 120*time.Second, a.settled)
	}
	if got := b.texts(th, awp.In); strings.Join(got, " ") != strings.Join(sent, " ") {
		t.Errorf("got  %v\nwant %v", got, sent)
	}
}
