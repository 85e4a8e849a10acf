//go:build failpoint

// Package failpoint lets a test end a program at a named point, as kill -9 would.
//
// AWP_FAILPOINT names a file that says "point n": the program kills itself when it
// passes that point for the n-th time since the file was read, which happens at each
// start. Before it does, it removes the file, so that its successor lives.
package failpoint

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

var (
	path  = os.Getenv("AWP_FAILPOINT")
	once  sync.Once
	point string
	left  atomic.Int64
)

// Hit marks that the program passes the point called name.
func Hit(name string) {
	if path == "" {
		return
	}
	once.Do(load)
	if name != point || left.Add(-1) != 0 {
		return
	}
	if os.Remove(path) == nil {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func load() {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var n int64
	if _, err := fmt.Sscan(string(text), &point, &n); err == nil {
		left.Store(n)
	}
}
