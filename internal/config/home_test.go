package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
)

func TestHome(t *testing.T) {
	t.Chdir("/")
	for name, test := range map[string]struct {
		flag string
		env  []string
		want string
	}{
		"the flag":         {"/flag", []string{"AWP_HOME=/env", "HOME=/me"}, "/flag"},
		"the environment":  {"", []string{"AWP_HOME=/env/", "HOME=/me"}, "/env"},
		"the default":      {"", []string{"HOME=/me"}, "/me/.awp"},
		"a relative one":   {"x/../y", nil, "/y"},
		"none to be found": {"", nil, ""},
	} {
		got, err := Home(test.flag, env(test.env...))
		if got != test.want || (err == nil) == (test.want == "") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestPrepare(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "a", "b")
	mode := func(path string) os.FileMode {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi.Mode().Perm()
	}
	if err := Prepare(home); err != nil || mode(home) != 0o700 {
		t.Errorf("a new home: %v, mode %o", err, mode(home))
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(home); err != nil || mode(home) != 0o700 {
		t.Errorf("an open home: %v, mode %o", err, mode(home))
	}

	shared := filepath.Join(dir, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(shared, "notes")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(shared); awp.CodeOf(err) != awp.Invalid || mode(shared) != 0o755 {
		t.Errorf("somebody's directory: %v, mode %o", err, mode(shared))
	}
	if err := os.WriteFile(filepath.Join(shared, FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(shared); err != nil || mode(shared) != 0o700 {
		t.Errorf("a directory with a config.json: %v, mode %o", err, mode(shared))
	}

	for _, path := range []string{file, filepath.Join(file, "below")} {
		err := Prepare(path)
		if awp.CodeOf(err) != awp.Invalid || !strings.Contains(err.Error(), "is not a directory") || awp.HintOf(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPrepareForeign(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(home); awp.CodeOf(err) != awp.Invalid || !strings.Contains(err.Error(), "belongs to user id 12345") {
		t.Errorf("got %v", err)
	}
}

func TestPrepareReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root writes anywhere")
	}
	home := t.TempDir()
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(home); awp.CodeOf(err) != awp.Invalid || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
}
