// Package startcmd is how a program of a home starts: it finds its home and settings, takes
// the socket it was given, and ends with a signal or with its supervisor. What the program
// is, its main says.
package startcmd

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/activation"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/lifeline"
)

// Start is what every program of a home has.
type Start struct {
	Home     string // absolute
	Settings config.Settings
	Log      *slog.Logger // to stderr; debug lines with the setting verbose
}

// Main runs the program called name on its socket until run returns, and exits with
// status 1 when that is an error. With the argument --version it prints the release and
// does nothing else. It must be called first in main.
func Main(name, socket string, run func(context.Context, Start, net.Listener) error) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		os.Stdout.WriteString(name + " " + awp.Release + " (protocol " + awp.Protocol + ")\n")
		return
	}
	ctx, stop := signal.NotifyContext(lifeline.Watch(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, name, socket, run); err != nil {
		os.Stderr.WriteString(name + ": " + err.Error() + "\n")
		if hint := awp.HintOf(err); hint != "" {
			os.Stderr.WriteString("awp: hint: " + hint + "\n")
		}
		os.Exit(1)
	}
}

func start(ctx context.Context, name, socket string, run func(context.Context, Start, net.Listener) error) error {
	home, err := config.Home("", os.Getenv)
	if err != nil {
		return err
	}
	set, err := config.Load(home, os.Getenv)
	if err != nil {
		return err
	}
	l, err := activation.Listener(name, socket)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if set.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("program", name)
	activation.Ready()
	defer activation.Stopping()
	return run(ctx, Start{Home: home, Settings: set, Log: log}, l)
}
