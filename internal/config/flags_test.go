package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
)

func TestFlagsWin(t *testing.T) {
	t.Chdir("/")
	a, b := key(t, keyA), key(t, keyB)
	outer := []string{"AWP_NAME=env", "AWP_ABOUT=env", "AWP_LISTEN=tcp:h:1", "AWP_PRESENCE=0", "AWP_TRACE=0", "AWP_ALLOW= " + keyA, "AWP_TRUST=" + keyA, "AWP_ROOT=env"}
	flags := Flags{
		Name: "flag", Harness: "codex", Model: "m", ShareWith: []string{keyB}, Listen: []string{"tailcat", "unix:/b"}, Advertise: "none",
		Accept: "allowlist", Allow: []string{keyB}, Serve: []string{"exec"}, Root: "flag",
		Presence: true, Trace: true, Verbose: true,
	}
	inner, err := flags.Environ(env(outer...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, "", append(inner, outer...)...)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Name, want.About, want.Harness, want.Model = "flag", "env", "codex", "m"
	want.ShareWith = []awp.Key{b}
	want.Set.Name, want.Set.About, want.Set.Harness, want.Set.Model, want.Set.ShareWith = true, true, true, true, true
	want.Listen, want.Advertise = []string{"tailcat", "unix:/b"}, "none"
	want.Presence, want.Trace, want.Verbose = true, true, true
	want.Policy = Policy{Accept: "allowlist", Allow: []awp.Key{a, b}, Trust: []awp.Key{a}, Serve: []string{"exec"}, Root: "/flag"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestNoTailcat(t *testing.T) {
	inner, err := Flags{NoTailcat: true}.Environ(env())
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		`{}`:                                 {},
		`{"listen": ["tcp:h:1", "tailcat"]}`: {"tcp:h:1"},
		`{"listen": ["none"]}`:               {},
	} {
		if s, err := load(t, file, inner...); err != nil || !slices.Equal(s.Listen, want) || s.Listen == nil {
			t.Errorf("%s: %q, %v", file, s.Listen, err)
		}
	}
}

func TestNoFlags(t *testing.T) {
	if got, err := (Flags{}).Environ(env("AWP_NAME=x", "AWP_ALLOW=y")); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
	t.Chdir("/")
	got, err := Flags{}.Environ(env("AWP_ROOT=x"))
	if err != nil || !slices.Equal(got, []string{"AWP_ROOT=/x"}) { // the programs run elsewhere
		t.Errorf("got %q, %v", got, err)
	}
}

// A slip in a flag is the flag's, also where the environment sets the same thing right.
func TestBadFlags(t *testing.T) {
	for want, flags := range map[string]Flags{
		`--accept: got "nope", want "any" or "allowlist"`:                             {Accept: "nope"},
		`--listen: got "nonsense", want a list of "tailcat", "tcp:HOST:PORT"`:         {Listen: []string{"tailcat", "nonsense"}},
		`--listen: got "none,tailcat", want`:                                          {Listen: []string{"none", "tailcat"}},
		`--listen: "unix:/a,b" has a comma`:                                           {Listen: []string{"unix:/a,b"}},
		`--advertise: got "here", want an address or "none"`:                          {Advertise: "here"},
		`--share-with: got "bob", want a list of keys`:                                {ShareWith: []string{keyA, "bob"}},
		`--allow: got "bob", want a list of keys`:                                     {Allow: []string{"bob"}},
		`--trust: got "bob", want a list of keys`:                                     {Trust: []string{"bob"}},
		`--serve: got "rm", want a list of "exec"`:                                    {Serve: []string{"exec", "rm"}},
		`--name: got "\xff", want a text`:                                             {Name: "\xff"},
		`--harness: got "emacs", want one of claude, opencode, codex, cursor, gemini`: {Harness: "emacs"},
	} {
		_, err := flags.Environ(env("AWP_ACCEPT=any", "AWP_LISTEN=tailcat", "AWP_ALLOW="+keyA))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
		if awp.CodeOf(err) != awp.Invalid || awp.HintOf(err) == "" {
			t.Errorf("%v: code %s, hint %q", err, awp.CodeOf(err), awp.HintOf(err))
		}
	}
	if err := (Flags{Name: "a, b", Accept: " ", NoTailcat: true, Verbose: true}).Check(); err != nil {
		t.Error(err)
	}
}
