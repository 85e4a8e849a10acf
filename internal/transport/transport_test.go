package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

func addr(t *testing.T, s string) wire.Addr {
	t.Helper()
	a, err := wire.ParseAddr(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return a
}

// shortDir is a directory whose sockets have short paths.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "awp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestPrivate(t *testing.T) {
	for ip, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "10.0.0.1": true, "172.16.0.1": true, "172.31.255.255": true,
		"172.32.0.1": false, "192.168.1.1": true, "192.169.1.1": false, "169.254.1.1": true, "fe80::1": true, "fe80::1%eth0": true,
		"100.64.0.1": true, "100.127.255.255": true, "100.128.0.0": false, "100.63.255.255": false,
		"fd00::1": true, "fdaa::3": true, "fc00::1": true, "fe00::1": false, "2001:db8::1": false, "8.8.8.8": false,
		"::ffff:10.0.0.1": true, "::ffff:8.8.8.8": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "ff02::1": false,
	} {
		if got := private(netip.MustParseAddr(ip)); got != want {
			t.Errorf("private(%s) is %v", ip, got)
		}
	}
}

// names resolves a few made-up hosts.
func names(_ context.Context, host string) ([]netip.Addr, error) {
	known := map[string][]string{
		"local": {"127.0.0.1"}, "public": {"203.0.113.7"}, "mixed": {"127.0.0.1", "203.0.113.7"}, "none": {},
		"second": {"127.0.0.2", "127.0.0.1"},
	}
	ips, ok := known[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	var out []netip.Addr
	for _, ip := range ips {
		out = append(out, netip.MustParseAddr(ip))
	}
	return out, nil
}

func TestDialJudgesEveryAddress(t *testing.T) {
	o := Options{Resolve: names}
	for to, want := range map[string]awp.Code{
		"tcp:203.0.113.7:1":                    awp.Denied,
		"tcp:[2001:db8::1]:1":                  awp.Denied,
		"tcp:public:1":                         awp.Denied,
		"tcp:mixed:1":                          awp.Denied,
		"tcp:none:1":                           awp.Unreachable,
		"tcp:nowhere:1":                        awp.Unreachable,
		"tcp:0.0.0.0:1":                        awp.Denied, // means this machine, and nobody says so
		"tailcat:tc" + strings.Repeat("x", 40): awp.Invalid,
	} {
		_, err := Dial(t.Context(), addr(t, to), o)
		if awp.CodeOf(err) != want {
			t.Errorf("%s: %v (%s), want %s", to, err, awp.CodeOf(err), want)
		}
		if want == awp.Denied && !strings.Contains(awp.HintOf(err), "AWP_ALLOW_PLAINTEXT=1") {
			t.Errorf("%s: hint %q", to, awp.HintOf(err))
		}
	}
}

func TestPlaintextAllowed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it need not get anywhere
	_, err := Dial(ctx, addr(t, "tcp:203.0.113.7:1"), Options{AllowPlaintext: true})
	if awp.CodeOf(err) != awp.Unreachable {
		t.Errorf("got %v", err)
	}
}

func TestListenJudges(t *testing.T) {
	o := Options{Resolve: names}
	for at, want := range map[string]awp.Code{
		"tcp:203.0.113.7:0":                    awp.Denied,
		"tcp:mixed:0":                          awp.Denied,
		"tcp:nowhere:0":                        awp.Unreachable,
		"tcp:local:0":                          "",
		"tcp:0.0.0.0:0":                        "",
		"tcp:10.254.254.1:0":                   awp.Invalid, // private, but not ours
		"tailcat:tc" + strings.Repeat("x", 40): awp.Invalid,
	} {
		l, err := Listen(t.Context(), addr(t, at), o)
		if awp.CodeOf(err) != want {
			t.Errorf("%s: %v (%s), want %q", at, err, awp.CodeOf(err), want)
		}
		if err == nil {
			l.Close()
		}
	}
	if _, err := Listen(t.Context(), addr(t, "tcp:203.0.113.7:0"), Options{AllowPlaintext: true}); awp.CodeOf(err) != awp.Invalid {
		t.Errorf("allowed, but not an address of this machine: %v", err)
	}
}

func TestBoundPort(t *testing.T) {
	for at, host := range map[string]string{"tcp:127.0.0.1:0": "127.0.0.1", "tcp:local:0": "local", "tcp:0.0.0.0:0": "0.0.0.0"} {
		l, err := Listen(t.Context(), addr(t, at), Options{Resolve: names})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		gotHost, port, _ := net.SplitHostPort(l.Addr().Rest)
		if gotHost != host || port == "0" || l.Wildcard() != (host == "0.0.0.0") {
			t.Errorf("%s: bound %s, wildcard %v", at, l.Addr(), l.Wildcard())
		}
		if _, err := Listen(t.Context(), l.Addr(), Options{Resolve: names}); awp.CodeOf(err) != awp.Busy {
			t.Errorf("%s bound twice: %v", at, err)
		}
	}
}

// echo answers the first connection with its Via.
func echo(t *testing.T, l *Listener) {
	t.Helper()
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(nc, nc.Via)
		nc.Close()
	}()
}

