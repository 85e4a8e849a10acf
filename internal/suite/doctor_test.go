package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/supervise"
)

// doctor runs awp doctor, which must end with this exit status, and returns what is not
// as it should be.
func (h *home) doctor(exit int) (found string) {
	h.t.Helper()
	r := h.awp("doctor")
	if r.exit != exit {
		h.t.Fatalf("want exit %d: %v", exit, r)
	}
	for line := range strings.Lines(r.out) {
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "warn") && !strings.Contains(line, " disk ") {
			found += line
		}
	}
	return found
}

// finds makes sure that doctor finds what the sentences say and nothing else.
func (h *home) finds(sentences ...string) {
	h.t.Helper()
	found := h.doctor(1)
	if strings.Count(found, "\n") != len(sentences) {
		h.t.Errorf("want %q:\n%s", sentences, found)
	}
	for _, s := range sentences {
		if !strings.Contains(found, s) {
			h.t.Errorf("want %q:\n%s", s, found)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	join(t, a, b)
	if found := a.doctor(0); found != "" {
		t.Errorf("two homes that are well:\n%s", found)
	}
	b.ok("down")
	b.finds("daemon    it does not run\n")
	if pid, err := supervise.Running(b.dir); pid != 0 || err != nil {
		t.Errorf("doctor started %d, %v", pid, err)
	}
	a.ok("send", "bob", "are you there?")
	eventually(t, 10*time.Second, func() error { _, err := a.deadPeer(); return err })
	a.finds("bob: its address does not answer")
}

// deadPeer returns once a dial of the peer failed.
func (h *home) deadPeer() (awp.Peer, error) {
	for _, p := range get[awp.Status](h, "status").Peers {
		if p.DialError != "" {
			return p, nil
		}
	}
	return awp.Peer{}, os.ErrNotExist
}

// A program that is stopped, as by a sandbox, is found in bounded time.
func TestDoctorFindsWhatHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes six seconds")
	}
	t.Parallel()
	h := newHome(t, "alice", nil)
	h.ok("up")
	pid := h.signal("awp-wire", syscall.SIGSTOP)
	eventually(t, 30*time.Second, func() error { // it may answer a moment longer
		began := time.Now()
		r := h.awp("doctor")
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(r.out, "FAIL  daemon    awp-wire: it does not answer within 6s\n") {
			return fmt.Errorf("awp-wire is stopped: %v", r)
		}
		return nil
	})
	check(t, syscall.Kill(pid, syscall.SIGCONT))
	if found := h.doctor(0); found != "" {
		t.Errorf("afterwards:\n%s", found)
	}
}

func TestDoctorFindsDamage(t *testing.T) {
	t.Parallel()
	h := newHome(t, "alice", nil)
	h.ok("up")
	h.ok("down")
	path := filepath.Join(h.dir, "awp.db")
	whole := must(os.ReadFile(path))
	harmed := append([]byte(nil), whole...)
	clear(harmed[3*4096 : 4*4096]) // an index or a table, whichever
	check(t, os.WriteFile(path, harmed, 0o600))
	h.awp("up") // it may stumble over the damage or not
	h.finds("store     the database is damaged: ")
	h.ok("down")
	copy(harmed, "no database at all")
	check(t, os.WriteFile(path, harmed, 0o600))
	h.fails("the database is damaged", "up")
	h.finds("the database is damaged: file is not a database")
	check(t, os.WriteFile(path, whole, 0o600))
}
