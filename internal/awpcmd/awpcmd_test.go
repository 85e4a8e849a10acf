package awpcmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/awpcmd"
	"github.com/awp-suite/awp/internal/daemoncmd"
)

// TestMain makes this binary the command awp of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"awp": func() {
			daemon := awpcmd.Daemon{Ensure: daemoncmd.Ensure, Retry: daemoncmd.Retry, Installed: daemoncmd.Installed, Running: daemoncmd.Running, Down: daemoncmd.Down, Run: daemoncmd.Run}
			os.Exit(awpcmd.Main(context.Background(), daemon, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"awp-store": func() { program("awp-store") },
		"awp-wire":  func() { program("awp-wire") },
	})
}

// program is one of the suite's, which only ever says its release: $RELEASE, or this one;
// with "hang" it does not get that far.
func program(name string) {
	release := os.Getenv("RELEASE")
	switch {
	case len(os.Args) != 2 || os.Args[1] != "--version":
		fmt.Fprintln(os.Stderr, name+": this is a test and starts nothing")
		os.Exit(1)
	case release == "hang":
		r, w, _ := os.Pipe()
		r.Read(make([]byte, 1)) //nolint:errcheck // nobody ever writes
		w.Close()
	case release == "":
		release = awp.Release
	}
	fmt.Println(name, release)
}

// Keys of the scripts' peers: $ME, $BOB and $EVE; short keys for people, $BOBSHORT and
// so on. Eve's begins with a dash.
var keys = map[string]string{
	"ME":  "ed25519:bWVtZW1lbWVtZW1lbWVtZW1lbWVtZW1lbWVtZW1lbWU",
	"BOB": "ed25519:Ym9iYm9iYm9iYm9iYm9iYm9iYm9iYm9iYm9iYm9iYm8",
	"EVE": "ed25519:-2V2ZWV2ZWV2ZWV2ZWV2ZWV2ZWV2ZWV2ZWV2ZWV2ZWU",
}

// TestScripts runs every script in testdata: one behaviour a file, against a fake daemon
// (fake_test.go) that answers what the script says.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"fake": startFake},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("AWP_HOME", home)
			env.Setenv("TZ", "UTC")
			since2020 := time.Since(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
			env.Setenv("AGE", fmt.Sprintf("%dd", since2020/(24*time.Hour)))
			for name, key := range keys {
				env.Setenv(name, key)
				env.Setenv(name+"SHORT", key[len("ed25519:"):][:10])
			}
			return os.Mkdir(home, 0o700)
		},
	})
}
