package interop

import (
	"context"
	"encoding/json/v2"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/readings.txt")

// What the two implementations answer where the description leaves a choice. The golden
// file is what doc/protocol-notes.md speaks of; a change there is a change here.
func TestReadings(t *testing.T) {
	needPython(t)
	t.Parallel()
	o, p := newOurs(t, "unix"), newTheirs(t, "unix")
	o.start()
	p.start()
	var answers [2]map[string]string
	var questions []string
	for i, s := range []side{o, p} {
		eventually(t, commandWithin, func() error {
			_, err := os.Lstat(strings.TrimPrefix(s.address(), "unix:"))
			return err
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*commandWithin)
		defer cancel()
		ask := exec.CommandContext(ctx, python, "-B", "testdata/readings.py", s.address())
		ask.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(script))
		out, err := output(ask)
		check(t, err)
		answers[i], questions = make(map[string]string), nil
		for line := range strings.Lines(out) {
			var a struct {
				Question string   `json:"question"`
				Answer   []string `json:"answer"`
			}
			check(t, json.Unmarshal([]byte(line), &a))
			answers[i][a.Question] = strings.Join(a.Answer, ", ")
			questions = append(questions, a.Question)
		}
	}
	var got strings.Builder
	for _, q := range questions {
		both, other := answers[0][q], answers[1][q]
		if both == other {
			fmt.Fprintf(&got, "%s: %s\n", q, orNothing(both))
			continue
		}
		fmt.Fprintf(&got, "%s: awp: %s; python: %s\n", q, orNothing(both), orNothing(other))
	}
	const golden = "testdata/readings.txt"
	if *update {
		check(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	check(t, err)
	if got.String() != string(want) {
		t.Errorf("answers differ from %s (-update rewrites it):\n%s", golden, got.String())
	}
}

func orNothing(answer string) string {
	if answer == "" {
		return "taken in silence"
	}
	return answer
}
