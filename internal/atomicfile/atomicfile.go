// Package atomicfile writes small files that must survive: whole or not at all, whatever
// ends the program or the machine meanwhile.
package atomicfile

import (
	"os"
	"path/filepath"
)

// Write makes or replaces the file at path, mode 0600. A crash at any moment leaves the
// old contents or the new ones, and once Write has returned the new ones outlive a power
// cut. The directory must exist.
func Write(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // renamed, or not worth a word
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
