//go:build linux

package nettest

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The demo's task, step by step, over tailcat.
func TestDemo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	demo := exec.CommandContext(ctx, program("demo"), "-transport", "tailcat", bin)
	demo.Env = cleanEnv()
	out, err := demo.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "every step held") {
		t.Fatalf("%v\n%s", err, out)
	}
}
