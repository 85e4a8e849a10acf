package tailcat

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// logf is where the parts of tailcat write their log: dozens of lines a dial, of interest
// to nobody but who debugs tailcat itself.
func (n *Node) logf(format string, args ...any) {
	if n.opt.Log.Enabled(context.Background(), slog.LevelDebug) {
		n.opt.Log.Debug("tailcat", "text", scrub(fmt.Sprintf(format, args...)))
	}
}

// serverLogf is logf of the listening side, whose log is also the only place where
// version 0.6.0 says how its relay connection is. The words are a hint to look and never
// more: should they change, a change is noticed later, by the clock.
func (n *Node) serverLogf(format string, args ...any) {
	if strings.Contains(format, "derp.Recv(derp-") || strings.Contains(format, "derp-%d connected") {
		select {
		case n.look <- struct{}{}:
		default:
		}
	}
	n.logf(format, args...)
}

// secrets are addresses, keys of every kind, and the tunnel's inner IPv6 addresses, which
// are half a key.
var secrets = regexp.MustCompile(`\btc[A-Za-z0-9_-]{38,}|\b(privkey|nodekey|discokey|psk|mkey|np|dp):[0-9a-f]{8,}|\bfd7a:115c:a1e0:[0-9a-f:]+`)

func scrub(text string) string { return secrets.ReplaceAllString(text, "…") }
