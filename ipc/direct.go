package ipc

import "syscall"

// writeNow writes what the socket takes at once of what is pending, without waiting, and
// reports whether that was all. It usually is: then nobody wakes the writing goroutine,
// which costs more than to write. The caller holds c.mu, and that goroutine is not at it.
func (c *Conn) writeNow() bool {
	if c.raw == nil {
		return false
	}
	n := 0
	err := c.raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), c.pending) // an error meets the writing goroutine, too
		return true
	})
	if err != nil || n <= 0 {
		return false
	}
	rest := copy(c.pending, c.pending[n:])
	c.pending = c.pending[:rest]
	if rest == 0 && cap(c.pending) > MaxLine {
		c.pending = nil // one large answer must not stay in memory
	}
	return rest == 0
}
