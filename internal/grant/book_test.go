package grant

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// PROTOCOL.md section 13, rule by rule: a is the home, t is trusted, the rest ask.
func TestBook(t *testing.T) {
	ids := map[string]wire.Identity{}
	for _, name := range []string{"a", "b", "c", "d", "t"} {
		ids[name] = agent(t, name[0])
	}
	// to spells a grant: issuer, subject, capabilities; then its audience, or a time it is late by.
	type to struct {
		iss, sub, caps string
		aud            string
		expired        bool
	}
	for name, tt := range map[string]struct {
		grants []to
		peer   string
		want   string // capabilities; - means that nothing is honored
	}{
		"nothing known":                     {nil, "b", "-"},
		"1. ours":                           {[]to{{iss: "a", sub: "b", caps: "exec fs:read"}}, "b", "exec fs:read"},
		"1. ours, twice":                    {[]to{{iss: "a", sub: "b", caps: "exec"}, {iss: "a", sub: "b", caps: "exec introduce"}}, "b", "exec introduce"},
		"1. ours, to another":               {[]to{{iss: "a", sub: "c", caps: "exec"}}, "b", "-"},
		"1. ours, expired":                  {[]to{{iss: "a", sub: "b", caps: "exec", expired: true}}, "b", "-"},
		"1. ours, empty":                    {[]to{{iss: "a", sub: "b"}}, "b", ""},
		"1. ours, for another":              {[]to{{iss: "a", sub: "b", caps: "exec", aud: "c"}}, "b", "-"},
		"2. a trusted issuer's":             {[]to{{iss: "t", sub: "b", caps: "exec"}}, "b", "exec"},
		"2. a trusted issuer's, for us":     {[]to{{iss: "t", sub: "b", caps: "exec", aud: "a"}}, "b", "exec"},
		"2. a trusted issuer's, for others": {[]to{{iss: "t", sub: "b", caps: "exec", aud: "c"}}, "b", "-"},
		"somebody's":                        {[]to{{iss: "c", sub: "b", caps: "exec"}}, "b", "-"},
		"its own":                           {[]to{{iss: "b", sub: "b", caps: "exec"}}, "b", "-"},
		"3. introduced":                     {[]to{{iss: "a", sub: "b", caps: "introduce fs:read"}, {iss: "b", sub: "c", caps: "fs:read", aud: "a"}}, "c", "fs:read"},
		"3. introduced without an audience": {[]to{{iss: "a", sub: "b", caps: "introduce fs:read"}, {iss: "b", sub: "c", caps: "fs:read"}}, "c", "fs:read"},
		"3. introduced to another":          {[]to{{iss: "a", sub: "b", caps: "introduce fs:read"}, {iss: "b", sub: "c", caps: "fs:read", aud: "d"}}, "c", "-"},
		"3. for more than it holds":         {[]to{{iss: "a", sub: "b", caps: "introduce fs:read"}, {iss: "b", sub: "c", caps: "exec fs:read fs:write", aud: "a"}}, "c", "fs:read"},
		"3. by a bare introduce":            {[]to{{iss: "a", sub: "b", caps: "introduce"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", ""},
		"3. by several":                     {[]to{{iss: "a", sub: "b", caps: "introduce fs:read"}, {iss: "t", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "exec fs:read", aud: "a"}}, "c", "exec fs:read"},
		"3. what else it holds":             {[]to{{iss: "a", sub: "b", caps: "introduce"}, {iss: "a", sub: "b", caps: "exec"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", ""},
		"3. introducer without introduce":   {[]to{{iss: "a", sub: "b", caps: "exec"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", "-"},
		"3. introduce never passes on":      {[]to{{iss: "a", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "introduce exec", aud: "a"}}, "c", "exec"},
		"3. one level":                      {[]to{{iss: "a", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "introduce exec", aud: "a"}, {iss: "c", sub: "d", caps: "exec", aud: "a"}}, "d", "-"},
		"3. introducer of a trusted issuer": {[]to{{iss: "t", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", "exec"},
		"3. introducer by its own word":     {[]to{{iss: "b", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", "-"},
		"3. introducer for others":          {[]to{{iss: "t", sub: "b", caps: "introduce exec", aud: "d"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", "-"},
		"3. introducer expired":             {[]to{{iss: "a", sub: "b", caps: "introduce exec", expired: true}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "c", "-"},
		"3. introduction expired":           {[]to{{iss: "a", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "exec", aud: "a", expired: true}}, "c", "-"},
		"3. what the introducer holds":      {[]to{{iss: "a", sub: "b", caps: "introduce exec"}, {iss: "b", sub: "c", caps: "exec", aud: "a"}}, "b", "exec introduce"},
	} {
		b := Book{Me: ids["a"].Key, Trust: []awp.Key{ids["t"].Key}}
		for _, g := range tt.grants {
			terms := Terms{Subject: ids[g.sub].Key, Caps: strings.Fields(g.caps)}
			if g.aud != "" {
				terms.Audience = ids[g.aud].Key
			}
			if g.expired {
				terms.Expires = now
			}
			b.Add(signed(t, ids[g.iss], terms))
		}
		caps, honored := b.Allows(ids[tt.peer].Key, now)
		if got := strings.Join(caps, " "); got != strings.TrimPrefix(tt.want, "-") || honored != (tt.want != "-") {
			t.Errorf("%s: %q %v, want %q", name, got, honored, tt.want)
		}
		if later, honored := b.Allows(ids[tt.peer].Key, now.Add(time.Hour)); honored || len(later) > 0 {
			t.Errorf("%s: still %q when all has expired", name, later)
		}
	}
}

// Whatever grants there are: nobody but a root's subject ever holds introduce, and
// whatever is held was granted by a root to the peer or to its introducer.
func TestBookConfersNothingOfItsOwn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([]awp.Key, 6) // 0 is the home, 1 is trusted
	for i := range keys {
		keys[i] = agent(t, byte('a'+i)).Key
	}
	for range 5000 {
		b := Book{Me: keys[0], Trust: keys[1:2]}
		var all []Grant
		for range rng.IntN(12) {
			g := Grant{Issuer: keys[rng.IntN(len(keys))], Subject: keys[rng.IntN(len(keys))], Expires: now.Add(time.Hour)}
			for _, c := range []string{Exec, ReadFile, Introduce} {
				if rng.IntN(2) == 0 {
					g.Caps = append(g.Caps, c)
				}
			}
			if rng.IntN(4) == 0 {
				g.Audience = keys[rng.IntN(len(keys))]
			}
			all = append(all, g)
			b.Add(g)
		}
		root := func(g Grant) bool { return (g.Issuer == keys[0] || g.Issuer == keys[1]) && g.For(keys[0]) }
		for _, peer := range keys {
			caps, _ := b.Allows(peer, now)
			for _, c := range caps {
				if !slices.ContainsFunc(all, func(g Grant) bool {
					if !slices.Contains(g.Caps, c) || !g.For(keys[0]) || g.Subject != peer {
						return false
					}
					return root(g) || c != Introduce && slices.ContainsFunc(all, func(h Grant) bool {
						return root(h) && h.Subject == g.Issuer && slices.Contains(h.Caps, Introduce) && slices.Contains(h.Caps, c)
					})
				}) {
					t.Fatalf("%s holds %s by %+v", peer.Short(), c, all)
				}
			}
		}
	}
}
