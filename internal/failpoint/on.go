//go:build failpoint

// Package failpoint lets a test end a program at a named point, as kill -9 would, and
// change what a test cannot wait for. Tests of the whole suite say so in files of the
// home, which they may write at any time:
//
//	failpoint     "point n": the program that passes that point for the n-th time since
//	              the file was there kills itself. Before it does, it removes the file,
//	              so that its successor lives.
//	test.NAME     what [Setting] returns
package failpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

var (
	mu    sync.Mutex
	armed string // the file's text
	left  int
)

// Hit marks that the program passes the point called name.
func Hit(name string) {
	path := filepath.Join(os.Getenv("AWP_HOME"), "failpoint")
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var point string
	var n int
	if _, err := fmt.Sscan(string(text), &point, &n); err != nil || point != name {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if armed != string(text) {
		armed, left = string(text), n
	}
	left--
	if left == 0 && os.Remove(path) == nil {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// Setting returns what a test set for home under name, or nothing.
func Setting(home, name string) string {
	text, err := os.ReadFile(filepath.Join(home, "test."+name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
