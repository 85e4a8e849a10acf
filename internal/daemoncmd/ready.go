package daemoncmd

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/supervise"
)

// envReady names the descriptor of the pipe on which a daemon tells its starter how the
// start went.
const envReady = "AWP_READY_FD"

// outcome is that one line, in JSON. An end of the pipe without it means that the daemon
// was killed or crashed.
type outcome struct {
	Ready   bool     `json:"ready"`
	Running bool     `json:"running,omitzero"` // not this one: another, which serves
	Code    awp.Code `json:"code,omitzero"`
	Message string   `json:"message,omitzero"`
	Hint    string   `json:"hint,omitzero"`
}

// maxOutcome bounds the line in bytes.
const maxOutcome = 64 << 10

// inheritedReady returns the pipe that our starter handed us, or nil. Programs started
// from here must not inherit it: its end means ours.
func inheritedReady() *os.File {
	fd, err := strconv.Atoi(os.Getenv(envReady))
	os.Unsetenv(envReady)
	if err != nil || fd < 3 {
		return nil
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "ready")
}

// report tells the starter how the start went, once. Nobody may be there to read it.
func (d *daemon) report(err error) {
	if d.ready == nil {
		return
	}
	o := outcome{Ready: err == nil}
	if err != nil {
		o.Running = errors.Is(err, supervise.ErrRunning)
		o.Code, o.Message, o.Hint = awp.CodeOf(err), err.Error(), awp.HintOf(err)
	}
	if line, err := json.Marshal(o); err == nil {
		d.ready.Write(append(line, '\n')) //nolint:errcheck // see above
	}
	d.ready.Close()
	d.ready = nil
}

// errNoOutcome means that the daemon ended without a word.
var errNoOutcome = errors.New("the daemon ended before it served")

// readOutcome waits for the outcome.
func readOutcome(r io.Reader) (outcome, error) {
	var o outcome
	line, err := io.ReadAll(io.LimitReader(r, maxOutcome))
	if err != nil {
		return o, err
	}
	if len(line) == 0 {
		return o, errNoOutcome
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return o, fmt.Errorf("read the outcome of the start: %w", err)
	}
	return o, nil
}

func (o outcome) err() error {
	if o.Ready {
		return nil
	}
	return &awp.Error{Code: o.Code, Message: o.Message, Hint: o.Hint}
}

// startError makes an error for people of why the start failed. A program that could not
// start has said why in its last lines, in the form that all programs of the suite use:
// "NAME: sentence", then perhaps "NAME: hint: what to do".
func startError(err error) error {
	exit, ok := errors.AsType[*supervise.ExitError](err)
	if !ok {
		return err
	}
	e := &awp.Error{
		Code:    awp.Internal,
		Message: fmt.Sprintf("%s ended while starting: %s", exit.Program, exit.Status),
		Cause:   err,
	}
	if _, said, hint := lastSentence(exit.Last); said != "" {
		e.Message, e.Hint = fmt.Sprintf("%s cannot start: %s", exit.Program, said), hint
		return e
	}
	if n := len(exit.Last); n > 0 {
		e.Message += ": " + exit.Last[n-1]
	}
	return e
}

// lastSentence finds the last sentence that a program said before it ended, who that was,
// and the hint that followed.
func lastSentence(lines []string) (name, said, hint string) {
	for i := len(lines) - 1; i >= 0; i-- {
		name, text, ok := strings.Cut(lines[i], ": ")
		if !ok || !strings.HasPrefix(name, "awp") || strings.Contains(name, " ") {
			continue
		}
		if h, ok := strings.CutPrefix(text, "hint: "); ok {
			hint = h
			continue
		}
		return name, text, hint
	}
	return "", "", ""
}
