package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// grace is how long a program may take to close after SIGTERM; then it is killed.
const grace = 10 * time.Second

// Program is one program of the home.
type Program struct {
	Name    string   // in the log and in errors
	Path    string   // absolute; its argument 0, too
	Args    []string // after that
	Sockets []string // by name, in the order it gets them
	Env     []string // NAME=value, on top of the supervisor's
}

// Config is what a supervisor needs. Nothing in it may be changed afterwards.
type Config struct {
	Lock     *Lock // held
	Sockets  map[string]*net.UnixListener
	Programs []Program // in the order of start; closed in reverse
	Log      *slog.Logger
	Output   io.Writer // of all programs, whole lines; written to from several goroutines

	grace time.Duration // shorter in tests
}

// Supervisor runs the programs of a home. Its methods may be called from any goroutine.
type Supervisor struct {
	cfg      Config
	stub     string
	sockets  map[string]*os.File
	children []*child

	starting context.Context // ends when a program ends before Settle is done, or Stop
	fail     context.CancelCauseFunc

	mu      sync.Mutex
	settled bool // programs that end are restarted
}

// Start starts the programs. Until [Supervisor.Settle] one that ends is not restarted.
// The caller calls [Supervisor.Stop] in any case but an error.
func Start(cfg Config) (*Supervisor, error) {
	if cfg.grace == 0 {
		cfg.grace = grace
	}
	s := &Supervisor{cfg: cfg, sockets: make(map[string]*os.File)}
	if err := s.open(); err != nil {
		s.close()
		return nil, err
	}
	s.starting, s.fail = context.WithCancelCause(context.Background())
	for _, p := range cfg.Programs {
		c := &child{s: s, program: p}
		s.children = append(s.children, c)
		c.run()
	}
	return s, nil
}

// open makes what the programs inherit.
func (s *Supervisor) open() (err error) {
	// Once: later it may be replaced on disk, and Linux then calls it by another name.
	if s.stub, err = os.Executable(); err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	for name, l := range s.cfg.Sockets {
		// A listener of our own stays open beside this copy of it: closing that takes
		// the socket's file away.
		if s.sockets[name], err = l.File(); err != nil {
			return fmt.Errorf("socket %s: %w", name, err)
		}
	}
	for _, p := range s.cfg.Programs {
		for _, name := range p.Sockets {
			if s.sockets[name] == nil {
				return fmt.Errorf("program %s: no socket %s", p.Name, name)
			}
		}
	}
	return nil
}

func (s *Supervisor) close() {
	for _, f := range s.sockets {
		if f != nil {
			f.Close()
		}
	}
}

// Settle calls probe, which returns nil once every program serves. If a program ends
// meanwhile, probe's context does, and the error is an [*ExitError]. After a nil, programs
// that end are restarted.
func (s *Supervisor) Settle(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.starting, func() { cancel(context.Cause(s.starting)) })
	defer stop()
	err := probe(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	if cause := context.Cause(s.starting); cause != nil {
		return cause
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	s.settled = err == nil
	return err
}

// ended takes note of a program's end and reports whether it is to be restarted.
func (s *Supervisor) ended(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.settled {
		s.fail(err)
	}
	return s.settled
}

// Stop closes the programs, one after the other, the last started first, and waits for
// each: SIGTERM, and SIGKILL after 10 seconds.
func (s *Supervisor) Stop() {
	s.fail(errors.New("supervisor stopped"))
	for i := len(s.children) - 1; i >= 0; i-- {
		s.children[i].stop()
	}
	s.close()
}
