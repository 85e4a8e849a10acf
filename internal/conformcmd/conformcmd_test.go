package conformcmd

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/awp-suite/awp/conformance"
)

func TestCommandLine(t *testing.T) {
	for args, want := range map[string]int{
		"--list": exitOK, "--list --json": exitOK, "": exitUsage, "--run true unix:/x": exitUsage,
		"--no-such-flag": exitUsage, "--scenario=nothing unix:/nowhere": exitError, "not-an-address": exitError,
		"--scenario=ping unix:/nowhere/at/all": exitError, "--json --scenario=ping unix:/nowhere/at/all": exitError,
	} {
		var out, errs bytes.Buffer
		if code := Main(context.Background(), strings.Fields(args), &out, &errs); code != want {
			t.Errorf("%q: exit %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
		}
	}
}

// Names are unique: --scenario finds one by its name.
func TestScenarios(t *testing.T) {
	had := map[string]bool{}
	for _, s := range conformance.Scenarios() {
		if had[s.Name] || s.Section == "" || s.Doc == "" {
			t.Errorf("scenario %q comes twice, or lacks section or doc", s.Name)
		}
		had[s.Name] = true
	}
	if len(had) < 80 {
		t.Errorf("%d scenarios", len(had))
	}
}
