package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// listen goes on over crashes of the store: every line once, in order. Once the daemon is
// stopped it ends, and says so.
func TestListenOverCrashes(t *testing.T) {
	t.Parallel()
	a, b := newPair(t, nil)
	join(t, a, b)
	ctx, cancel := context.WithTimeout(t.Context(), 2*commandWithin)
	defer cancel()
	listen := b.command(ctx, "listen", "--text", "--mark")
	out, errs := new(buffer), new(buffer)
	listen.Stdout, listen.Stderr = out, errs
	check(t, listen.Start())
	shown := func(text string) func() error {
		return func() error {
			if !strings.Contains(out.String(), text) {
				return fmt.Errorf("%q is not printed", text)
			}
			return nil
		}
	}
	eventually(t, 30*time.Second, shown("listening as"))
	gone(t, b.kill("awp-store")) // before anything came
	n := 20 * rounds(3)
	for i := range n {
		a.ok("send", "bob", fmt.Sprintf("line %03d.", i), "--wait-ack", "0s")
		if i%20 == 10 {
			b.kill("awp-store")
		}
	}
	eventually(t, commandWithin, shown(fmt.Sprintf("line %03d.", n-1)))
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "  line %03d.\n", i)
	}
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "  line ") {
			got.WriteString(line)
		}
	}
	if got.String() != want.String() {
		t.Errorf("printed:\n%s", got.String())
	}
	eventually(t, commandWithin, func() error { // --mark
		if s := b.ok("status"); !strings.Contains(s, "unread 0,") {
			return fmt.Errorf("not marked: %s", s)
		}
		return nil
	})
	b.ok("down")
	if err := listen.Wait(); err == nil || !strings.Contains(errs.String(), "the daemon was stopped") {
		t.Errorf("after awp down: %v, %s", err, errs)
	}
}
