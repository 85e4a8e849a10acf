package tailcat

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
	"tailscale.com/types/key"
)

func TestKeysLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	made, err := loadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	made.Region, made.From = Relay{Host: "203.0.113.7", Port: 8443}.region(), fromSettings
	if err := made.save(path); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	before, _ := os.ReadFile(path)
	read, err := loadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.save(path); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Errorf("read and written again it is\n%s\nbefore\n%s", after, before)
	}
	os.Chmod(path, 0o644) //nolint:errcheck // test
	if _, err := loadKeys(path); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v after others could read it", fi.Mode())
	}
}

// What is wrong with the file is said, what is in it is not, and it stays as it is.
func TestDamagedKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if _, err := loadKeys(path); err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(path)
	for name, text := range map[string]string{
		"not valid JSON at byte":       string(good[:len(good)/2]),
		`"key" is not valid`:           strings.Replace(string(good), "privkey:", "privkey:xx", 1),
		`"preshared_key" is not valid`: strings.Replace(string(good), "psk:", "psk:zz", 1),
		`"key" is missing`:             "{}",
		`"dial_key" is missing`:        strings.Replace(string(good), `"dial_key"`, `"dail_key"`, 1),
		`"region" names no relay`:      strings.Replace(string(good), "{", `{"region": {"RegionID": 1},`, 1),
		"longer than 65536 bytes":      strings.Repeat(" ", maxFile+1),
		`"region" is not valid`:        strings.Replace(string(good), "{", `{"region": 7,`, 1),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loadKeys(path)
		if err == nil || !strings.Contains(err.Error(), name) || awp.HintOf(err) == "" {
			t.Errorf("want %s: got %v, hint %q", name, err, awp.HintOf(err))
		}
		if err != nil && (strings.Contains(err.Error(), "privkey") || strings.Contains(err.Error(), "psk")) {
			t.Errorf("%s: shows a key: %v", name, err)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadKeys(path); err != nil {
		t.Errorf("mended: %v", err)
	}
}

// One key for a server, ever, and another for every server and purpose.
func TestClientKey(t *testing.T) {
	k, other := newKeys(), newKeys()
	a, b := key.NewNode().Public(), key.NewNode().Public()
	first := k.clientKey("dial", a)
	if !first.Equal(k.clientKey("dial", a)) {
		t.Error("two keys for one server")
	}
	for name, second := range map[string]key.NodePrivate{
		"two servers": k.clientKey("dial", b), "two purposes": k.clientKey("probe", a), "two homes": other.clientKey("dial", a),
	} {
		if first.Equal(second) {
			t.Errorf("%s: one key", name)
		}
	}
}

// The settings choose the relay, and choose anew when they change; else nothing does.
func TestSettle(t *testing.T) {
	var log bytes.Buffer
	n := New(Options{Home: t.TempDir(), Relay: Relay{Host: "203.0.113.7", Port: 8443}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	k, err := n.keys()
	if err != nil {
		t.Fatal(err)
	}
	first, err := n.settle(t.Context(), k)
	if err != nil || first.Region.Nodes[0].IPv4 != "203.0.113.7" || first.Region.Nodes[0].IPv6 != "none" {
		t.Fatalf("%+v, %v", first, err)
	}
	if kept, err := n.keys(); err != nil || kept != first || log.Len() > 0 {
		t.Errorf("not kept: %v, %s", err, &log)
	}
	if again, err := n.settle(t.Context(), first); err != nil || again != first {
		t.Errorf("chosen again: %v", err)
	}
	n.opt.Relay = Relay{Host: "relay.example.net"}
	moved, err := n.settle(t.Context(), first)
	if err != nil || moved.Region.Nodes[0].HostName != "relay.example.net" || moved.Region.Nodes[0].IPv4 != "" || !strings.Contains(log.String(), "address changed") {
		t.Errorf("%+v, %v, %s", moved, err, &log)
	}
	onDisk, err := loadKeys(n.path)
	if err != nil || onDisk.Region.Nodes[0].HostName != "relay.example.net" || !onDisk.Key.Equal(k.Key) {
		t.Errorf("on disk: %+v, %v", onDisk, err)
	}
	// A choice that cannot be kept is not used.
	n.opt.Relay = Relay{Host: "third.example.net"}
	n.path = filepath.Join(t.TempDir(), "gone", FileName)
	if _, err := n.settle(t.Context(), moved); err == nil || moved.Region.Nodes[0].HostName != "relay.example.net" {
		t.Errorf("%+v, %v", moved.Region.Nodes[0], err)
	}
}

func TestScrub(t *testing.T) {
	address := "tc" + strings.Repeat("pGF_-x1", 20)
	for text, want := range map[string]string{
		"dialing " + address + " now":                        "dialing … now",
		"nodekey:0123456789abcdef and discokey:0123456789ab": "… and …",
		`"Key":"nodekey:0123456789abcdef"`:                   `"Key":"…"`,
		"privkey:0123456789abcdef psk:0123456789abcdef":      "… …",
		"registered IP fd7a:115c:a1e0:1:2:3::/128":           "registered IP …/128",
		"magicsock: derp-1 connected":                        "magicsock: derp-1 connected",
		"tcp to the tcpdump":                                 "tcp to the tcpdump",
		"now using 203.0.113.21:41641":                       "now using 203.0.113.21:41641",
	} {
		if got := scrub(text); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestDialWhatIsNoAddress(t *testing.T) {
	n := New(Options{Home: t.TempDir()})
	defer n.Close()
	for _, addr := range []string{"tc", "tc!", "tc" + strings.Repeat("A", 80), "tcoA", "x" + strings.Repeat("A", 80)} {
		if nc, err := n.Dial(t.Context(), addr); nc != nil || awp.CodeOf(err) != awp.Invalid || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
