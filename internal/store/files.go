package store

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/atomicfile"
	"github.com/awp-suite/awp/internal/blob"
	"github.com/awp-suite/awp/wire"
)

// files is the directory of files sent and received:
//
//	blobs/out/<ref>                       a copy of a file being sent, until acknowledged
//	blobs/<short key>/<safe ref>          a file that arrives
//	blobs/<short key>/<safe ref>.d/<name> the same file, complete
//
// Names come from strangers; wire.SafeName makes them harmless.
type files struct {
	root string

	partials map[string]*partial // the committer's alone
	onSync   func(dir string)    // a test's; nil: no

	mu     sync.Mutex // guards what follows
	staged *stagedFile
	buf    [wire.ChunkSize]byte // a chunk read from it
}

// stagedFile is the file that chunks were last read from, kept open for the next.
type stagedFile struct {
	ref string
	f   *os.File
}

// partial is a file that arrives, open for writing.
type partial struct {
	f     *os.File
	size  int64    // bytes in the file
	dirty bool     // written to and not synced
	dirs  []string // whose entries changed
}

// maxPartials bounds the files held open for writing.
const maxPartials = 32

func newFiles(root string) *files {
	return &files{root: root, partials: make(map[string]*partial)}
}

func (f *files) close() {
	f.forget()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.staged != nil {
		f.staged.f.Close()
		f.staged = nil
	}
}

// forget closes the files held open for writing: after a rollback their contents are not
// what their rows say.
func (f *files) forget() {
	for path, p := range f.partials {
		p.f.Close()
		delete(f.partials, path)
	}
}

// trim closes the files held open that have nothing to sync.
func (f *files) trim() {
	for path, p := range f.partials {
		if !p.dirty {
			p.f.Close()
			delete(f.partials, path)
		}
	}
}

// incoming returns where a file that arrives lies, while it does and once it is complete.
func (f *files) incoming(from awp.Key, ref, name string) (partialPath, final string) {
	base := filepath.Join(f.root, wire.SafeName(from.Short()), safeRef(ref))
	if name == "" {
		name = "file"
	}
	return base, filepath.Join(base+".d", wire.SafeName(name))
}

// errLost means that data of a file that was committed is no longer on the disk.
var errLost = errors.New("data that had arrived is gone")

// open opens a file that arrives, for writing after its first size bytes. A promotion
// whose commit never came is undone.
func (f *files) open(path string, size int64) (*partial, error) {
	if p := f.partials[path]; p != nil {
		return p, p.cut(size)
	}
	if len(f.partials) >= maxPartials {
		f.trim()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && size > 0 {
		if err := demote(path); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	fi, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	p := &partial{f: file, size: fi.Size(), dirs: []string{filepath.Dir(path), f.root}}
	f.partials[path] = p
	return p, p.cut(size)
}

// demote undoes a promotion. The file's final name was part of the transaction that never
// came to its commit, so nobody knows it: the file is what lies there.
func demote(path string) error {
	entries, err := os.ReadDir(path + ".d")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			return os.Rename(filepath.Join(path+".d", e.Name()), path)
		}
	}
	return errLost
}

// cut drops what was written after the first size bytes and never committed.
func (p *partial) cut(size int64) error {
	if p.size < size {
		return errLost
	}
	if p.size == size {
		return nil
	}
	p.size = size
	return p.f.Truncate(size)
}

func (p *partial) write(data []byte) error {
	p.dirty = true
	n, err := p.f.WriteAt(data, p.size)
	p.size += int64(n)
	return err
}

// promote moves a whole file to its final place, and returns the directories that are to be
// synced for that. Doing it again, after a crash before the commit, is harmless.
func (f *files) promote(path, final string, size int64) (dirs []string, err error) {
	dirs = []string{filepath.Dir(final), filepath.Dir(path)}
	if fi, err := os.Lstat(final); err == nil && fi.Mode().IsRegular() && fi.Size() == size {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return dirs, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return nil, err
	}
	err = os.Rename(path, final)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLost
	}
	return dirs, err
}

