package daemoncmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/supervise"
)

// findPrograms returns the path of every program, by name.
func findPrograms() (map[string]string, error) {
	paths := make(map[string]string)
	for _, p := range programs {
		path, err := findProgram(p.name)
		if err != nil {
			return nil, err
		}
		paths[p.name] = path
	}
	return paths, nil
}

// findProgram finds a program of the suite: beside our own, where the release that we are
// of was installed, else on the PATH.
func findProgram(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own executable: %w", err)
	}
	beside := []string{filepath.Dir(self)}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		beside = []string{filepath.Dir(real), filepath.Dir(self)}
	}
	for _, dir := range beside {
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", &awp.Error{
			Code:    awp.NotFound,
			Message: fmt.Sprintf("%s is neither in %s nor on the PATH", name, beside[0]),
			Hint:    "install the programs of the suite side by side",
			Cause:   err,
		}
	}
	return path, nil
}

// supervised is the programs as the supervisor takes them.
func supervised(paths map[string]string, env []string) []supervise.Program {
	var list []supervise.Program
	for _, p := range programs {
		list = append(list, supervise.Program{
			Name:    p.name,
			Path:    paths[p.name],
			Sockets: []string{p.socket},
			Env:     env,
		})
	}
	return list
}

// overlay is os.Getenv under assignments.
func overlay(assignments []string) func(string) string {
	return func(name string) string {
		for i := len(assignments) - 1; i >= 0; i-- {
			if val, ok := strings.CutPrefix(assignments[i], name+"="); ok {
				return val
			}
		}
		return os.Getenv(name)
	}
}
