package awpcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
)

// Exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitTimeout     = 2   // of wait
	exitNotRunning  = 3   // of status
	exitInterrupted = 130 // 128 and SIGINT's number, as a shell counts
)

// exit is an error that was reported already, or needs no words.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a command line that makes no sense: what would is said after it.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// errGone says that whoever read our stdout left. Nobody is left to tell, and it is no
// failure: head does it all the time.
var errGone = errors.New("the reader of stdout is gone")

// hintDashed explains what became of a mistyped flag.
func (a *app) hintDashed() {
	if a.dashed != "" {
		fmt.Fprintf(a.stderr, "awp: hint: %s is no flag of awp %s; it was taken for the start of a key\n", render.Line(a.dashed), a.name)
	}
}

// report tells stderr about err and returns the exit code for it.
func (a *app) report(err error) int {
	if err == nil || errors.Is(err, errGone) {
		return exitOK
	}
	if code, ok := errors.AsType[exit](err); ok {
		return int(code)
	}
	// An error may have lines, such as the end of a log, and a peer's words in it. None
	// may pass for one of ours.
	message := strings.ReplaceAll(render.Body(strings.TrimSpace(err.Error())), "\n", "\n  ")
	if a.name == "" {
		fmt.Fprintf(a.stderr, "awp: %s\n", message)
	} else {
		fmt.Fprintf(a.stderr, "awp %s: %s\n", a.name, message)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		a.shortUsage()
		a.hintDashed()
		return exitUsage
	}
	a.hintDashed()
	if hint := awp.HintOf(err); hint != "" {
		fmt.Fprintf(a.stderr, "awp: hint: %s\n", render.Line(hint))
	}
	return exitError
}
