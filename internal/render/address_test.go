package render

import (
	"slices"
	"testing"

	"github.com/awp-suite/awp"
)

// What to share is one address that means the same elsewhere, wherever there is one.
func TestAddress(t *testing.T) {
	for _, test := range []struct {
		status awp.Status
		want   string
	}{
		{awp.Status{}, ""},
		{awp.Status{Tailcat: "tcA", Addresses: []string{"tailcat:tcA", "tcp:10.0.0.5:7000"}}, "tcA"},
		{awp.Status{Addresses: []string{"tcp:10.0.0.5:7000", "unix:/x"}}, "tcp:10.0.0.5:7000"},
		{awp.Status{Addresses: []string{"tcp:0.0.0.0:7000", "tcp:[::]:7000", "unix:/x"}}, "unix:/x"},
		{awp.Status{Addresses: []string{"tcp:[::]:7000", "tcp:0.0.0.0:7000"}}, "tcp:[::]:7000"},
	} {
		if got := Address(test.status); got != test.want {
			t.Errorf("%v: got %q, want %q", test.status.Addresses, got, test.want)
		}
	}
}

func TestWildcard(t *testing.T) {
	for address, want := range map[string]string{
		"tcp:0.0.0.0:7000":           "7000",
		"tcp:[::]:7000":              "7000",
		"tcp:127.0.0.1:7000":         "",
		"tcp:[fdaa::3]:7000":         "",
		"tcp:box:7000":               "",
		"unix:/run/tcp:0.0.0.0:7000": "",
		"tcAAA":                      "",
		"":                           "",
	} {
		if got := wildcardPort(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestNoAddress(t *testing.T) {
	failed := []awp.ListenErr{{Address: "unix:/no/x", Error: "no such\ndirectory"}}
	for _, test := range []struct {
		status awp.Status
		want   []string
	}{
		{awp.Status{}, []string{listensNowhere}},
		{awp.Status{TailcatEnabled: true}, []string{"tailcat is starting"}},
		{awp.Status{TailcatEnabled: true, TailcatError: "no relay"}, []string{"tailcat: no relay"}},
		{awp.Status{ListenErrors: failed}, []string{`unix:/no/x failed: no such\ndirectory`}},
		{awp.Status{TailcatEnabled: true, TailcatError: "no relay", ListenErrors: failed}, []string{"tailcat: no relay", `unix:/no/x failed: no such\ndirectory`}},
	} {
		if got := NoAddress(test.status); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %q, want %q", test.status, got, test.want)
		}
	}
}
