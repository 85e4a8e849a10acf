package daemoncmd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/supervise"
)

func TestStartError(t *testing.T) {
	for name, test := range map[string]struct {
		last          []string
		message, hint string
	}{
		"no word":        {nil, "awp-store ended while starting: exit status 1", ""},
		"a sentence":     {[]string{"time=now level=INFO msg=x: y", "awp-store: no room"}, "awp-store cannot start: no room", ""},
		"and a hint":     {[]string{"awp-store: open: no room", "awp-store: hint: make some"}, "awp-store cannot start: open: no room", "make some"},
		"hint of awp":    {[]string{"awp-store: no room", "awp: hint: make some"}, "awp-store cannot start: no room", "make some"},
		"a panic":        {[]string{"panic: oops", "goroutine 1 [running]:"}, "awp-store ended while starting: exit status 1: goroutine 1 [running]:", ""},
		"noise after":    {[]string{"awp-store: no room", "exit"}, "awp-store cannot start: no room", ""},
		"someone else's": {[]string{"awp thing: hello"}, "awp-store ended while starting: exit status 1: awp thing: hello", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := startError(&supervise.ExitError{Program: "awp-store", Status: "exit status 1", Last: test.last})
			if err.Error() != test.message || awp.HintOf(err) != test.hint {
				t.Errorf("got %q, hint %q", err, awp.HintOf(err))
			}
		})
	}
	if other := errors.New("x"); startError(other) != other { //nolint:errorlint // the same one
		t.Error("another error was changed")
	}
}

func TestOutcome(t *testing.T) {
	for text, want := range map[string]error{"": errNoOutcome, "{\"ready\":true}\n": nil} {
		o, err := readOutcome(strings.NewReader(text))
		if err != want { //nolint:errorlint // the same one
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && o.err() != nil {
			t.Errorf("%q: %v", text, o.err())
		}
	}
	if _, err := readOutcome(strings.NewReader("ready")); err == nil {
		t.Error("a line that is not JSON was taken")
	}
}

func TestLogIsRotated(t *testing.T) {
	home := t.TempDir()
	f, err := openLog(home)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := newLogWriter(f, home)
	w.max = 20
	for _, line := range []string{"first line\n", "second\n", "third line\n", "fourth\n", "fifth line\n"} {
		if _, err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(home, logFile)
	for name, want := range map[string]string{path: "fifth line\n", path + ".1": "third line\nfourth\n"} {
		if got, err := os.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if fi, err := os.Stat(path + ".1"); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}

func TestOtherOutputIsNotRotated(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := newLogWriter(f, t.TempDir())
	w.max = 1
	w.Write([]byte("one\n"))
	w.Write([]byte("two\n"))
	if got, _ := os.ReadFile(f.Name()); string(got) != "one\ntwo\n" {
		t.Errorf("got %q", got)
	}
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(offset int64, want ...string) {
		t.Helper()
		if got := lastLines(path, offset); !slices.Equal(got, want) {
			t.Errorf("from %d: got %q, want %q", offset, got, want)
		}
	}
	check(0)
	write("")
	check(0)
	write("a\nb\n")
	check(0, "a", "b")
	check(2, "b")
	check(4)
	check(100, "a", "b") // rotated meanwhile
	write(strings.Repeat("x\n", 50) + "end")
	check(0, "x", "x", "x", "x", "x", "x", "x", "x", "x", "end")
	write(strings.Repeat("y", 2*shownBytes) + "\nend\n")
	check(0, "end")
}
