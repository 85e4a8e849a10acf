package daemoncmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// logFile is the log of a daemon started on demand, in the home.
const logFile = "daemon.log"

// maxLog is where the log is set aside as daemon.log.1, in bytes.
const maxLog = 10 << 20

// What of the log an error shows.
const (
	shownLines = 10
	shownBytes = 16 << 10
)

// openLog opens the log for appending.
func openLog(home string) (*os.File, error) {
	return os.OpenFile(filepath.Join(home, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func size(f *os.File) int64 {
	fi, err := f.Stat()
	if err != nil {
		return 0
	}
	return fi.Size()
}

// logWriter is where the daemon and its programs log: standard error. Where that is the
// home's daemon.log, it is kept below maxLog.
//
// The log is copied aside and emptied, not renamed: standard error, where the Go runtime
// writes if we crash, stays the same file as daemon.log.
type logWriter struct {
	mu   sync.Mutex
	f    *os.File
	path string // empty: not a file to rotate
	size int64
	max  int64
}

func newLogWriter(f *os.File, home string) *logWriter {
	w := &logWriter{f: f, max: maxLog}
	path := filepath.Join(home, logFile)
	ours, err := f.Stat()
	if err != nil {
		return w
	}
	if theirs, err := os.Stat(path); err == nil && os.SameFile(ours, theirs) {
		w.path, w.size = path, ours.Size()
	}
	return w
}

// Write writes whole lines.
func (w *logWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path != "" && w.size > 0 && w.size+int64(len(lines)) > w.max {
		w.size = 0 // if it fails, it is tried again as much later
		if err := w.rotate(); err != nil {
			fmt.Fprintf(w.f, "awp: %v\n", err)
		}
	}
	n, err := w.f.Write(lines)
	w.size += int64(n)
	return n, err
}

func (w *logWriter) rotate() error {
	from, err := os.Open(w.path)
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	defer from.Close()
	tmp := w.path + ".1.new"
	to, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	_, err = io.Copy(to, from)
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp, w.path+".1")
	}
	if err == nil {
		err = w.f.Truncate(0)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("rotate log: %w", err)
	}
	return nil
}

// lastLines returns the last lines of the log, of what was written from offset on. After
// a rotation that is all of it.
func lastLines(path string, offset int64) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	end := size(f)
	if offset > end {
		offset = 0
	}
	cut := end-offset > shownBytes
	if cut {
		offset = end - shownBytes
	}
	data, err := io.ReadAll(io.NewSectionReader(f, offset, end-offset))
	if err != nil {
		return nil
	}
	if cut { // in the middle of a line, most likely
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-shownLines):]
}
