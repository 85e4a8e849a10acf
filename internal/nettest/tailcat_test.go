//go:build linux

package nettest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json/v2"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// pair is two homes that are connected through a relay.
type pair struct {
	relay    *relay
	a, b     *home
	addressA string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	r := newRelay(t)
	p := &pair{relay: r, a: newHome(t, r.settings), b: newHome(t, r.settings)}
	p.addressA = p.a.up("--name", "a@net")
	p.b.up("--name", "b@net")
	began := time.Now()
	p.b.run("connect", p.addressA)
	t.Logf("first connect: %v", time.Since(began).Round(time.Millisecond))
	return p
}

func TestTwoHomes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.b.says("a@net", "hello over the tunnel")
	p.a.hears("hello over the tunnel")
	p.a.says("b@net", "and back")
	p.b.hears("and back")

	t.Run("a file of 50 MiB", func(t *testing.T) { sendFile(t, p.b, p.a, "a@net", 50<<20) })

	// The second crash comes within 5 s of the first, when a tie-break may favour the dead
	// link (PROTOCOL.md section 9): it must be found out.
	t.Run("awp-wire killed", func(t *testing.T) {
		for _, h := range []*home{p.a, p.b} {
			h.kill("awp-wire")
			began := time.Now()
			p.b.says("a@net", "after a crash of one")
			p.a.says("b@net", "and of the other")
			t.Logf("messages both ways: %v after the crash", time.Since(began).Round(time.Millisecond))
			p.a.hears("after a crash of one")
			p.b.hears("and of the other")
		}
		if now := p.a.up(); now != p.addressA {
			t.Error("the address changed")
		}
	})

	t.Run("relay restarted", func(t *testing.T) {
		p.relay.stop(syscall.SIGKILL)
		p.b.says("a@net", "while the relay is away") // the path is direct
		p.relay.start()
		began := time.Now()
		p.a.kill("awp-wire") // who begins anew needs the relay
		p.b.says("a@net", "after the relay came back")
		t.Logf("a new tunnel: %v after", time.Since(began).Round(time.Millisecond))
		p.a.hears("after the relay came back")
	})

	t.Run("the address lasts", func(t *testing.T) {
		p.a.run("down")
		if now := p.a.up(); now != p.addressA {
			t.Error("another address after down and up")
		}
		p.b.says("a@net", "still there?")
		p.a.run("down")
		moved := newHome(t, "")
		if err := os.CopyFS(moved.dir, os.DirFS(p.a.dir)); err != nil {
			t.Fatal(err)
		}
		if now := moved.up(); now != p.addressA {
			t.Error("another address after the home was copied")
		}
		p.b.says("a@net", "found where it moved to")
		moved.hears("found where it moved to")
	})
}

