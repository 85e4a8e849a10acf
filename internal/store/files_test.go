package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/awp-suite/awp"
)

// A batch that moved a file to its final name may never be committed: the process ends,
// or another change of the batch fails. The name is in the message of that batch, so
// whoever opens the file again does not know it.
func TestOpenUndoesPromotion(t *testing.T) {
	f := newFiles(t.TempDir())
	path, final := f.incoming(awp.Key{1}, "b_1", "report.pdf")
	write := func(size int64, data string) {
		t.Helper()
		p, err := f.open(path, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.write([]byte(data)), p.f.Sync()); err != nil {
			t.Fatal(err)
		}
	}
	write(0, "committed, ")
	write(11, "not committed")
	if _, err := f.promote(path, final, 24); err != nil {
		t.Fatal(err)
	}
	f.forget()

	write(11, "again")
	if _, err := f.promote(path, final, 16); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(final); string(got) != "committed, again" {
		t.Errorf("%q, %v", got, err)
	}
	if rest, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(rest) != 1 {
		t.Errorf("left: %q", rest)
	}
}

func TestOpenFindsDataLost(t *testing.T) {
	f := newFiles(t.TempDir())
	path, final := f.incoming(awp.Key{1}, "b_1", "report.pdf")
	if _, err := f.open(path, 1); !errors.Is(err, errLost) {
		t.Errorf("open a missing file: %v", err)
	}
	if _, err := f.promote(path, final, 1); !errors.Is(err, errLost) {
		t.Errorf("promote a missing file: %v", err)
	}
}
