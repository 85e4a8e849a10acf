// Package conformcmd is the program awp-conform: it makes the connections that package
// conformance plays the peer on, and prints what came of it. It opens no home, no database
// and no identity; its key lives as long as the run.
package conformcmd

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/awp-suite/awp/conformance"
	"github.com/awp-suite/awp/internal/transport"
	"github.com/awp-suite/awp/wire"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // or a scenario failed
	exitUsage = 2
)

// acceptWithin is how long listen mode waits for the peer.
const acceptWithin = 60 * time.Second

type options struct {
	scenarios         []string
	listen, run, send string
	list, trace, json bool
	step              time.Duration
	addr              string
}

// Main runs the program and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := pflag.NewFlagSet("awp-conform", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringSliceVar(&o.scenarios, "scenario", nil, "run only the scenario `NAME`; may be repeated")
	flags.StringVar(&o.listen, "listen", "", "wait for the peer at `ADDR` instead of dialing it")
	flags.StringVar(&o.run, "run", "", "with --listen: a shell `CMD` that makes the peer dial {addr}")
	flags.StringVar(&o.send, "send", "", "a shell `CMD` that makes the peer send {text} to the key {key}")
	flags.BoolVar(&o.list, "list", false, "list the scenarios and end")
	flags.BoolVar(&o.trace, "trace", false, "show every line on stderr")
	flags.BoolVar(&o.json, "json", false, "print JSON for programs")
	flags.DurationVar(&o.step, "step", conformance.DefaultStep, "how long to wait for each answer")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return exitOK
		}
		fmt.Fprintf(stderr, "awp-conform: %v\n", err)
		return exitUsage
	}
	if o.list {
		return list(stdout, o.json)
	}
	if flags.NArg() == 1 {
		o.addr = flags.Arg(0)
	}
	if flags.NArg() > 1 || (o.addr == "") == (o.listen == "") || o.run != "" && o.listen == "" || o.step <= 0 {
		fmt.Fprintln(stderr, "awp-conform: needs either an address or --listen ADDR [--run CMD]")
		return exitUsage
	}
	report, err := o.hold(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "awp-conform: %v\n", err)
		return exitError
	}
	if o.json {
		printJSON(stdout, report)
	} else {
		fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped\n", report.Passed, report.Failed, report.Skipped)
	}
	if report.Failed > 0 {
		return exitError
	}
	return exitOK
}

func (o options) hold(ctx context.Context, stdout, stderr io.Writer) (conformance.Report, error) {
	plain := transport.Options{AllowPlaintext: os.Getenv("AWP_ALLOW_PLAINTEXT") == "1"}
	run := conformance.Options{Only: o.scenarios, Step: o.step}
	if o.trace {
		run.Trace = func(scenario, dir, line string) { fmt.Fprintf(stderr, "%s %s %q\n", scenario, dir, line) }
	}
	if o.send != "" {
		run.Prompt = func(ctx context.Context, key, text string) error {
			return shell(ctx, strings.NewReplacer("{key}", key, "{text}", text).Replace(o.send), stderr).Run()
		}
	}
	spelled := o.addr + o.listen // one of them is empty
	addr, err := wire.ParseAddr(spelled)
	if err != nil {
		return conformance.Report{}, err
	}
	if o.listen != "" {
		nc, end, err := o.accept(ctx, addr, plain, stderr)
		if err != nil {
			return conformance.Report{}, err
		}
		defer end()
		run.Conn = nc
	} else {
		run.Dial = func(ctx context.Context) (net.Conn, error) { return transport.Dial(ctx, addr, plain) }
	}
	report, err := conformance.Run(ctx, run, func(r conformance.Result) {
		if !o.json {
			printResult(stdout, r)
		}
	})
	report.Addr = addr.String()
	return report, err
}

// accept waits for the peer, which CMD makes dial. The func ends the listener and CMD.
func (o options) accept(ctx context.Context, addr wire.Addr, plain transport.Options, stderr io.Writer) (net.Conn, func(), error) {
	l, err := transport.Listen(ctx, addr, plain)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, acceptWithin)
	defer context.AfterFunc(ctx, func() { l.Close() })()
	end := func() { l.Close() }
	if o.run == "" {
		fmt.Fprintf(stderr, "awp-conform: waiting for the peer at %s\n", l.Addr())
	} else {
		runCtx, kill := context.WithCancel(context.WithoutCancel(ctx))
		cmd := shell(runCtx, strings.ReplaceAll(o.run, "{addr}", l.Addr().String()), stderr)
		if err := cmd.Start(); err != nil {
			kill()
			cancel()
			l.Close()
			return nil, nil, fmt.Errorf("run command: %w", err)
		}
		end = func() { kill(); cmd.Wait(); l.Close() } //nolint:errcheck // it was ended
	}
	nc, err := l.Accept()
	if err != nil {
		cancel()
		end()
		return nil, nil, fmt.Errorf("wait for the peer: %w", err)
	}
	return nc, func() { cancel(); end() }, nil
}

func shell(ctx context.Context, text string, stderr io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	cmd.WaitDelay = time.Second
	return cmd
}

func list(stdout io.Writer, asJSON bool) int {
	all := conformance.Scenarios()
	if asJSON {
		printJSON(stdout, all)
		return exitOK
	}
	for _, s := range all {
		fmt.Fprintf(stdout, "%-26s  %-8s  %s\n", s.Name, s.Section, s.Doc)
	}
	return exitOK
}

// printResult shows a result; what the peer said is quoted, so that it moves no cursor.
func printResult(w io.Writer, r conformance.Result) {
	fmt.Fprintf(w, "%s  %-26s  section %-8s  %s\n", r.Status, r.Name, r.Section, r.Doc)
	if r.Reason != "" {
		fmt.Fprintf(w, "      %q\n", r.Reason)
	}
	if r.Status == conformance.Fail {
		for _, line := range r.Lines {
			fmt.Fprintf(w, "      %q\n", line)
		}
	}
}

func printJSON(w io.Writer, v any) {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // our own types can be written
	}
	w.Write(append(text, '\n')) //nolint:errcheck // nobody is left to tell
}
