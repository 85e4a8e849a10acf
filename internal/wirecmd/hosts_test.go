package wirecmd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// host is one home with a running awp-wire and a fake store, over real sockets.
type host struct {
	t     testing.TB
	home  string
	id    wire.Identity
	store *fakeStore
	stop  func() // awp-wire
	wire  *ipc.Conn

	stopStore func()
}

func newHost(t testing.TB, id wire.Identity, set config.Settings) *host {
	t.Helper()
	// A socket path is short, a test's directory may not be.
	home, err := os.MkdirTemp("", "awp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	h := &host{t: t, home: home, id: id, store: newFakeStore(id)}
	h.startStore()
	for i, l := range set.Listen {
		set.Listen[i] = strings.ReplaceAll(l, "HOME", home)
	}
	l, err := ipc.Listen(home, ipc.WireSocket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Home: home, Settings: set, Log: slog.New(slog.DiscardHandler)}, l)
	}()
	h.stop = sync.OnceFunc(func() {
		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("awp-wire took %v to stop", took)
		}
	})
	t.Cleanup(func() { h.stop(); h.stopStore() })
	if h.wire, err = ipc.Dial(ctx, home, ipc.WireSocket, nil); err != nil {
		t.Fatal(err)
	}
	go h.wire.Run() //nolint:errcheck // ends with awp-wire
	return h
}

// startStore serves the store's socket until stopStore.
func (h *host) startStore() {
	l, err := ipc.Listen(h.home, ipc.StoreSocket)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			c := ipc.NewConn(ctx, nc, h.store.handle)
			tasks.Go(func() { c.Run() }) //nolint:errcheck // ends with ctx
		}
	})
	h.stopStore = sync.OnceFunc(func() {
		cancel()
		l.Close()
		tasks.Wait()
	})
}

// eventually waits until ok, which what the stores hear decides.
func eventually(t testing.TB, what string, ok func() bool, stores ...*fakeStore) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-stores[0].news:
		case <-stores[len(stores)-1].news:
		case <-timeout:
			t.Fatalf("waited too long: %s", what)
		}
	}
}

func (h *host) connect(addr string) ipc.ConnectResult {
	h.t.Helper()
	r, err := ipc.Connect.Call(h.t.Context(), h.wire, ipc.ConnectParams{Addr: addr, Timeout: 10000})
	if err != nil {
		h.t.Fatalf("connect: %v", err)
	}
	return r
}

// listening returns the first address that h reported.
func (h *host) listening() string {
	var addr string
	eventually(h.t, "listening", func() bool {
		for _, c := range h.store.calls(ipc.LinkListening.Name) {
			if _, rest, ok := strings.Cut(c.params, `"addresses":["`); ok {
				addr, _, _ = strings.Cut(rest, `"`)
			}
		}
		return addr != ""
	}, h.store)
	return addr
}

// link returns the number of h's latest admitted link.
func (h *host) link() uint64 {
	var n uint64
	c := h.store.calls(ipc.LinkAdmit.Name)
	fmt.Sscanf(c[len(c)-1].params[strings.Index(c[len(c)-1].params, `"link":`):], `"link":%d`, &n)
	return n
}

