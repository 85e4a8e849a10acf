package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/awp-suite/awp"
)

// Home returns the absolute path of the home: the flag's, else AWP_HOME's, else ~/.awp.
// It looks at no disk; see [Prepare].
func Home(flag string, env func(string) string) (string, error) {
	home := flag
	if home == "" {
		home = env("AWP_HOME")
	}
	if home == "" {
		user := env("HOME")
		if user == "" {
			return "", &awp.Error{Code: awp.Invalid, Message: "no home: HOME is not set", Hint: "set AWP_HOME, or use --home"}
		}
		home = filepath.Join(user, ".awp")
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return "", &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("no home: %v", err), Hint: "use an absolute path", Cause: err}
	}
	return abs, nil
}

// accessWrite and accessSearch are access(2)'s W_OK and X_OK, the same everywhere.
const (
	accessSearch = 1
	accessWrite  = 2
)

// Prepare makes home, or makes sure that it can serve: a directory of this user that can
// be written. It holds the agent's key, so a mode that lets others in is tightened to
// 0700, without complaint where the directory is empty or plainly a home. Where it is
// something else (somebody set AWP_HOME=/tmp) that would take it from its users: Prepare
// refuses.
func Prepare(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EEXIST) {
			return notHome(home, "is not a directory, or lies below a file", "move that file, or choose another home: --home", err)
		}
		return notHome(home, "cannot be made: "+cause(err), "choose another home: --home", err)
	}
	fi, err := os.Stat(home)
	if err != nil {
		return notHome(home, "cannot be looked at: "+cause(err), "choose another home: --home", err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return notHome(home, fmt.Sprintf("belongs to user id %d, this is %d", st.Uid, os.Getuid()), "run awp as its owner, or choose another home: --home", nil)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if !isHome(home) {
			return notHome(home, "is open to other users and holds other things", "choose another home: --home; or, if you mean this one: chmod 700 "+home, nil)
		}
		if err := os.Chmod(home, 0o700); err != nil {
			return notHome(home, "is open to others and cannot be closed: "+cause(err), "chmod 700 "+home, err)
		}
	}
	if err := syscall.Access(home, accessWrite|accessSearch); err != nil {
		return notHome(home, "cannot be written: "+err.Error(), "chmod 700 "+home, err)
	}
	return nil
}

// isHome reports whether home is empty or has a file that only a home has.
func isHome(home string) bool {
	for _, name := range []string{FileName, "identity.json", "daemon.lock"} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			return true
		}
	}
	entries, err := os.ReadDir(home)
	return err == nil && len(entries) == 0
}

// notHome is the one sentence for all of it.
func notHome(home, what, hint string, cause error) error {
	return &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("the home %s %s", home, what), Hint: hint, Cause: cause}
}

// cause is err without the path, which the sentence has already.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
