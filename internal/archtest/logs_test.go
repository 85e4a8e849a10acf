package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	logCall  = regexp.MustCompile(`(?i)\blog\.(debug|info|warn|error)\(`)
	isSecret = regexp.MustCompile(`\.Short\(\)|\.Fingerprint\(\)|\b(key|who|peer)\.String\(\)|\.via\b|\.Via\b|\.Addr\(\)(,|\)|\.String)|[hH]ello\.Addr`)
)

// Log lines hold no part of a key and no address: an address is a secret, and who talks to
// whom is nobody's business who gets to see a log. A link has a number.
func TestLogsNameNobody(t *testing.T) {
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for n, line := range strings.Split(string(text), "\n") {
				if logCall.MatchString(line) && isSecret.MatchString(line) {
					t.Errorf("%s:%d logs a key or an address: %s", path, n+1, strings.TrimSpace(line))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