func TestTwoHosts(t *testing.T) {
	for _, listen := range []string{"unix:HOME/peer.sock", "tcp:127.0.0.1:0", "tcp:[::1]:0"} {
		t.Run(listen, func(t *testing.T) {
			if strings.Contains(listen, "::1") {
				if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
					t.Skip("no IPv6 here")
				} else {
					l.Close()
				}
			}
			a := newHost(t, identity(1), config.Settings{})
			b := newHost(t, identity(2), config.Settings{Listen: []string{listen}})
			addr := b.listening()
			if r := a.connect(addr); r.Peer != b.id.Key || r.Via != addr || r.Already {
				t.Fatalf("connected to %+v", r)
			}
			eventually(t, "resume on both sides", func() bool {
				return a.store.calls(ipc.LinkResume.Name) != nil && b.store.calls(ipc.LinkResume.Name) != nil
			}, a.store, b.store)
			const n = 200
			for i := range n {
				a.store.out(a.link(), ipc.OutParams{}, fmt.Sprintf(`{"t":"msg", "id":"a%d"}`, i))
				b.store.out(b.link(), ipc.OutParams{}, fmt.Sprintf(`{"t":"msg", "id":"b%d"}`, i))
			}
			for _, to := range []struct {
				*host
				from string
			}{{a, "b"}, {b, "a"}} {
				eventually(t, "every line", func() bool { return len(to.store.linesIn()) == n }, to.store)
				for i, l := range to.store.linesIn() {
					if want := fmt.Sprintf(`{"t":"msg", "id":"%s%d"}`, to.from, i); l != want {
						t.Fatalf("line %d is %s, want %s", i, l, want)
					}
				}
			}
			// Work is left when b's store goes away: a is dialed from nowhere, but dials b.
			a.store.mu.Lock()
			ipc.LinkWant.Send(a.store.conn, ipc.Want{Peer: b.id.Key, Addrs: []ipc.DialTarget{{Addr: addr, Source: "connect"}}}) //nolint:errcheck // test
			a.store.mu.Unlock()
			b.stopStore()
			eventually(t, "link down", func() bool { return a.store.calls(ipc.LinkDown.Name) != nil }, a.store)
			b.startStore()
			eventually(t, "a second link", func() bool { return len(b.store.calls(ipc.LinkResume.Name)) >= 2 }, b.store)
			b.stop()
			eventually(t, "link down again", func() bool { return len(a.store.calls(ipc.LinkDown.Name)) >= 2 }, a.store)
		})
	}
}

func TestTailcatIsNotThere(t *testing.T) {
	h := newHost(t, identity(1), config.Settings{Listen: []string{config.ListenTailcat, "unix:HOME/p.sock", "tcp:203.0.113.7:7000"}})
	eventually(t, "a full report", func() bool {
		for _, c := range h.store.calls(ipc.LinkListening.Name) {
			if strings.Contains(c.params, `"addresses":["unix:`+h.home) && strings.Contains(c.params, `"tailcat_enabled":true`) &&
				strings.Contains(c.params, "--listen") && strings.Contains(c.params, `"address":"tcp:203.0.113.7:7000","error":"plain TCP on a public address is refused (`) {
				return true
			}
		}
		return false
	}, h.store)
}

func TestReady(t *testing.T) {
	h := newHost(t, identity(1), config.Settings{})
	r, err := ipc.Ready.Call(t.Context(), h.wire, ipc.None{})
	if err != nil || r.Program != "awp-wire" || r.Release != awp.Release || r.PID != os.Getpid() {
		t.Errorf("%+v, %v", r, err)
	}
}

// Without a store calls wait as long as they may, and say what is wrong.
func TestCallsWithoutAStore(t *testing.T) {
	h := newHost(t, identity(1), config.Settings{})
	h.stopStore()
	// A call may still meet the old session's end, and then fails for that.
	for range 100 {
		_, err := ipc.Connect.Call(t.Context(), h.wire, ipc.ConnectParams{Addr: "unix:/x", Timeout: 50})
		if awp.CodeOf(err) == awp.Unreachable && strings.Contains(err.Error(), "awp-store does not answer") {
			return
		}
	}
	t.Error("no call said that the store is away")
}

// Two homes that dial each other at once, again and again, end up with one link each.
func TestBothDial(t *testing.T) {
	a := newHost(t, identity(1), config.Settings{Listen: []string{"unix:HOME/p.sock"}})
	b := newHost(t, identity(2), config.Settings{Listen: []string{"unix:HOME/p.sock"}})
	toA, toB := a.listening(), b.listening()
	for range 5 {
		var tasks sync.WaitGroup
		tasks.Go(func() { a.connect(toB) })
		tasks.Go(func() { b.connect(toA) })
		tasks.Wait()
		open := func(h *host) int {
			return len(h.store.calls(ipc.LinkAdmit.Name)) - len(h.store.calls(ipc.LinkDown.Name))
		}
		eventually(t, "one link each", func() bool { return open(a) == 1 && open(b) == 1 }, a.store, b.store)
		a.store.out(a.link(), ipc.OutParams{Control: true, Close: true}, `{"t":"err","code":"auth","detail":"test"}`)
		eventually(t, "none", func() bool { return open(a) == 0 && open(b) == 0 }, a.store, b.store)
	}
}
