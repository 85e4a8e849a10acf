package ipc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/awp-suite/awp"
)

// The sockets of a home, all mode 0600.
const (
	StoreSocket = "awp.sock"      // awp-store: the control socket
	WireSocket  = "awp-wire.sock" // awp-wire
)

// PathFile, in a home too deep for a socket path, holds the path of StoreSocket; the
// other sockets lie beside it. Any shell finds them, whatever its environment.
const PathFile = "awp.sock.path"

// maxSocketPath is what every system takes: 108 bytes on Linux and 104 on macOS, less
// the closing zero and some room for the longest of the names above.
const maxSocketPath = 100

// SocketPath returns where the socket called name of this home is, or would be.
func SocketPath(home, name string) string {
	if b, err := os.ReadFile(filepath.Join(home, PathFile)); err == nil {
		if p := strings.TrimSpace(string(b)); filepath.IsAbs(p) {
			return filepath.Join(filepath.Dir(p), name)
		}
	}
	return filepath.Join(home, name)
}

// Listen makes the listening socket called name of a home. The caller holds the home's
// lock, so that a socket file already there is a dead one, and is replaced.
func Listen(home, name string) (*net.UnixListener, error) {
	dir, err := socketDir(home)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSocket == 0 {
		return nil, &awp.Error{Code: awp.Invalid, Message: path + " is in the way: it is not a socket", Hint: "move it elsewhere"}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove dead socket: %w", err)
	}
	old := syscall.Umask(0o177) // from its first moment the socket is 0600
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

// TooDeep reports whether the path of home is too long for sockets in it, which then are
// in a runtime directory.
func TooDeep(home string) bool { return len(filepath.Join(home, WireSocket)) > maxSocketPath }

// socketDir returns the directory for a home's sockets, and leaves a note in the home
// when that is another one.
func socketDir(home string) (string, error) {
	note := filepath.Join(home, PathFile)
	if !TooDeep(home) {
		if err := os.Remove(note); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return home, nil
	}
	dir, err := runtimeDir(home)
	if err != nil {
		return "", err
	}
	tmp := note + ".new"
	if err := os.WriteFile(tmp, []byte(filepath.Join(dir, StoreSocket)+"\n"), 0o600); err != nil {
		return "", err
	}
	return dir, os.Rename(tmp, note)
}

// runtimeDir returns a private directory, short enough for sockets, of this home alone.
func runtimeDir(home string) (string, error) {
	abs, err := filepath.Abs(home)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(abs))
	name := "awp-" + hex.EncodeToString(sum[:8])
	bases := []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"}
	for _, base := range bases {
		dir := filepath.Join(base, name)
		if base == "" || len(filepath.Join(dir, WireSocket)) > maxSocketPath {
			continue
		}
		if err = checkBase(base); err != nil {
			continue
		}
		if err = makePrivate(dir); err == nil {
			return dir, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("every candidate is longer than %d bytes", maxSocketPath)
	}
	return "", &awp.Error{
		Code:    awp.Invalid,
		Message: fmt.Sprintf("no place for the sockets of %s: %v", home, err),
		Hint:    "set XDG_RUNTIME_DIR to a short private directory, or use a home with a shorter path",
		Cause:   err,
	}
}

// checkBase makes sure that nobody else can put another directory in the place of ours.
func checkBase(base string) error {
	fi, err := os.Stat(base)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	trusted := ok && (int(st.Uid) == os.Getuid() || st.Uid == 0)
	shared := fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0
	if !fi.IsDir() || !trusted || shared {
		return fmt.Errorf("others can change %s", base)
	}
	return nil
}

// makePrivate makes dir ours alone, and refuses one that is not.
func makePrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !fi.IsDir() || fi.Mode().Perm() != 0o700 || !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory of this user with mode 0700", dir)
	}
	return nil
}

// Dial connects to the program that serves the socket called name of a home. An error
// with code [awp.Unreachable] means that nobody serves it; [awp.Denied], that the home is
// another user's; [awp.Busy], that too many callers wait for it already.
func Dial(ctx context.Context, home, name string, handler Handler) (*Conn, error) {
	path := SocketPath(home, name)
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, dialError(home, path, err)
	}
	if err := checkServer(nc); err != nil {
		nc.Close()
		return nil, err
	}
	return NewConn(ctx, nc, handler), nil
}

func dialError(home, path string, err error) error {
	// A path that is too long is refused before anybody looks whether we may see it.
	_, hidden := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(hidden, fs.ErrPermission):
		return notOurs(home, err)
	case errors.Is(err, syscall.EAGAIN): // Linux: the socket's queue of callers is full
		return &awp.Error{Code: awp.Busy, Message: "the daemon is busy: too many callers wait for it", Hint: "try again", Cause: err}
	}
	return &awp.Error{Code: awp.Unreachable, Message: "the daemon is not running", Hint: "start it: awp up", Cause: err}
}

// notOurs says whose home it is, where that can be seen.
func notOurs(home string, cause error) error {
	message := "no permission to use the home " + home
	if fi, err := os.Stat(home); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
			message = fmt.Sprintf("the home %s belongs to user id %d, this is %d", home, st.Uid, os.Getuid())
		}
	}
	return &awp.Error{Code: awp.Denied, Message: message, Hint: "run awp as the home's owner, or choose another home: --home", Cause: cause}
}
