package main

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/awp-suite/awp/ipc"
)

// shapes is what ipc.Version stands for: the names of the methods, and the members of the
// records with their types. A change here without a new version would let two releases talk
// past each other.
const (
	shapesVersion = 3
	shapes        = "f503f288862d2cb4"
)

func TestVersionNamesTheShapes(t *testing.T) {
	_, text := generated(t)
	var b strings.Builder
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "### "), regexp.MustCompile(`^(Parameters|Result|Items?)`).MatchString(line):
			b.WriteString(line + "\n")
		case len(cells) > 3:
			b.WriteString(cells[1] + cells[2] + "\n")
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	got := hex.EncodeToString(sum[:8])
	if got != shapes || ipc.Version != shapesVersion {
		t.Errorf("version %d has shapes %s, noted are %d and %q: a new shape takes a new ipc.Version, noted here", ipc.Version, got, shapesVersion, shapes)
	}
}
