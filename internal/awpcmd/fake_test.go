package awpcmd_test

import (
	"bufio"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

// startFake is the scripts' command "fake FILE": it serves the home's sockets and answers
// as FILE says. Each of its lines adds to the answers of a method, which are given one
// after the other, the last one again and again:
//
//	METHOD item JSON           an item of a stream, before the answer
//	METHOD reply JSON          the answer
//	METHOD fail CODE TEXT      an error; " | " in TEXT starts the hint
//	METHOD lose                end the connection without an answer
//	METHOD gone                likewise, and serve nobody any more
//	METHOD hang                never answer
//
// In a line, $BOB and the like stand for keys, $BIG for a text of 200,000 bytes, $ESC and
// $NL for the characters.
// Every call is noted in the file calls: method, space, parameters.
func startFake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fake FILE")
	}
	f := &fake{log: ts.MkAbs("calls"), methods: make(map[string]*method)}
	ts.Check(f.parse(ts.ReadFile(args[0]), ts.Getenv))
	f.serve(ts, ts.Getenv("AWP_HOME"))
}

type fake struct {
	stop context.CancelFunc

	mu      sync.Mutex
	log     string
	methods map[string]*method
}

type method struct {
	answers []answer
	next    int
}

// answer is one answer: items, then what ends it.
type answer struct {
	items []jsontext.Value
	end   string // reply, fail, lose, gone or hang
	value string
}

func (f *fake) parse(text string, env func(string) string) error {
	lines := bufio.NewScanner(strings.NewReader(text))
	var items []jsontext.Value
	for lines.Scan() {
		line := os.Expand(lines.Text(), func(name string) string {
			switch name {
			case "BIG":
				return strings.Repeat("x", 200_000)
			case "ESC":
				return "\x1b"
			case "NL":
				return "\n"
			}
			return env(name)
		})
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		verb, value, _ := strings.Cut(rest, " ")
		if verb == "item" || verb == "reply" {
			if !jsontext.Value(value).IsValid() {
				return fmt.Errorf("not JSON: %s", line)
			}
		}
		if verb == "item" {
			items = append(items, jsontext.Value(value))
			continue
		}
		m := f.methods[name]
		if m == nil {
			m = new(method)
			f.methods[name] = m
		}
		m.answers = append(m.answers, answer{items, verb, value})
		items = nil
	}
	return lines.Err()
}

func (f *fake) serve(ts *testscript.TestScript, home string) {
	s := ipc.NewServer()
	ipc.Handle(s, ipc.Ready, func(context.Context, ipc.None) (ipc.ReadyResult, error) {
		return ipc.ReadyResult{Program: "fake", Release: awp.Release, PID: os.Getpid()}, nil
	})
	for name := range f.methods {
		// Items must not be sent from the reading goroutine.
		ipc.HandleInline(s, name, func(r *ipc.Request) { go f.answer(r) })
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	var open sync.WaitGroup
	ts.Defer(func() { cancel(); open.Wait() })
	for _, socket := range []string{ipc.StoreSocket, ipc.WireSocket} {
		l, err := ipc.Listen(home, socket)
		ts.Check(err)
		open.Go(func() { s.Serve(ctx, l) }) //nolint:errcheck // the script fails instead
	}
}

func (f *fake) answer(r *ipc.Request) {
	var params jsontext.Value
	r.Decode(&params) //nolint:errcheck // it shows in the log
	a := f.take(r.Method, string(params))
	for _, it := range a.items {
		r.Item(it) //nolint:errcheck // a client that left
	}
	switch a.end {
	case "reply":
		r.Reply(jsontext.Value(a.value))
	case "fail":
		code, text, _ := strings.Cut(a.value, " ")
		message, hint, _ := strings.Cut(text, " | ")
		r.Fail(&awp.Error{Code: awp.Code(code), Message: message, Hint: hint})
	case "lose", "gone":
		r.Conn.Close() // after the items
		if a.end == "gone" {
			f.stop()
		}
	}
}

// take notes the call and returns its answer.
func (f *fake) take(name, params string) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	log, err := os.OpenFile(f.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(log, "%s %s\n", name, params)
		log.Close()
	}
	m := f.methods[name]
	a := m.answers[min(m.next, len(m.answers)-1)]
	m.next++
	return a
}
