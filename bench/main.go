package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// benches are what there is to measure, in order.
var benches = []struct {
	name string
	run  func(context.Context, *bench) error
}{
	{"startup", startup},
	{"ack", ack},
	{"sustained", sustained},
	{"file", file},
	{"tailcat", throughTunnels},
	{"big", big},
}

// bench is one run.
type bench struct {
	dir     string // temporary, gone at the end
	bin     string // where the programs are
	quick   bool
	figures []figure
}

func main() {
	b := &bench{}
	only := flag.String("only", "", "measure only this `NAME`: startup, ack, sustained, file, tailcat or big")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.BoolVar(&b.quick, "quick", false, "fewer rounds: a look, not a measurement")
	flag.StringVar(&b.bin, "bin", "", "measure the programs in `DIR` instead of building them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if dir := os.Getenv(envEcho); dir != "" {
		if err := echoes(ctx, dir); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := b.run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *asJSON {
		out, err := json.Marshal(b.figures, jsontext.Multiline(true))
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		fmt.Println(string(out))
		return
	}
	os.Stdout.WriteString(table(b.figures))
}

func (b *bench) run(ctx context.Context, only string) (err error) {
	if b.dir, err = os.MkdirTemp("", "awpbench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.build(ctx); err != nil {
		return err
	}
	known := false
	for _, one := range benches {
		if only != "" && one.name != only {
			continue
		}
		known = true
		progress("%s%s", one.name, busy())
		if err := one.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	if !known {
		return fmt.Errorf("nothing is called %q", only)
	}
	return nil
}

// build makes the programs, or copies them, and makes the empty one that start-up is held
// against. They stand side by side: where a program lies has its price, too.
func (b *bench) build(ctx context.Context) error {
	from, bin := b.bin, filepath.Join(b.dir, "bin")
	b.bin = bin
	if from != "" {
		if err := os.CopyFS(bin, os.DirFS(from)); err != nil {
			return err
		}
	} else {
		progress("building")
		if err := goBuild(ctx, bin+"/", "github.com/awp-suite/awp/cmd/..."); err != nil {
			return err
		}
	}
	src := filepath.Join(b.dir, "empty.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	return goBuild(ctx, filepath.Join(bin, "empty"), src)
}

func goBuild(ctx context.Context, out, what string) error {
	if strings.HasSuffix(out, "/") {
		if err := os.MkdirAll(out, 0o700); err != nil {
			return err
		}
	}
	_, err := output(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, what)
	return err
}

// rounds is how often something is done.
func (b *bench) rounds(usual int) int {
	if b.quick {
		return max(1, usual/10)
	}
	return usual
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
