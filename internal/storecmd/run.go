// Package storecmd is the glue of awp-store: it opens the home's store and serves it on
// the control socket, to the programs people use (front.go) and to awp-wire (link.go).
// It holds no rule of its own.
package storecmd

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/internal/store"
	"github.com/awp-suite/awp/ipc"
)

// Config is what awp-store needs to run.
type Config struct {
	Home     string // absolute
	Settings config.Settings
	Log      *slog.Logger
}

// Run serves the home's store on l until ctx ends. It returns an error when the home
// cannot be opened or the listener fails.
func Run(ctx context.Context, cfg Config, l net.Listener) error {
	s, err := store.Open(cfg.Home, settings(cfg), cfg.Log)
	if err != nil {
		return err
	}
	defer s.Close()
	srv := ipc.NewServer()
	ipc.Handle(srv, ipc.Ready, func(context.Context, ipc.None) (ipc.ReadyResult, error) {
		return ipc.ReadyResult{Program: "awp-store", Release: awp.Release, PID: os.Getpid()}, nil
	})
	serveFront(srv, s, cfg)
	serveGrants(srv, s)
	serveLinks(srv, s, cfg.Log)
	return srv.Serve(ctx, l)
}

func settings(cfg Config) store.Settings {
	set := cfg.Settings
	out := store.Settings{
		Name: set.Name, About: set.About, Harness: set.Harness, Model: set.Model,
		BlobLimit: set.BlobLimit, OutboxTTL: set.OutboxTTL,
		Accept: set.Policy.Accept, Allow: set.Policy.Allow, Trust: set.Policy.Trust,
		Warnings:   set.Warnings,
		Tailcat:    slices.Contains(set.Listen, config.ListenTailcat),
		Now:        clock(cfg.Home),
		Supervisor: func() (int, time.Time) { return supervisor(cfg.Home) },
	}
	if set.Set.ShareWith {
		out.ShareWith = []string{}
		for _, key := range set.ShareWith {
			out.ShareWith = append(out.ShareWith, key.String())
		}
	}
	return out
}

// clock is the time as a test of the suite shifts it; nil, as ever else, the machine's.
func clock(home string) func() time.Time {
	if failpoint.Setting(home, "clock") == "" {
		return nil
	}
	return func() time.Time {
		offset, _ := time.ParseDuration(failpoint.Setting(home, "clock"))
		return time.Now().Add(offset)
	}
}

// supervisor returns the pid that daemon.pid names and when that was written; 0 when there
// is none.
func supervisor(home string) (int, time.Time) {
	path := filepath.Join(home, "daemon.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, time.Time{}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, time.Time{}
	}
	fi, err := os.Stat(path)
	if err != nil {
		return 0, time.Time{}
	}
	return pid, fi.ModTime()
}
