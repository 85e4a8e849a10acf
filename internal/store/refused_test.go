package store

import (
	"context"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Strangers that are refused leave no row, and one notice however many they are. It says
// who the first was, and can be read and marked like any other.
func TestRefusedStrangersLeaveNothing(t *testing.T) {
	c := newClock(time.Now())
	h := newHost(t, Settings{Accept: AcceptAllowlist, Now: c.time})
	call := func(name string) awp.Key {
		id, err := wire.NewIdentity(nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &stranger{h: h, id: id, ids: wire.NewIDs(nil, nil)}
		if a := p.admit(name); a.Refused == "" {
			t.Fatal("a stranger was admitted")
		}
		return id.Key
	}
	first := call("ann")
	for range 50 {
		call("eve")
	}
	peers, err := h.store.Peers(context.Background())
	if err != nil || len(peers) != 0 {
		t.Errorf("%d peers, %v", len(peers), err)
	}
	var seqs []int64
	notices := func() (list []awp.Event) {
		_, err := h.store.ReadUnread(context.Background(), Filter{}, 1000, func(e awp.Event) error {
			list = append(list, e)
			seqs = append(seqs, e.Seq)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := notices(); len(got) != 1 || got[0].Type != noteRefused || got[0].Peer != first || got[0].PeerName != "ann" {
		t.Fatalf("notices %+v", got)
	}
	c.step(2 * refusedEvery)
	call("eve")
	if got := notices(); len(got) != 1 {
		t.Errorf("%d notices while one is unread", len(got))
	}
	if err := h.store.Mark(context.Background(), seqs); err != nil {
		t.Fatal(err)
	}
	call("eve")
	if got := notices(); len(got) != 1 {
		t.Errorf("%d notices after the first was read", len(got))
	}
	if err := h.store.Mark(context.Background(), seqs); err != nil {
		t.Fatal(err)
	}
	call("eve")
	if got := notices(); len(got) != 0 {
		t.Errorf("%d notices within %s", len(got), refusedEvery)
	}
}

// A peer's word on where it can be dialed counts only where it can be true.
func TestDialable(t *testing.T) {
	const tunnel = "tailcat:tc0123456789012345678901234567890123456789"
	for _, tt := range []struct {
		via  string
		yes  []string
		want []string // refused
	}{
		{"unix:/run/x", []string{"unix:/y", "tcp:127.0.0.1:7", "tcp:10.0.0.1:7", tunnel}, nil},
		{"tcp:127.0.0.1:5000", []string{"unix:/y", "tcp:[::1]:7", "tcp:192.168.1.1:7", tunnel}, nil},
		{"tcp:192.168.1.5:5000", []string{"tcp:192.168.1.5:7", "tcp:10.1.1.1:7", "tcp:host.lan:7", tunnel},
			[]string{"unix:/y", "tcp:127.0.0.1:7", "tcp:[::1]:7", "tcp:[::ffff:127.0.0.1]:7", "tcp:0.0.0.0:7", "tcp:localhost:7", "tcp:a.LOCALHOST.:7", "tcp:169.254.169.254:80", "tcp:2130706433:7", "tcp:0x7f000001:7"}},
		{"tcp:8.8.8.8:5000", []string{"tcp:9.9.9.9:7", tunnel}, []string{"unix:/y", "tcp:10.0.0.1:7", "tcp:127.0.0.1:7", "tcp:100.64.1.1:7"}},
		{"tcp:[fe80::1]:5000", []string{"tcp:[fe80::1]:7"}, []string{"tcp:10.0.0.1:7"}},
		{"tailcat", []string{tunnel}, []string{"unix:/y", "tcp:127.0.0.1:7", "tcp:192.168.1.1:7", "tcp:9.9.9.9:7"}},
	} {
		for ok, addrs := range map[bool][]string{true: tt.yes, false: tt.want} {
			for _, at := range addrs {
				a, err := wire.ParseAddr(at)
				if err != nil {
					t.Fatal(at, err)
				}
				if dialable(a, tt.via) != ok {
					t.Errorf("%s from %s: dialable %v", at, tt.via, !ok)
				}
			}
		}
	}
}

// The address that a hello names and cannot be true is not kept.
func TestHelloAddressFromElsewhere(t *testing.T) {
	h := newHost(t, Settings{})
	p := h.stranger("ann")
	h.store.Down(p.link, "test")
	p.via = "tcp:192.168.1.5:5000" // its hello says unix:/bob now
	p.connect("bob")
	w, err := h.store.LookUp(p.id.Key, "")
	if err != nil || len(w.Addrs) != 1 || w.Addrs[0].Addr != "unix:/ann" {
		t.Errorf("%+v, %v", w, err)
	}
}
