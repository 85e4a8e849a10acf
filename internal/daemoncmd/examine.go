package daemoncmd

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/doctor"
	"github.com/awp-suite/awp/internal/supervise"
)

// releaseWithin bounds how long a program may take to say its release.
const releaseWithin = 5 * time.Second

// Installed finds the programs of the suite beside awp and asks each for its release.
func Installed(ctx context.Context) []doctor.Program {
	found := make([]doctor.Program, len(programs))
	var all sync.WaitGroup
	for i, p := range programs {
		all.Go(func() { found[i] = installed(ctx, p.name) })
	}
	all.Wait()
	return found
}

func installed(ctx context.Context, name string) doctor.Program {
	path, err := findProgram(name)
	p := doctor.Program{Name: name, Path: path}
	if err != nil {
		p.Trouble = doctor.Words{Said: err.Error(), Hint: awp.HintOf(err)}
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second // whatever it left behind may hold the pipe
	out, err := cmd.Output()
	first, _, _ := strings.Cut(string(out), "\n")
	words := strings.Fields(first)
	switch {
	case ctx.Err() != nil:
		p.Trouble.Said = path + " does not say its release in time: it hangs"
	case err != nil:
		p.Trouble.Said = path + " does not say its release: " + runError(err)
	case len(words) < 2 || words[0] != name:
		p.Trouble.Said = path + " is not a program of the suite, or of another release"
	default:
		p.Release = words[1]
	}
	return p
}

// runError is why a program could not be run, without its path.
func runError(err error) string {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// Running returns the pid of the home's supervisor, 0 when there is none, and why what
// ran last ended or keeps ending, where daemon.log says so.
func Running(home string) (pid int, last doctor.Words) {
	pid, err := supervise.Running(home)
	if err != nil {
		return 0, doctor.Words{Said: err.Error()}
	}
	said, hint := lastTrouble(lastLines(filepath.Join(home, logFile), 0))
	return pid, doctor.Words{Said: said, Hint: hint}
}

// lastTrouble is the last sentence in the log, unless the daemon served or closed after it.
func lastTrouble(lines []string) (said, hint string) {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], `msg="daemon serves"`) || strings.Contains(lines[i], `msg="daemon closing"`) {
			lines = lines[i+1:]
			break
		}
	}
	kept := make([]string, len(lines))
	for i, line := range lines {
		kept[i] = strings.Replace(line, "awp daemon: ", "awp: ", 1)
	}
	name, said, hint := lastSentence(kept)
	if said != "" && name != "awp" {
		said = name + ": " + said
	}
	return said, hint
}