func TestConnect(t *testing.T) {
	sock := filepath.Join(shortDir(t), "p")
	for _, at := range []string{"tcp:127.0.0.1:0", "tcp:second:0", "unix:" + sock} {
		l, err := Listen(t.Context(), addr(t, strings.Replace(at, "second", "127.0.0.1", 1)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		echo(t, l)
		to := l.Addr()
		if strings.Contains(at, "second") { // the first address of the name refuses
			to.Rest = strings.Replace(to.Rest, "127.0.0.1", "second", 1)
		}
		nc, err := Dial(t.Context(), to, Options{Resolve: names})
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		via, _ := io.ReadAll(nc)
		want := "unix:" + sock
		if to.Kind == wire.KindTCP {
			want = "tcp:" + nc.LocalAddr().String()
		}
		if string(via) != want {
			t.Errorf("%s: via %s, want %s", at, via, want)
		}
		nc.Close()
		l.Close()
	}
}

// fakeConn comes from where it says.
type fakeConn struct {
	net.Conn
	from net.Addr
}

func (c fakeConn) RemoteAddr() net.Addr { return c.from }

type fakeListener struct {
	net.Listener
	conns []net.Conn
}

func (l *fakeListener) Accept() (net.Conn, error) {
	nc := l.conns[0]
	l.conns = l.conns[1:]
	return nc, nil
}

func TestAcceptTurnsPublicAway(t *testing.T) {
	from := func(s string) (net.Conn, net.Conn) {
		here, there := net.Pipe()
		return fakeConn{here, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s))}, there
	}
	bad, badEnd := from("203.0.113.7:5")
	mapped, _ := from("[::ffff:203.0.113.7]:5")
	good, _ := from("[::ffff:192.168.1.2]:5")
	l := &Listener{l: &fakeListener{conns: []net.Conn{bad, mapped, good}}, addr: wire.Addr{Kind: wire.KindTCP, Rest: "0.0.0.0:7"}}
	for range 2 {
		if _, err := l.Accept(); awp.CodeOf(err) != awp.Denied {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := badEnd.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("not hung up: %v", err)
	}
	nc, err := l.Accept()
	if err != nil || nc.Via != "tcp:192.168.1.2:5" {
		t.Errorf("got %v, %v", nc, err)
	}
	open, _ := from("203.0.113.7:5")
	l = &Listener{l: &fakeListener{conns: []net.Conn{open}}, addr: l.addr, open: true}
	if nc, err := l.Accept(); err != nil || nc.Via != "tcp:203.0.113.7:5" {
		t.Errorf("allowed: %v, %v", nc, err)
	}
}

func TestUnixListen(t *testing.T) {
	dir := shortDir(t)
	at := func(name string) wire.Addr { return wire.Addr{Kind: wire.KindUnix, Rest: filepath.Join(dir, name)} }
	live, err := Listen(t.Context(), at("live"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	// A dead socket is what a killed program leaves.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("dead").Rest, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if err := os.WriteFile(at("file").Rest, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		code awp.Code
		text string
	}{
		{"live", awp.Busy, "in use"},
		{"dead", "", ""},
		{"file", awp.Invalid, "not a socket"},
		{"missing/sock", awp.Invalid, "does not exist"},
		{"file/sock", awp.Invalid, "cannot listen"},
		{strings.Repeat("x", 120), awp.Invalid, "at most"},
	} {
		l, err := Listen(t.Context(), at(tt.name), Options{})
		if awp.CodeOf(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%.20s: %v (%s), want %q with %q", tt.name, err, awp.CodeOf(err), tt.code, tt.text)
		}
		if err == nil {
			l.Close()
		}
	}
	if b, err := os.ReadFile(at("file").Rest); string(b) != "precious" {
		t.Errorf("the file in the way is now %q, %v", b, err)
	}
	if _, err := os.Lstat(at("dead").Rest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("socket left behind: %v", err)
	}
	nc, err := Dial(t.Context(), at("live"), Options{})
	if err != nil {
		t.Fatalf("the live socket was harmed: %v", err)
	}
	nc.Close()
}

func TestDialErrors(t *testing.T) {
	dir := shortDir(t)
	dead, _ := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead"), Net: "unix"})
	dead.SetUnlinkOnClose(false)
	dead.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := gone.Addr().String()
	gone.Close()
	expired, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	for _, tt := range []struct {
		ctx  context.Context
		to   string
		text string
	}{
		{t.Context(), "unix:" + dir + "/none", "no such socket"},
		{t.Context(), "unix:" + dir + "/dead", "nobody listens"},
		{t.Context(), "unix:/" + strings.Repeat("x", 200), "at most"},
		{t.Context(), "tcp:" + refusing, "nobody listens"},
		{expired, "tcp:127.0.0.1:1", "timed out"},
		{given, "tcp:127.0.0.1:1", "given up"},
	} {
		_, err := Dial(tt.ctx, addr(t, tt.to), Options{})
		if err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %q", tt.to, err, tt.text)
		}
		// The sentence goes to logs, where addresses may not.
		if err != nil && (strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "127.0.0.1")) {
			t.Errorf("%s: the error shows the address: %v", tt.to, err)
		}
	}
}
