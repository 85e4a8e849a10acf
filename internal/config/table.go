package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Variables that no documentation names: how flags without one reach the programs.
const (
	envNoTailcat = "AWP_NO_TAILCAT"
	envVerbose   = "AWP_VERBOSE"
)

// setting is one row of the table: where a setting may be written and what takes it.
type setting struct {
	key string // in config.json, a.b for b in the object a; empty: only in the environment
	env string // empty: only in config.json
	value
}

// table lists every setting. It is the only place that knows their names.
func (s *Settings) table(home string) []setting {
	return []setting{
		{"name", "AWP_NAME", remembered(&s.Name, &s.Set.Name)},
		{"about", "AWP_ABOUT", remembered(&s.About, &s.Set.About)},
		{"harness", "AWP_HARNESS", s.harness()},
		{"model", "AWP_MODEL", remembered(&s.Model, &s.Set.Model)},
		{"listen", "AWP_LISTEN", s.listen()},
		{"advertise", "AWP_ADVERTISE", one(&s.Advertise, `an address or "none"`, parseAdvertise)},
		{"tailcat.derp_map_url", "AWP_TAILCAT_DERP_MAP_URL", one(&s.Tailcat.DERPMapURL, `a URL ("https://…")`, parseURL)},
		{"tailcat.relay.host", "", one(&s.Tailcat.Relay.Host, "a host name or an IPv4 address", parseHost)},
		{"tailcat.relay.port", "", port(&s.Tailcat.Relay.Port)},
		{"tailcat.relay.stun_port", "", port(&s.Tailcat.Relay.STUNPort)},
		{"tailcat.relay.cert", "", one(&s.Tailcat.Relay.Cert, `"sha256-raw:" and 64 hexadecimal digits`, parsePin)},
		{"presence", "AWP_PRESENCE", truth(&s.Presence, "0", "false")},
		{"share_with", "AWP_SHARE_WITH", s.shareWith()},
		{"blob_limit", "AWP_BLOB_LIMIT", size(&s.BlobLimit)},
		{"ping_interval", "AWP_PING_INTERVAL", one(&s.PingInterval, `a duration above 0 such as "30s"`, parseDuration)},
		{"outbox_ttl", "", one(&s.OutboxTTL, `a duration above 0 such as "168h"`, parseDuration)},
		{"trace", "AWP_TRACE", truth(&s.Trace, "0")},
		{"verbose", envVerbose, truth(&s.Verbose, "0")},
		{"allow_plaintext", "AWP_ALLOW_PLAINTEXT", truth(&s.AllowPlaintext, "0")},
		{"policy.accept", "AWP_ACCEPT", one(&s.Policy.Accept, `"any" or "allowlist"`, word(AcceptAny, AcceptAllowlist))},
		{"policy.allow", "AWP_ALLOW", many(&s.Policy.Allow, wantKeys, awp.ParseKey).adding()},
		{"policy.trust", "AWP_TRUST", many(&s.Policy.Trust, wantKeys, awp.ParseKey).adding()},
		{"policy.serve", "AWP_SERVE", many(&s.Policy.Serve, `a list of "exec", "fs:read", "fs:write"`, word("exec", "fs:read", "fs:write")).value()},
		{"policy.root", "AWP_ROOT", s.root(home)},
	}
}

const wantKeys = `a list of keys ("ed25519:…")`

// remembered is a text, and a note that it was written.
func remembered(p *string, set *bool) value {
	return one(p, "a text", func(s string) (string, error) {
		*set = true
		return s, nil
	})
}

func (s *Settings) harness() value {
	return one(&s.Harness, "one of "+strings.Join(Harnesses(), ", "), func(text string) (string, error) {
		id, err := parseHarness(text)
		s.Set.Harness = s.Set.Harness || err == nil
		return id, err
	})
}

// listen notes that an empty list is the default, and that none stands alone.
func (s *Settings) listen() value {
	list := many(&s.Listen, `a list of "tailcat", "tcp:HOST:PORT", "unix:/path", or "none" alone`, parseListen)
	list.check = func() error {
		if len(s.Listen) == 0 {
			s.Listen = []string{ListenTailcat}
		}
		for _, addr := range s.Listen {
			if addr == None && len(s.Listen) > 1 {
				return fmt.Errorf("%q beside an address", None)
			}
		}
		return nil
	}
	return list.value()
}

func (s *Settings) shareWith() value {
	list := many(&s.ShareWith, wantKeys, awp.ParseKey)
	list.check = func() error {
		s.Set.ShareWith = true
		return nil
	}
	return list.value()
}

// root reads a relative path in the file from the file's directory: the working
// directory of whoever happens to start the daemon would make it a matter of luck. In
// the environment it is that of the caller, as anywhere on a command line.
func (s *Settings) root(home string) value {
	v := one(&s.Policy.Root, "a directory", filepath.Abs)
	v.json = quoted(func(path string) error {
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		s.Policy.Root = filepath.Clean(path)
		return nil
	})
	return v
}

func parseListen(text string) (string, error) {
	if text == ListenTailcat || text == None {
		return text, nil
	}
	addr, err := wire.ParseAddr(text)
	if err == nil && addr.Kind == wire.KindTailcat {
		err = errors.New("a tailcat address is where a peer is dialed")
	}
	return addr.String(), err
}

func parseAdvertise(text string) (string, error) {
	if text == None {
		return text, nil
	}
	addr, err := wire.ParseAddr(text)
	return addr.String(), err
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("not above 0")
	}
	return d, err
}

func word(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		for _, w := range words {
			if text == w {
				return w, nil
			}
		}
		return "", errors.New("unknown word")
	}
}

// loadEnv reads what the environment sets. A blank variable is as good as none.
func loadEnv(env func(string) string, table []setting) error {
	for _, row := range table {
		text := ""
		if row.env != "" {
			text = strings.TrimSpace(env(row.env))
		}
		if text == "" {
			continue
		}
		if bad := row.judge(text); bad != nil {
			return &awp.Error{
				Code:    awp.Invalid,
				Message: fmt.Sprintf("%s%s: got %q, want %s", row.env, bad.where(), clip(bad.got), row.want),
				Hint:    "set it right, or unset it",
				Cause:   bad.cause,
			}
		}
	}
	return nil
}

// on reports whether text switches something on: it is not blank and none of off.
func on(text string, off ...string) bool {
	text = strings.TrimSpace(text)
	for _, word := range off {
		if strings.EqualFold(text, word) {
			return false
		}
	}
	return text != ""
}
