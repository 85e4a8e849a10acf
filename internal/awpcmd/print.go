package awpcmd

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/awp-suite/awp/internal/render"
)

// write writes b to stdout at once.
func (a *app) write(b []byte) error {
	_, err := a.stdout.Write(b)
	switch {
	case errors.Is(err, syscall.EPIPE):
		return errGone
	case err != nil:
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func (a *app) printf(format string, args ...any) error {
	return a.write(fmt.Appendf(nil, format, args...))
}

// note tells the person at the terminal something that is neither data nor an error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// printJSON prints v for programs that read the whole of it.
func (a *app) printJSON(v any) error {
	return a.writeJSON(v, jsontext.WithIndent("  "))
}

// printLine prints v as one line of a stream.
func (a *app) printLine(v any) error { return a.writeJSON(v) }

func (a *app) writeJSON(v any, opts ...json.Options) error {
	b, err := json.Marshal(v, append(opts, json.Deterministic(true))...)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	return a.write(append(render.JSON(b), '\n'))
}

// outlivePipe keeps the program alive when the reader of its stdout leaves, so that
// write returns errGone and what was shown is still marked as read.
func outlivePipe() { signal.Ignore(syscall.SIGPIPE) }

// isTerminal reports whether w is one: a terminal has a window size.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
