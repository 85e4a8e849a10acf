package interop

import (
	"context"
	"encoding/json/v2"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// theirs is a directory of the peer in Python. The process that holds its links is
// restarted after a kill by who killed it: it has no supervisor.
type theirs struct {
	t         *testing.T
	dir, addr string
	to        string   // dials this address, besides listening
	faults    []string // see testdata/faulty.py

	mu      sync.Mutex
	running *exec.Cmd
	printed *os.File
}

func newTheirs(t *testing.T, transport string) *theirs {
	t.Helper()
	base, addr := newBase(t, transport)
	p := &theirs{t: t, dir: filepath.Join(base, "p"), addr: addr}
	var err error
	p.printed, err = os.Create(filepath.Join(base, "printed"))
	check(t, err)
	t.Cleanup(func() {
		p.kill(0)
		p.printed.Close()
		if text, _ := os.ReadFile(p.printed.Name()); t.Failed() {
			t.Logf("the peer in Python printed:\n%s", text)
		}
	})
	return p
}

func (p *theirs) command(ctx context.Context, args ...string) *exec.Cmd {
	full := append([]string{"-B", script, "--dir", p.dir}, args...)
	if len(p.faults) > 0 {
		full[1] = "testdata/faulty.py"
	}
	cmd := exec.CommandContext(ctx, python, full...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(script), "FAULTS="+strings.Join(p.faults, " "))
	return cmd
}

func (p *theirs) run(args ...string) (out string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	out, err := output(p.command(ctx, args...))
	if err != nil {
		p.t.Error(err)
	}
	return out
}

// start starts the process that holds the links and returns the peer's key.
func (p *theirs) start() string {
	p.t.Helper()
	var status struct{ Key string }
	p.decode(p.run("status"), &status)
	p.revive()
	return status.Key
}

func (p *theirs) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		return
	}
	args := []string{"listen", p.addr, "--name", "theirs"}
	if p.to != "" {
		args = []string{"connect", p.to, "--listen", p.addr, "--name", "theirs"}
	}
	p.running = p.command(context.Background(), args...)
	p.running.Stdout, p.running.Stderr = p.printed, p.printed
	if err := p.running.Start(); err != nil {
		p.t.Error(err)
		p.running = nil
	}
}

func (p *theirs) kill(int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return "nobody"
	}
	p.running.Process.Kill() //nolint:errcheck // then Wait says more
	p.running.Wait()         //nolint:errcheck // it was killed
	p.running = nil
	return "python"
}

func (p *theirs) address() string { return p.addr }

// dial has the peer dial from now on, whenever it starts.
func (p *theirs) dial(address string) error {
	p.to = address
	p.kill(0)
	p.revive()
	return nil
}

func (p *theirs) send(peer, th, text string, files ...string) said {
	p.t.Helper()
	args := []string{"send", peer, text}
	if th != "" {
		args = append(args, "--th", th)
	}
	for _, file := range files {
		args = append(args, "--file", file)
	}
	var sent struct{ ID, Th string }
	p.decode(p.run(args...), &sent)
	return said{sent.ID, sent.Th, text, files}
}

func (p *theirs) state(peer, th, state string) said {
	p.t.Helper()
	var sent struct{ ID string }
	p.decode(p.run("state", peer, th, state), &sent)
	return said{sent.ID, th, state, nil}
}

func (p *theirs) decode(text string, v any) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(text), v, json.MatchCaseInsensitiveNames(true)); err != nil {
		p.t.Errorf("%v in %q", err, text)
	}
}

func (p *theirs) met(peer string) error {
	var status struct {
		Peers map[string]struct{ Name string }
	}
	p.decode(p.run("status"), &status)
	if status.Peers[peer].Name == "" {
		return errors.New("theirs has not met " + peer)
	}
	return nil
}

func (p *theirs) outbox() (n int) {
	p.t.Helper()
	var status struct {
		Peers map[string]struct{ Outbox int }
	}
	p.decode(p.run("status"), &status)
	for _, peer := range status.Peers {
		n += peer.Outbox
	}
	return n
}

func (p *theirs) heard(peer string) (list []heard) {
	p.t.Helper()
	files := make(map[string]map[string]string) // by message: name and path
	var refs = make(map[string]string)          // the message of a ref
	for line := range strings.Lines(p.run("tail")) {
		var e struct {
			Event, Peer, Ref, Path string
			Line                   map[string]any
		}
		p.decode(line, &e)
		if e.Event == "file" && e.Path != "" {
			files[refs[e.Ref]][e.Ref] = e.Path
		}
		t, _ := e.Line["t"].(string)
		if e.Event != "in" || e.Peer != peer || t != "msg" && t != "state" {
			continue
		}
		id, _ := e.Line["id"].(string)
		th, _ := e.Line["th"].(string)
		raw, err := json.Marshal(e.Line)
		check(p.t, err)
		files[id] = make(map[string]string)
		parts, _ := e.Line["parts"].([]any)
		for _, part := range parts {
			if ref, ok := part.(map[string]any)["ref"].(string); ok {
				refs[ref] = id
			}
		}
		list = append(list, heard{id: id, th: th, text: text(p.t, raw), files: maps.Values(files[id])})
	}
	return list
}
