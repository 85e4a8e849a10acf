package config

import (
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/awp-suite/awp"
)

// Tailcat says which relay this agent's tailcat address names. At most one of the two is
// set; with none it is one of the public list.
type Tailcat struct {
	DERPMapURL string // of another list of relays
	Relay      Relay  // one of the owner's own
}

// Relay is a relay of the owner's own; see doc/guides/own-relay.md.
type Relay struct {
	Host     string // a name or an IPv4 address; empty: no relay of one's own
	Port     int    // of TLS; 0: 443
	STUNPort int    // of UDP; 0: 3478
	Cert     string // "sha256-raw:<hex>"; empty: one that the system trusts for Host
}

// check judges what no single value decides.
func (t Tailcat) check() error {
	switch {
	case t.Relay == Relay{}:
		return nil
	case t.Relay.Host == "":
		return &awp.Error{Code: awp.Invalid, Message: "tailcat.relay: the host is missing", Hint: "paste the whole of what awp-relay printed into " + FileName}
	case t.DERPMapURL != "":
		return &awp.Error{Code: awp.Invalid, Message: "tailcat: both derp_map_url and relay are set", Hint: "keep the one that shall be used, in " + FileName + " or AWP_TAILCAT_DERP_MAP_URL"}
	}
	return nil
}

func parseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		err = errors.New("not http or https")
	}
	return text, err
}

// parseHost takes what a tailcat address can name and a certificate can be for.
func parseHost(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil && !ip.Is4() {
		return "", errors.New("an IPv6 address")
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label || strings.ContainsFunc(label, notHost) {
			return "", errors.New("not a host name")
		}
	}
	return text, nil
}

func notHost(r rune) bool {
	alnum := 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9'
	return !alnum && r != '-' && r != '_'
}

func parsePin(text string) (string, error) {
	digits, ok := strings.CutPrefix(text, "sha256-raw:")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != 32 {
		return "", errors.New("not a pinned certificate")
	}
	return "sha256-raw:" + hex.EncodeToString(raw), nil // compared as lower-case text
}

// port is a number of one. It has no form in the environment.
func port(p *int) value {
	return value{
		want: "a port from 1 to 65535",
		json: func(raw jsontext.Value) error {
			n, err := strconv.ParseUint(string(raw), 10, 16)
			if err != nil || n == 0 {
				return errKind
			}
			*p = int(n)
			return nil
		},
	}
}