// done closes the handle of a file that no more data will come for.
func (f *files) done(path string) {
	if p := f.partials[path]; p != nil {
		p.f.Close()
		delete(f.partials, path)
	}
}

// discard removes a file that was refused.
func (f *files) discard(path string) {
	f.done(path)
	os.Remove(path)
}

// stage copies a file to be sent, so that later changes to it do not matter, and returns
// its size. limit is the largest size allowed, in bytes.
func (f *files) stage(path, ref string, limit int64) (size int64, err error) {
	src, err := os.Open(path)
	if err != nil {
		return 0, sourceError(path, err)
	}
	defer src.Close()
	fi, err := src.Stat()
	if err != nil {
		return 0, sourceError(path, err)
	}
	switch {
	case fi.IsDir():
		return 0, &awp.Error{Code: awp.Invalid, Message: path + " is a directory", Hint: "pack it first, for example with tar, and send the archive"}
	case !fi.Mode().IsRegular():
		return 0, &awp.Error{Code: awp.Invalid, Message: path + " is not a regular file"}
	case fi.Size() > limit:
		return 0, tooLarge(path, limit)
	}
	if err := os.MkdirAll(filepath.Join(f.root, "out"), 0o700); err != nil {
		return 0, fileError("stage the file", path, err)
	}
	dst := f.stagedPath(ref)
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fileError("stage the file", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(dst)
		}
	}()
	size, err = io.Copy(out, io.LimitReader(src, limit+1))
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(dst))
	}
	if err != nil {
		return 0, fileError("stage the file", path, err)
	}
	if size > limit { // it grew while it was read
		return 0, tooLarge(path, limit)
	}
	return size, nil
}

func (f *files) stagedPath(ref string) string { return filepath.Join(f.root, "out", ref) }

// unstage drops the copy of a file that was sent.
func (f *files) unstage(ref string) {
	f.mu.Lock()
	if f.staged != nil && f.staged.ref == ref {
		f.staged.f.Close()
		f.staged = nil
	}
	f.mu.Unlock()
	os.Remove(f.stagedPath(ref))
}

// lostCopy means that the copy of a file that is being sent is gone or short.
type lostCopy struct {
	ref   string
	cause error
}

func (e *lostCopy) Error() string { return "the copy of a file to send is lost: " + e.cause.Error() }

// chunkLine is what the outbox knows of a chunk. The line is built from it and the file,
// the same bytes every time.
type chunkLine struct {
	n, size, at int64
	id          awp.MessageID
	ref         string
	th          awp.ThreadID
}

// bytes is how many bytes of the file the chunk has.
func (c chunkLine) bytes() int { return int(min(wire.ChunkSize, c.size-c.n*wire.ChunkSize)) }

// least is less than the length of the line.
func (c chunkLine) least() int { return base64.StdEncoding.EncodedLen(c.bytes()) }

func (f *files) chunkLine(c chunkLine) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.staged == nil || f.staged.ref != c.ref {
		file, err := os.Open(f.stagedPath(c.ref))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &lostCopy{c.ref, err}
		}
		if err != nil {
			return nil, err
		}
		if f.staged != nil {
			f.staged.f.Close()
		}
		f.staged = &stagedFile{c.ref, file}
	}
	data := f.buf[:c.bytes()]
	if _, err := f.staged.f.ReadAt(data, c.n*wire.ChunkSize); err == io.EOF {
		return nil, &lostCopy{c.ref, err}
	} else if err != nil {
		return nil, fmt.Errorf("read staged file: %w", err)
	}
	last := c.n == blob.Chunks(c.size, wire.ChunkSize)-1
	return wire.AppendChunk(nil, c.id, wire.Stamp(fromMS(c.at)), c.th, c.ref, c.n, last, data), nil
}
