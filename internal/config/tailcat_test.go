package config

import (
	"reflect"
	"strings"
	"testing"
)

const pin = "sha256-raw:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestTailcat(t *testing.T) {
	relay := Relay{Host: "203.0.113.7", Port: 8443, STUNPort: 3478, Cert: pin}
	for file, want := range map[string]Tailcat{
		`{"tailcat": {}}`:              {},
		`{"tailcat": null}`:            {},
		`{"tailcat": {"relay": null}}`: {},
		`{"tailcat": {"derp_map_url": "https://relays.example.net/map.json"}}`:                                                                      {DERPMapURL: "https://relays.example.net/map.json"},
		`{"tailcat": {"relay": {"host": "203.0.113.7", "port": 8443, "stun_port": 3478, "cert": "` + strings.Replace(pin, "abc", "ABC", 1) + `"}}}`: {Relay: relay},
		`{"tailcat": {"relay": {"host": "relay.example.net"}}}`:                                                                                     {Relay: Relay{Host: "relay.example.net"}},
	} {
		s, err := load(t, file)
		if err != nil || s.Tailcat != want {
			t.Errorf("%s: got %+v, %v", file, s.Tailcat, err)
		}
	}
	s, err := load(t, "", "AWP_TAILCAT_DERP_MAP_URL=http://10.0.0.5/map")
	if err != nil || s.Tailcat.DERPMapURL != "http://10.0.0.5/map" {
		t.Errorf("environment: %+v, %v", s.Tailcat, err)
	}
}

func TestBadTailcat(t *testing.T) {
	for file, want := range map[string]string{
		`{"tailcat": 1}`: "1:13: tailcat: got 1, want a JSON object",
		`{"tailcat": {"derp_map_url": "relays"}}`:                            `1:30: tailcat.derp_map_url: got "relays", want a URL`,
		`{"tailcat": {"relay": {"host": "::1"}}}`:                            `1:32: tailcat.relay.host: got "::1", want a host name or an IPv4 address`,
		`{"tailcat": {"relay": {"host": "a b"}}}`:                            "want a host name",
		`{"tailcat": {"relay": {"host": "h", "port": 0}}}`:                   "1:45: tailcat.relay.port: got 0, want a port from 1 to 65535",
		`{"tailcat": {"relay": {"host": "h", "port": "443"}}}`:               `got "443", want a port`,
		`{"tailcat": {"relay": {"host": "h", "port": 70000}}}`:               "got 70000, want a port",
		`{"tailcat": {"relay": {"host": "h", "cert": "abc"}}}`:               `tailcat.relay.cert: got "abc", want "sha256-raw:" and 64`,
		`{"tailcat": {"relay": {"port": 443}}}`:                              "tailcat.relay: the host is missing",
		`{"tailcat": {"relay": {"host": "h"}, "derp_map_url": "https://h"}}`: "both derp_map_url and relay are set",
	} {
		if _, err := load(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

func TestUnknownTailcatKeys(t *testing.T) {
	s, err := load(t, `{"tailcat": {"region": 1, "Relay": {}, "relay": {"host": "h", "Port": 1}}}`)
	want := []string{
		`config.json:1: unknown key "tailcat.region" is ignored`,
		`config.json:1: unknown key "tailcat.Relay" is ignored`,
		`config.json:1: unknown key "tailcat.relay.Port" is ignored; did you mean "tailcat.relay.port"?`,
	}
	if err != nil || !reflect.DeepEqual(s.Warnings, want) {
		t.Errorf("%q, %v", s.Warnings, err)
	}
}
