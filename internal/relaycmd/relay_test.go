package relaycmd

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json/v2"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"tailscale.com/net/stun"
)

func TestParse(t *testing.T) {
	c, err := Parse([]string{"--host", "relay.example.net", "--state", "/s", "--listen", "0.0.0.0:443", "--json"}, io.Discard)
	if want := (Config{Listen: "0.0.0.0:443", STUN: ":3478", Host: "relay.example.net", State: "/s", JSON: true}); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := Parse([]string{"--listen", "203.0.113.7:8443", "--state", "/s"}, io.Discard); err != nil || c.Host != "203.0.113.7" {
		t.Errorf("host of --listen: %+v, %v", c, err)
	}
	for args, want := range map[string]string{
		"--state /s":                             "by which name",
		"--state /s --listen 0.0.0.0:443":        "by which name",
		"--host h --state /s --listen 127.0.0.1": "--listen: got",
		"--host h --state /s --stun :0":          "--stun: got",
		"--host ::1 --state /s":                  "IPv6",
		"--host h --state /s now":                "flags only",
	} {
		if _, err := Parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) || awp.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", args, err, awp.HintOf(err))
		}
	}
}

func TestCertificateLasts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	now := time.Now()
	_, pin, err := certificate(dir, "203.0.113.7", now)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, certFile)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	cert, again, err := certificate(dir, "203.0.113.7", now)
	sum := sha256.Sum256(cert.Certificate[0])
	if err != nil || again != pin || pin != "sha256-raw:"+hex.EncodeToString(sum[:]) {
		t.Errorf("%s after %s, %v", again, pin, err)
	}
	if _, _, err := certificate(dir, "198.51.100.1", now); err == nil || !strings.Contains(err.Error(), "for another host") {
		t.Errorf("another host: %v", err)
	}
	if _, _, err := certificate(dir, "203.0.113.7", now.Add(validFor)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, certFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := certificate(dir, "203.0.113.7", now); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("damaged: %v", err)
	}
}

// freePort finds a port that nobody has now, for TCP and UDP.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The relay announces what it is, serves TLS with that certificate and STUN, and ends
// with its context.
func TestRun(t *testing.T) {
	cfg := Config{Listen: freePort(t), STUN: freePort(t), Host: "127.0.0.1", State: t.TempDir(), JSON: true}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg, in, slog.New(slog.DiscardHandler)) }()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var s settings
	if err := json.Unmarshal(line, &s); err != nil || s.Tailcat.Relay.Host != "127.0.0.1" || s.Tailcat.Relay.Port != cfg.port(cfg.Listen) {
		t.Fatalf("%s: %v", line, err)
	}

	conn, err := tls.Dial("tcp", cfg.Listen, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the pin is what counts
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	if got := "sha256-raw:" + hex.EncodeToString(sum[:]); got != s.Tailcat.Relay.Cert {
		t.Errorf("serves %s, announced %s", got, s.Tailcat.Relay.Cert)
	}
	conn.Close()

	udp, err := net.Dial("udp", cfg.STUN)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	udp.SetDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // test
	id := stun.NewTxID()
	udp.Write([]byte("no question")) //nolint:errcheck // and no answer
	udp.Write(stun.Request(id))      //nolint:errcheck // the read says it
	answer := make([]byte, 1500)
	n, err := udp.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	if got, from, err := stun.ParseResponse(answer[:n]); err != nil || got != id || from != netip.MustParseAddrPort(udp.LocalAddr().String()) {
		t.Errorf("%v %v, %v", got, from, err)
	}

	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the relay does not end")
	}
}
