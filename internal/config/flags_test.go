package config

import (
	"reflect"
	"slices"
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

func TestCommaInAFlag(t *testing.T) {
	if got, err := (Flags{Listen: []string{"unix:/a,b"}}).Environ(env()); err == nil {
		t.Errorf("got %q", got)
	}
}
