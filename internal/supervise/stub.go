package supervise

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// stubArg is the argument that makes our own binary the stub.
const stubArg = "--supervise-exec"

// Stub turns this process into the program that the supervisor meant, if this process is
// the supervisor's stub; else it returns. Every binary that supervises calls it first in
// main.
//
// Socket activation wants LISTEN_PID to be the program's own pid, so that a variable
// inherited by accident misleads nobody. The parent cannot know the pid before the fork,
// and between fork and exec a Go program runs no code of its own. So the child is first
// this same binary, which sets the variable and execs the program: no shell, one code
// path for what systemd and we start. It costs one more start of a Go program, about 3 ms
// (BenchmarkStub), each time a program is started.
func Stub() {
	if len(os.Args) < 4 || os.Args[1] != stubArg {
		return
	}
	path, argv := os.Args[2], os.Args[3:]
	env := append(os.Environ(), "LISTEN_PID="+strconv.Itoa(os.Getpid()))
	err := syscall.Exec(path, argv, env)
	fmt.Fprintf(os.Stderr, "%s: %s: %v\n", argv[0], path, err)
	os.Exit(126)
}

// stubArgs is the argument list by which stub runs path as argv.
func stubArgs(stub, path string, argv []string) []string {
	return append([]string{stub, stubArg, path}, argv...)
}
