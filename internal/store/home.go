package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/atomicfile"
	"github.com/awp-suite/awp/wire"
)

// lockFile is the lock that keeps a second store out of the home. The kernel gives it
// back however the process ends.
type lockFile struct{ f *os.File }

func takeLock(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fileError("take the home's lock", path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, &awp.Error{Code: awp.Busy, Message: "another awp-store has this home open", Hint: "stop it: awp down", Cause: err}
	}
	return &lockFile{f}, nil
}

func (l *lockFile) release() { l.f.Close() }

// loadIdentity reads the home's key, or makes one for a home that never had any.
func loadIdentity(path string, fresh bool) (wire.Identity, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if fresh {
			return makeIdentity(path)
		}
		return wire.Identity{}, &awp.Error{
			Code:    awp.Invalid,
			Message: path + " is missing, and awp.db belongs to the key that was in it",
			Hint:    "restore it from a backup; to begin anew as another agent, use another home with --home",
			Cause:   err,
		}
	}
	if err != nil {
		return wire.Identity{}, fileError("read the identity key", path, err)
	}
	id, err := wire.ParseIdentity(text)
	if err != nil {
		return id, &awp.Error{
			Code:    awp.Invalid,
			Message: fmt.Sprintf("%s is damaged: %v", path, err),
			Hint:    "restore it from a backup; without it this agent cannot prove who it is",
			Cause:   err,
		}
	}
	return id, os.Chmod(path, 0o600)
}

func makeIdentity(path string) (wire.Identity, error) {
	id, err := wire.NewIdentity(rand.Reader)
	if err != nil {
		return id, err
	}
	if err := atomicfile.Write(path, id.MarshalFile()); err != nil {
		return id, fileError("write the identity key", path, err)
	}
	return id, nil
}

// fileError gives an error about a file of the home its sentence and code.
func fileError(verb, path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return diskFull(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &awp.Error{Code: awp.Denied, Message: fmt.Sprintf("%s: %v", verb, err), Hint: "check the owner and the permissions of " + filepath.Dir(path), Cause: err}
	}
	return fmt.Errorf("%s: %w", verb, err)
}

// unnamed words an error for the log: the path of a peer's file holds a part of its key.
func unnamed(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", at.Op, at.Err)
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", at.Op, at.Err)
	}
	return err
}

// sourceError is fileError for a file that a person asked to send.
func sourceError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &awp.Error{Code: awp.NotFound, Message: "no file " + path, Cause: err}
	case errors.Is(err, fs.ErrPermission):
		return &awp.Error{Code: awp.Denied, Message: "no permission to read " + path, Cause: err}
	}
	return fmt.Errorf("read file: %w", err)
}

func tooLarge(path string, limit int64) error {
	return &awp.Error{
		Code:    awp.TooLarge,
		Message: fmt.Sprintf("%s is over the limit of %d bytes a file", path, limit),
		Hint:    "send it in pieces, or raise blob_limit in config.json on both sides",
	}
}

// safeRef names a file after a peer's ref. A ref that has to be changed for that, or that
// would be taken for the directory of a complete file, gets a hash: two refs never share
// a name.
func safeRef(ref string) string {
	safe := wire.SafeName(ref)
	if safe == ref && !strings.HasSuffix(ref, ".d") {
		return safe
	}
	sum := sha256.Sum256([]byte(ref))
	return safe[:min(len(safe), 100)] + "_" + hex.EncodeToString(sum[:8])
}
