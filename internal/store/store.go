// Package store keeps everything of a home that must not be lost: the log, the outbox,
// threads, peers, files and the identity key. It is the only opener of awp.db, and its
// single committer is the only writer: see writer.go.
//
// Its verbs are those of the protocol's durable half: admit a peer, take its lines,
// queue ours, resume. What leaves the store about a peer (acks, outbox lines, wants) goes
// through [Wire], after the commit that it speaks of.
//
// It opens no network socket, starts no program, and signs nothing but auth transcripts
// and the grants that the owner gives.
package store

import (
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Settings are what the owner decided. Zero values mean the documented defaults.
type Settings struct {
	Name       string // remembered
	About      string // remembered
	Harness    string // remembered
	Model      string // remembered
	ShareWith  []string
	BlobLimit  int64         // bytes, both ways
	OutboxTTL  time.Duration // how long unacknowledged lines are kept
	Accept     string        // any or allowlist
	Allow      []awp.Key     // admitted under allowlist
	Trust      []awp.Key     // likewise; and issuers whose grants count like ours
	Warnings   []string      // shown by status
	Tailcat    bool          // awp-wire is to listen on tailcat: status says so before it does
	Host       string        // this machine's name
	Now        func() time.Time
	Supervisor func() (pid int, since time.Time) // whom status shows; nil or 0: this process
}

// Store is an open home. All methods are safe for concurrent use.
type Store struct {
	home     string
	set      Settings
	started  time.Time
	log      *slog.Logger
	identity wire.Identity
	ids      *wire.IDs
	ro       *reads // they see committed data only
	w        *writer
	files    *files
	hub      hub
	links    registry
	whose    whose
	lock     *lockFile
	checking chan struct{} // holds one token while the database is looked through

	stop    context.CancelFunc
	running sync.WaitGroup // the committer, the maintenance, one pump a link
}

// Open opens the home, makes what is missing, brings the database up to date and starts
// the committer. Errors: denied or disk_full when the home cannot be written, busy when
// another store has it, skew when a newer release wrote it, invalid when a file in it is
// damaged.
func Open(home string, set Settings, log *slog.Logger) (_ *Store, err error) {
	set.defaults()
	s := &Store{home: home, set: set, started: set.Now(), log: log, checking: make(chan struct{}, 1)}
	if s.lock, err = takeLock(filepath.Join(home, "store.lock")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.lock.release()
		}
	}()
	db, ro, err := openDB(filepath.Join(home, "awp.db"))
	if err != nil {
		return nil, err
	}
	s.ro = newReads(ro)
	if err = s.identify(filepath.Join(home, "identity.json")); err != nil {
		ro.Close()
		db.Close()
		return nil, err
	}
	s.ids = wire.NewIDs(set.Now, rand.Reader)
	s.files = newFiles(filepath.Join(home, "blobs"))
	s.hub.init()
	s.links.init()
	if s.w, err = newWriter(s, db); err != nil {
		ro.Close()
		db.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.running.Go(s.w.run)
	s.running.Go(func() { s.maintain(ctx) })
	if err = s.remember(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the committer after what it has taken, and closes the database. Calls that
// come later fail.
func (s *Store) Close() {
	s.stop()
	s.DropWire()
	s.w.close()
	s.running.Wait()
	s.files.close()
	s.ro.Close()
	s.lock.release()
}

// Key returns the home's identity.
func (s *Store) Key() awp.Key { return s.identity.Key }

func (set *Settings) defaults() {
	if set.Now == nil {
		set.Now = time.Now
	}
	if set.BlobLimit == 0 {
		set.BlobLimit = wire.DefaultBlobLimit
	}
	if set.OutboxTTL == 0 {
		set.OutboxTTL = wire.OutboxTTL
	}
	if set.Accept == "" {
		set.Accept = AcceptAny
	}
}

func (s *Store) now() time.Time { return s.set.Now() }

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMS(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
