package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// checkPath names the limit that the system would only hint at.
func checkPath(path string) error {
	if len(path) > maxPath {
		return &awp.Error{
			Code:    awp.Invalid,
			Message: fmt.Sprintf("path of a Unix socket is %d bytes long, at most %d fit", len(path), maxPath),
			Hint:    "use a shorter path",
		}
	}
	return nil
}

// listenUnix binds path. A socket that is already there is in use if somebody answers,
// and is a leftover if not.
func listenUnix(ctx context.Context, a wire.Addr) (*Listener, error) {
	path := a.Rest
	if err := checkPath(path); err != nil {
		return nil, err
	}
	switch fi, err := os.Lstat(path); {
	case err == nil && fi.Mode()&fs.ModeSocket == 0:
		return nil, &awp.Error{Code: awp.Invalid, Message: "a file that is not a socket is in the way", Hint: "move it elsewhere, or choose another path"}
	case err == nil:
		if err := removeDead(ctx, path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, bindError(err)
	default:
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, &awp.Error{Code: awp.Invalid, Message: "directory of the Unix socket does not exist", Hint: "make the directory first", Cause: err}
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, bindError(err)
	}
	return &Listener{l: l, addr: a}, nil
}

// removeDead removes the socket at path unless somebody listens on it. Only a refusal
// proves that nobody does.
func removeDead(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, wire.SocketProbe)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		nc.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return bindError(err)
		}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return &awp.Error{Code: awp.Busy, Message: "Unix socket is in use", Hint: "stop the program that listens there, or choose another path", Cause: err}
}