// sendFile sends n random bytes and compares what comes.
func sendFile(t *testing.T, from, to *home, peer string, n int) {
	t.Helper()
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(data) //nolint:errcheck // it never fails
	path := filepath.Join(t.TempDir(), "random.bin")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	from.run("send", peer, "a file", "--file", path, "--wait-ack", "60s")
	took := time.Since(began)
	var blobs []awp.Blob
	if err := json.Unmarshal([]byte(to.run("blobs", "--json")), &blobs); err != nil {
		t.Fatal(err)
	}
	if len(blobs) != 1 || blobs[0].Status != awp.BlobComplete {
		t.Fatalf("blobs: %+v", blobs)
	}
	got, err := os.ReadFile(blobs[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(got) != sha256.Sum256(data) {
		t.Fatal("the file that came is not the one that was sent")
	}
	t.Logf("%d MiB in %v, acknowledged: %.1f MiB/s", n>>20, took.Round(time.Millisecond), float64(n)/(1<<20)/took.Seconds())
}

// A relay that is away at the start costs a moment and its reason; the listener comes up
// by itself.
func TestRelayAway(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	r.stop(syscall.SIGTERM)
	h := newHome(t, r.settings)
	began := time.Now()
	out := h.run("up")
	took := time.Since(began)
	if !strings.Contains(out, "the relay does not answer") || took > 20*time.Second {
		t.Fatalf("up took %v and said:\n%s", took, out)
	}
	t.Logf("up without a relay: %v", took.Round(time.Millisecond))
	r.start()
	back := h.until(15*time.Second, "an address", func() bool { return h.status().Tailcat != "" })
	t.Logf("an address %v after the relay came", back.Round(time.Millisecond))

	r.stop(syscall.SIGKILL)
	lost := h.until(30*time.Second, "the loss of the relay in status", func() bool { return h.status().TailcatError != "" })
	if h.status().Tailcat == "" {
		t.Error("the address is gone with the relay")
	}
	r.start()
	found := h.until(15*time.Second, "the relay in status", func() bool { return h.status().TailcatError == "" })
	t.Logf("relay lost: in status after %v; back: after %v", lost.Round(time.Millisecond), found.Round(time.Millisecond))
}

// No network at all: the list of relays cannot be fetched.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	began := time.Now()
	out := h.run("up")
	if took := time.Since(began); !strings.Contains(out, "the list of relays cannot be fetched") || took > 20*time.Second {
		t.Fatalf("up took %v and said:\n%s", took, out)
	}
}

// A damaged tailcat.json is reported, left alone, and used again once it is mended.
func TestDamagedKeys(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	h := newHome(t, r.settings)
	address := h.up()
	h.run("down")
	good := h.read("tailcat.json")
	h.write("tailcat.json", good[:len(good)/2])
	if out := h.run("up"); !strings.Contains(out, "tailcat.json is damaged") {
		t.Fatalf("up said:\n%s", out)
	}
	if h.read("tailcat.json") != good[:len(good)/2] {
		t.Error("the damaged file was changed")
	}
	h.write("tailcat.json", good)
	h.until(15*time.Second, "the old address", func() bool { return h.status().Tailcat == address })
}

// Nothing secret gets into a log, tailcat's own included.
func TestNoSecretsInLogs(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	a, b := newHome(t, r.settings), newHome(t, r.settings)
	a.env, b.env = []string{"AWP_VERBOSE=1"}, []string{"AWP_VERBOSE=1"}
	address := a.up("--name", "a@net")
	b.up()
	b.run("connect", address)
	b.says("a@net", "psst")
	b.kill("awp-wire")
	b.says("a@net", "psst again")
	var keys map[string]any
	if err := json.Unmarshal([]byte(a.read("tailcat.json")), &keys); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*home{a, b} {
		log := h.read("daemon.log")
		if !strings.Contains(log, "magicsock") {
			t.Error("--verbose shows nothing of tailcat's own log")
		}
		for _, secret := range []string{address, keys["key"].(string), keys["preshared_key"].(string), keys["dial_key"].(string), "nodekey:", "discokey:", "fd7a:115c", "psst"} {
			if strings.Contains(log, secret) {
				t.Errorf("the log has %.12s…", secret)
			}
		}
	}
}

// The reference's own command reaches an agent: it prints the hello line, and what is
// typed is answered.
func TestPipeMode(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	h := newHome(t, r.settings)
	address := h.up("--name", "a@net")
	cmd := exec.Command(program("tailcat"), address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() }) //nolint:errcheck // the reads say it
	defer watchdog.Stop()
	lines := bufio.NewReader(out)
	hello, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(hello, `"t":"hello"`) || !strings.Contains(hello, `"name":"a@net"`) {
		t.Fatalf("got %q, %v\n%s", hello, err, errs.String())
	}
	if _, err := io.WriteString(in, `{"t":"msg","id":"1","ts":"2026-01-01T00:00:00Z","th":"x","parts":[]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(answer, `"t":"err"`) {
		t.Errorf("got %q, %v", answer, err)
	}
	in.Close()
	cmd.Wait() //nolint:errcheck // it was told an err
}
