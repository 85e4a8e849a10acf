package daemoncmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awp-suite/awp"
)

func TestInstalled(t *testing.T) {
	for _, p := range Installed(t.Context()) {
		if p.Release != awp.Release || filepath.Base(p.Path) != p.Name || p.Trouble.Said != "" {
			t.Errorf("got %+v", p)
		}
	}
}

func TestInstalledOddly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for name, script := range map[string]string{
		"fails": "exit 3", "silent": "", "other": "echo something else", "long": "echo long", "none": "",
	} {
		if name != "none" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if p := installed(t.Context(), name); p.Release != "" || !strings.Contains(p.Trouble.Said, name) {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

func TestLastTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		log        string
		said, hint string
	}{
		"nothing":  {"", "", ""},
		"a start":  {"awp-store: no room\nawp: hint: make some\nawp daemon: awp-store cannot start: no room\nawp: hint: make some", "awp-store cannot start: no room", "make some"},
		"over":     {"awp-store: no room\ntime=x level=INFO msg=\"daemon serves\" pid=7", "", ""},
		"a crash":  {"time=x level=INFO msg=\"daemon serves\" pid=7\nawp-wire: too hot", "awp-wire: too hot", ""},
		"closed":   {"awp-wire: too hot\ntime=x level=INFO msg=\"daemon closing\"", "", ""},
		"no words": {"time=x level=INFO msg=\"program started\"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if said, hint := lastTrouble(strings.Split(test.log, "\n")); said != test.said || hint != test.hint {
				t.Errorf("got %q, %q", said, hint)
			}
		})
	}
}
