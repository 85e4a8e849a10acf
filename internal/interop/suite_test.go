package interop

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/awp-suite/awp"
)

// ours is a home of the suite's own programs.
type ours struct {
	t         *testing.T
	dir, addr string
}

func newOurs(t *testing.T, transport string) *ours {
	t.Helper()
	base, addr := newBase(t, transport)
	o := &ours{t: t, dir: filepath.Join(base, "h"), addr: addr}
	check(t, os.Mkdir(o.dir, 0o700))
	settings, err := json.Marshal(map[string]any{"name": "ours", "listen": []string{addr}})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(o.dir, "config.json"), settings, 0o600))
	check(t, os.WriteFile(filepath.Join(o.dir, "test.gap"), []byte("20ms"), 0o600)) // a killed program is back soon
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("daemon.log:\n%s", o.log())
		}
		if _, err := o.try("down"); err != nil {
			t.Errorf("awp down: %v", err)
		}
	})
	return o
}

func (o *ours) log() string {
	text, _ := os.ReadFile(filepath.Join(o.dir, "daemon.log"))
	return string(text)
}

func (o *ours) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "awp"), append([]string{"--home", o.dir}, args...)...)
	return output(cmd)
}

// output runs a command, and puts into its error what it had to say.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		err = fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(out), err
}

func get[T any](o *ours, args ...string) (v T) {
	o.t.Helper()
	out, err := o.try(append(args, "--json")...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &v)
	}
	if err != nil {
		o.t.Errorf("awp: %v", err)
	}
	return v
}

func (o *ours) start() string   { return get[awp.Status](o, "up").Key.String() }
func (o *ours) address() string { return o.addr }

func (o *ours) dial(address string) error {
	_, err := o.try("connect", address)
	return err
}

func (o *ours) send(peer, th, text string, files ...string) said {
	o.t.Helper()
	args := []string{"send", "--wait-ack", "0", peer, text}
	if th != "" {
		args = append(args, "--thread", th)
	}
	for _, file := range files {
		args = append(args, "--file", file)
	}
	sent := get[awp.Sent](o, args...)
	return said{string(sent.ID), string(sent.Th), text, files}
}

func (o *ours) state(peer, th, state string) said {
	o.t.Helper()
	sent := get[awp.Sent](o, "state", peer, th, state)
	return said{string(sent.ID), th, state, nil}
}

func (o *ours) met(peer string) error {
	for _, p := range get[awp.Status](o, "status").Peers {
		if p.Key.String() == peer && p.Connected {
			return nil
		}
	}
	return errors.New("ours has not met " + peer)
}

func (o *ours) outbox() int { return get[awp.Status](o, "status").Outbox }

func (o *ours) heard(peer string) (list []heard) {
	o.t.Helper()
	type shown struct {
		Events []awp.Event `json:"events"`
	}
	for _, e := range get[shown](o, "read", "--no-mark", "--last", "100000", "--peer", peer).Events {
		if e.Dir != awp.In || e.Type != "msg" && e.Type != "state" {
			continue
		}
		h := heard{id: string(e.ID), th: string(e.Th), text: text(o.t, e.Msg)}
		files := make(map[string]string)
		for _, b := range e.Blobs {
			if b.Status == awp.BlobComplete {
				files[b.Name] = b.Path
			}
		}
		h.files = maps.Values(files)
		list = append(list, h)
	}
	return list
}

var startedAs = regexp.MustCompile(`msg="program started" program=(awp-\w+) pid=(\d+)`)

// kill kills one of the home's programs, as a crash would. It is sure to be one of this
// test run: it runs from its directory.
func (o *ours) kill(choice int) string {
	pids := map[string]int{}
	for _, m := range startedAs.FindAllStringSubmatch(o.log(), -1) {
		pids[m[1]], _ = strconv.Atoi(m[2])
	}
	text, _ := os.ReadFile(filepath.Join(o.dir, "daemon.pid"))
	pids["awp"], _ = strconv.Atoi(strings.TrimSpace(string(text)))
	victim := []string{"awp-store", "awp-store", "awp-wire", "awp-wire", "awp"}[choice%5]
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pids[victim]))
	if pids[victim] <= 0 || !strings.HasPrefix(exe, bin) && !errors.Is(err, os.ErrNotExist) {
		return "nobody"
	}
	if err == nil || !exists("/proc/self/exe") {
		syscall.Kill(pids[victim], syscall.SIGKILL) //nolint:errcheck // it may have ended
	}
	return victim
}

// revive needs to do nothing for a program that its supervisor starts again, and starts
// the supervisor otherwise.
func (o *ours) revive() { o.start() }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
