package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
)

// Two keys in two spellings, and how Key prints them.
const (
	keyA = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"
	keyB = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="
)

func key(t *testing.T, s string) awp.Key {
	t.Helper()
	k, err := awp.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// env is an environment of NAME=value assignments.
func env(assignments ...string) func(string) string {
	return func(name string) string {
		for _, a := range assignments {
			if val, ok := strings.CutPrefix(a, name+"="); ok {
				return val
			}
		}
		return ""
	}
}

// load loads the settings of a home with that config.json; with none if it is empty.
func load(t *testing.T, file string, assignments ...string) (Settings, error) {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(home, FileName), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(home, env(assignments...))
	if err != nil {
		return s, &awp.Error{Code: awp.CodeOf(err), Message: strings.ReplaceAll(err.Error(), home, "HOME"), Hint: awp.HintOf(err)}
	}
	if rest, ok := strings.CutPrefix(s.Policy.Root, home); ok {
		s.Policy.Root = "HOME" + rest
	}
	return s, nil
}

func defaults() Settings {
	return Settings{
		Listen: []string{"tailcat"}, BlobLimit: 52428800, PingInterval: 30 * time.Second,
		OutboxTTL: 7 * 24 * time.Hour, Policy: Policy{Accept: "any"},
	}
}

func TestDefaults(t *testing.T) {
	for _, file := range []string{"", "{}", `{"policy": {}}`, `{"name": null, "listen": null, "policy": null}`,
		`{"name": "", "advertise": "", "harness": "", "listen": [], "policy": {"accept": "", "root": ""}}`} {
		got, err := load(t, file, "AWP_NAME=", "AWP_LISTEN= ", "AWP_TRACE=")
		if err != nil || !reflect.DeepEqual(got, defaults()) {
			t.Errorf("%s: got %+v, %v", file, got, err)
		}
	}
}

// Every key of the documentation, in the file and in the environment.
func TestEverySetting(t *testing.T) {
	a, b := key(t, keyA), key(t, keyB)
	for name, test := range map[string]struct {
		file string   // the member
		env  []string // with the same effect
		want func(*Settings)
	}{
		"name":  {`"name": "codex@box"`, []string{"AWP_NAME=codex@box"}, func(s *Settings) { s.Name, s.Set.Name = "codex@box", true }},
		"about": {`"about": "Release, builds"`, []string{"AWP_ABOUT=Release, builds"}, func(s *Settings) { s.About, s.Set.About = "Release, builds", true }},
		"harness by another name": {
			`"harness": "claude-code"`, []string{"AWP_HARNESS=claude_code"},
			func(s *Settings) { s.Harness, s.Set.Harness = "claude", true },
		},
		"harness": {`"harness": "codex"`, []string{"AWP_HARNESS=codex"}, func(s *Settings) { s.Harness, s.Set.Harness = "codex", true }},
		"model":   {`"model": "gpt-5.5"`, []string{"AWP_MODEL=gpt-5.5"}, func(s *Settings) { s.Model, s.Set.Model = "gpt-5.5", true }},
		"listen": {
			`"listen": ["tailcat", "tcp:[fdaa::3]:7000", "unix:///b.sock"]`, []string{"AWP_LISTEN=tailcat, tcp://[fdaa::3]:7000,,unix:/b.sock,tailcat"},
			func(s *Settings) { s.Listen = []string{"tailcat", "tcp:[fdaa::3]:7000", "unix:/b.sock"} },
		},
		"listen nowhere":    {`"listen": ["none"]`, []string{"AWP_LISTEN=none"}, func(s *Settings) { s.Listen = []string{} }},
		"advertise":         {`"advertise": "tcp:box:7000"`, []string{"AWP_ADVERTISE=tcp://box:7000"}, func(s *Settings) { s.Advertise = "tcp:box:7000" }},
		"advertise nothing": {`"advertise": "none"`, []string{"AWP_ADVERTISE=none"}, func(s *Settings) { s.Advertise = "none" }},
		"presence":          {`"presence": true`, []string{"AWP_PRESENCE=yes"}, func(s *Settings) { s.Presence = true }},
		"share_with": {
			`"share_with": ["` + keyA + `"]`, []string{"AWP_SHARE_WITH=" + keyA},
			func(s *Settings) { s.ShareWith, s.Set.ShareWith = []awp.Key{a}, true },
		},
		"share_with nobody": {`"share_with": []`, nil, func(s *Settings) { s.ShareWith, s.Set.ShareWith = []awp.Key{}, true }},
		"blob_limit":        {`"blob_limit": 1048576`, []string{"AWP_BLOB_LIMIT=1048576"}, func(s *Settings) { s.BlobLimit = 1 << 20 }},
		"ping_interval":     {`"ping_interval": "1m30s"`, []string{"AWP_PING_INTERVAL=90s"}, func(s *Settings) { s.PingInterval = 90 * time.Second }},
		"outbox_ttl":        {`"outbox_ttl": "24h"`, nil, func(s *Settings) { s.OutboxTTL = 24 * time.Hour }},
		"trace":             {`"trace": true`, []string{"AWP_TRACE=1"}, func(s *Settings) { s.Trace = true }},
		"verbose":           {`"verbose": true`, []string{"AWP_VERBOSE=1"}, func(s *Settings) { s.Verbose = true }},
		"allow_plaintext":   {`"allow_plaintext": true`, []string{"AWP_ALLOW_PLAINTEXT=1"}, func(s *Settings) { s.AllowPlaintext = true }},
		"policy.accept":     {`"policy": {"accept": "allowlist"}`, []string{"AWP_ACCEPT=allowlist"}, func(s *Settings) { s.Policy.Accept = "allowlist" }},
		"policy.allow": {
			`"policy": {"allow": ["` + keyA + `", "` + keyB + `"]}`, []string{"AWP_ALLOW=" + keyA + "," + keyB},
			func(s *Settings) { s.Policy.Allow = []awp.Key{a, b} },
		},
		"policy.trust": {`"policy": {"trust": ["` + keyB + `"]}`, []string{"AWP_TRUST=" + keyB}, func(s *Settings) { s.Policy.Trust = []awp.Key{b} }},
		"policy.serve": {
			`"policy": {"serve": ["exec", "fs:read", "fs:write"]}`, []string{"AWP_SERVE=exec,fs:read,fs:write"},
			func(s *Settings) { s.Policy.Serve = []string{"exec", "fs:read", "fs:write"} },
		},
		"policy.root": {`"policy": {"root": "/src/foo/"}`, []string{"AWP_ROOT=/src/foo/"}, func(s *Settings) { s.Policy.Root = "/src/foo" }},
	} {
		t.Run(name, func(t *testing.T) {
			want := defaults()
			test.want(&want)
			if got, err := load(t, "{"+test.file+"}"); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("file: got %+v, %v\nwant %+v", got, err, want)
			}
			if test.env == nil {
				return
			}
			if got, err := load(t, "", test.env...); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("environment: got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestEnvironmentWins(t *testing.T) {
	a, b := key(t, keyA), key(t, keyB)
	file := `{"name": "file", "listen": ["tailcat"], "presence": true, "trace": true, "blob_limit": 1,
		"policy": {"allow": ["` + keyA + `"], "trust": ["` + keyA + `"], "serve": ["exec"]}}`
	got, err := load(t, file, "AWP_NAME=env", "AWP_LISTEN=tcp:h:1", "AWP_PRESENCE=false", "AWP_TRACE=0", "AWP_BLOB_LIMIT=2",
		"AWP_ALLOW="+keyB+","+keyA, "AWP_TRUST="+keyA, "AWP_SERVE=fs:read")
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Name, want.Set.Name = "env", true
	want.Listen, want.BlobLimit = []string{"tcp:h:1"}, 2
	want.Policy.Allow, want.Policy.Trust, want.Policy.Serve = []awp.Key{a, b}, []awp.Key{a}, []string{"fs:read"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestSwitches(t *testing.T) {
	for text, want := range map[string][2]bool{ // presence, trace
		"1": {true, true}, "0": {false, false}, "false": {false, true}, "False": {false, true}, "no": {true, true}, " 0 ": {false, false},
	} {
		s, err := load(t, "", "AWP_PRESENCE="+text, "AWP_TRACE="+text)
		if got := [2]bool{s.Presence, s.Trace}; err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestRootIsAbsolute(t *testing.T) {
	s, err := load(t, `{"policy": {"root": "src/../foo"}}`)
	if err != nil || s.Policy.Root != "HOME/foo" {
		t.Errorf("file: %q, %v", s.Policy.Root, err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if dir, err = os.Getwd(); err != nil {
		t.Fatal(err)
	}
	s, err = load(t, "", "AWP_ROOT=foo")
	if err != nil || s.Policy.Root != filepath.Join(dir, "foo") {
		t.Errorf("environment: %q, %v", s.Policy.Root, err)
	}
}

func TestBadFile(t *testing.T) {
	long := strings.Repeat("x", 100)
	for file, want := range map[string]string{
		" ":                                "1:2: not valid JSON: the file ends too early",
		"{\n \"name\"":                     "2:8: not valid JSON: the file ends too early",
		"[1]":                              "1:1: got [1], want a JSON object",
		"{}\n{}":                           "2:1: not valid JSON: more follows the closing brace",
		"{\n\n  \"name\": \"x\",\n}":       "3:14: not valid JSON: invalid character ',' at start of value",
		"{\"name\": \"ü\", \"name\": 1}":   "1:15: not valid JSON: key \"name\" is given twice",
		"{\"x\": {\"y\": 1, \"y\": 2}}":    "1:16: not valid JSON: key \"y\" is given twice",
		"{\"name\": \"\xff\"}":             "1:11: not valid JSON: invalid UTF-8",
		`{"name": ["x"]}`:                  `1:10: name: got ["x"], want a text`,
		`{"listen": "tailcat"}`:            `1:12: listen: got "tailcat", want a list of`,
		"{\"listen\": [\"tailcat\",\n 7]}": `2:2: listen[1]: got 7, want a list of`,
		`{"listen": ["none", "tailcat"]}`:  `1:12: listen: got ["none", "tailcat"], want a list of`,
		`{"listen": ["tcp:host"]}`:         `1:13: listen[0]: got "tcp:host", want`,
		`{"advertise": "box"}`:             `1:15: advertise: got "box", want an address or "none"`,
		`{"presence": "yes"}`:              `1:14: presence: got "yes", want true or false`,
		`{"blob_limit": "1"}`:              `1:16: blob_limit: got "1", want a whole number of bytes above 0`,
		`{"blob_limit": 1e6}`:              `1:16: blob_limit: got 1e6, want`,
		`{"blob_limit": 0}`:                `1:16: blob_limit: got 0, want`,
		`{"ping_interval": 30}`:            `1:19: ping_interval: got 30, want a duration above 0 such as "30s"`,
		`{"ping_interval": "30"}`:          `1:19: ping_interval: got "30", want`,
		`{"outbox_ttl": "-1h"}`:            `1:16: outbox_ttl: got "-1h", want`,
		`{"share_with": ["bob"]}`:          `1:17: share_with[0]: got "bob", want a list of keys`,
		`{"harness": "Claude Code"}`:       `1:13: harness: got "Claude Code", want one of claude, opencode`,
		`{"policy": []}`:                   `1:12: policy: got [], want a JSON object`,
		`{"policy": {"accept": "all"}}`:    `1:23: policy.accept: got "all", want "any" or "allowlist"`,
		`{"policy": {"serve": ["fs"]}}`:    `1:23: policy.serve[0]: got "fs", want a list of "exec"`,
		`{"name": {"a": "` + long + `"}}`:  `1:10: name: got {"a": "` + long[:25] + `…, want`,
	} {
		_, err := load(t, file)
		if err == nil || !strings.HasPrefix(err.Error(), "HOME/config.json:"+want) {
			t.Errorf("%s\n got %v\nwant %s", file, err, want)
			continue
		}
		if awp.CodeOf(err) != awp.Invalid || awp.HintOf(err) == "" {
			t.Errorf("%s: code %s, hint %q", file, awp.CodeOf(err), awp.HintOf(err))
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(home, env()); awp.CodeOf(err) != awp.Invalid {
		t.Errorf("a directory: %v", err)
	}
	if _, err := load(t, `{"x": "`+strings.Repeat("x", maxFile)+`"}`); awp.CodeOf(err) != awp.Invalid {
		t.Errorf("a huge file: %v", err)
	}
}

func TestBadEnvironment(t *testing.T) {
	for assignment, want := range map[string]string{
		"AWP_BLOB_LIMIT=50MB":                     `AWP_BLOB_LIMIT: got "50MB", want a whole number of bytes above 0`,
		"AWP_PING_INTERVAL=often":                 `AWP_PING_INTERVAL: got "often", want a duration`,
		"AWP_ACCEPT=all":                          `AWP_ACCEPT: got "all", want "any" or "allowlist"`,
		"AWP_HARNESS=emacs":                       `AWP_HARNESS: got "emacs", want one of claude, opencode, codex, cursor, gemini, copilot, grok, pi`,
		"AWP_ALLOW=" + keyA + ", bob":             `AWP_ALLOW[1]: got "bob", want a list of keys`,
		"AWP_LISTEN=none,tailcat":                 `AWP_LISTEN: got "none,tailcat", want`,
		"AWP_SERVE=exec,rm":                       `AWP_SERVE[1]: got "rm", want`,
		"AWP_ADVERTISE=here":                      `AWP_ADVERTISE: got "here", want`,
		"AWP_NAME=\xff":                           `AWP_NAME: got "\xff", want a text`,
		"AWP_LISTEN=tc" + strings.Repeat("a", 40): `AWP_LISTEN[0]: got "tc` + strings.Repeat("a", 30) + `…", want`,
	} {
		_, err := load(t, "", assignment)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", assignment, err, want)
		}
		if awp.CodeOf(err) != awp.Invalid || awp.HintOf(err) == "" {
			t.Errorf("%s: code %s, hint %q", assignment, awp.CodeOf(err), awp.HintOf(err))
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	file := "{\"future\": {\"a\": [1]},\n \"Name\": \"x\", \"policy.root\": \"/\",\n \"policy\": {\"deny\": [], \"root\": \"/src\"}}"
	s, err := load(t, file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`config.json:1: unknown key "future" is ignored`,
		`config.json:2: unknown key "Name" is ignored; did you mean "name"?`,
		`config.json:2: unknown key "policy.root" is ignored`,
		`config.json:3: unknown key "policy.deny" is ignored`,
	}
	if !slices.Equal(s.Warnings, want) {
		t.Errorf("got %q", s.Warnings)
	}
	if s.Policy.Root != "/src" || s.Set.Name {
		t.Errorf("got %+v", s)
	}
}

func TestManyUnknownKeys(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "%q: 1,", fmt.Sprint("x", i))
	}
	s, err := load(t, "{"+strings.TrimSuffix(b.String(), ",")+"}")
	if err != nil || len(s.Warnings) != maxWarnings+1 || s.Warnings[maxWarnings] != "config.json: 10 more unknown keys are ignored" {
		t.Errorf("%q, %v", s.Warnings, err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(`{"name": "x", "listen": ["tailcat"], "policy": {"allow": ["` + keyA + `"]}}`)
	f.Add("{\"a\": \"\xff\"}")
	f.Add(`{"policy": {"policy": {"root": 1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := defaults()
		file := newFile("config.json", []byte(text), s.table("/home"))
		err := file.read()
		if err != nil && awp.CodeOf(err) != awp.Invalid {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && (s.BlobLimit <= 0 || s.PingInterval <= 0 || s.OutboxTTL <= 0 || len(s.Listen) == 0) {
			t.Errorf("%q gives %+v", text, s)
		}
	})
}
