package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/awp-suite/awp"
)

// Health is what a look at the home's own records showed.
type Health struct {
	Problems []string      // what is damaged, at most checkProblems sentences
	Cut      bool          // the look at the database ended early: there may be more
	Took     time.Duration // that look
	Size     int64         // of the database, bytes
	Now      time.Time     // by the store's clock
	Newest   time.Time     // the newest record of the log; zero: there is none
	Lease    time.Time     // no id of ours was stamped later than this; zero: none was ever made
	Ahead    []Ahead
	Refused  []Refused
}

// Ahead is a peer whose stamps lie in the future of our clock, by so much at least.
type Ahead struct {
	Peer awp.Key
	By   time.Duration
}

// Refused is a peer that we turned away and have not admitted since.
type Refused struct {
	Peer   awp.Key
	Reason string
	At     time.Time
}

const (
	checkProblems = 20   // sentences
	checkRecent   = 1000 // records of the log that are looked at for stamps and refusals
	aheadBy       = 5 * time.Minute
)

// Check looks the database through with SQLite's quick check, for as long as within, and
// compares the newest stamps with the clock. It reads only, beside whatever else is going
// on. Damage is no error but its result.
func (s *Store) Check(ctx context.Context, within time.Duration) (Health, error) {
	h := Health{Now: s.now()}
	if fi, err := os.Stat(filepath.Join(s.home, "awp.db")); err == nil {
		h.Size = fi.Size()
	}
	began := time.Now()
	look, cancel := context.WithTimeout(ctx, within)
	err := s.quickCheck(look, &h)
	h.Cut = look.Err() != nil && ctx.Err() == nil
	cancel()
	h.Took = time.Since(began)
	if err == nil || h.Cut {
		err = s.stamps(ctx, &h)
	}
	if err != nil && awp.CodeOf(dbError(s.home, err)) == awp.Invalid { // it stumbled over damage
		h.Problems = append(h.Problems, err.Error())
		err = nil
	}
	return h, err
}

// quickCheck takes one of the readers for as long as it lasts; a second one waits, so that
// enough of them are left for everybody else.
func (s *Store) quickCheck(ctx context.Context, h *Health) error {
	select {
	case s.checking <- struct{}{}:
		defer func() { <-s.checking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	rows, err := s.ro.db.QueryContext(ctx, fmt.Sprintf("PRAGMA quick_check(%d)", checkProblems))
	found, err := scanAll(rows, err, func(row scanner) (text string, err error) {
		err = row.Scan(&text)
		return text, err
	})
	if len(found) > 1 || len(found) == 1 && found[0] != "ok" {
		h.Problems = found
	}
	return err
}

// stamps compares what the clock says with what it said, and with what peers' clocks say.
func (s *Store) stamps(ctx context.Context, h *Health) error {
	var newest int64
	err := s.ro.QueryRowContext(ctx, "SELECT coalesce(max(at), 0) FROM (SELECT at FROM line ORDER BY seq DESC LIMIT ?)", checkRecent).Scan(&newest)
	if err != nil {
		return err
	}
	h.Newest = fromMS(newest)
	var lease string
	err = s.ro.QueryRowContext(ctx, "SELECT value FROM memory WHERE name = 'last_id'").Scan(&lease)
	if id, parseErr := ulid.ParseStrict(lease); err == nil && parseErr == nil {
		h.Lease = ulid.Time(id.Time())
	} else if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if h.Ahead, err = s.ahead(ctx); err != nil {
		return err
	}
	h.Refused, err = s.refusals(ctx)
	return err
}

// ahead lists the peers whose latest lines were stamped after they came. A line that was
// long under way says nothing, so nobody is ever found to be behind.
func (s *Store) ahead(ctx context.Context) ([]Ahead, error) {
	rows, err := s.ro.QueryContext(ctx, `SELECT p.key, l.id, l.at FROM (SELECT * FROM line ORDER BY seq DESC LIMIT ?) l
		JOIN peer p ON p.n = l.peer WHERE l.dir = ? AND l.id IS NOT NULL ORDER BY l.seq DESC`, checkRecent, dirIn)
	seen := make(map[awp.Key]bool)
	all, err := scanAll(rows, err, func(row scanner) (a Ahead, err error) {
		var key []byte
		var text string
		var at int64
		if err := row.Scan(&key, &text, &at); err != nil {
			return a, err
		}
		id, err := ulid.ParseStrict(text)
		if a.Peer = awp.Key(key); err != nil || seen[a.Peer] {
			return Ahead{}, nil // a foreign id, or not the latest of this peer
		}
		seen[a.Peer] = true
		a.By = ulid.Time(id.Time()).Sub(fromMS(at))
		return a, nil
	})
	var out []Ahead
	for _, a := range all {
		if a.By >= aheadBy {
			out = append(out, a)
		}
	}
	return out, err
}

// refusals lists whom we turned away and did not admit since, the latest first.
func (s *Store) refusals(ctx context.Context) ([]Refused, error) {
	rows, err := s.ro.QueryContext(ctx, `SELECT p.key, l.type, coalesce(json_extract(l.meta, '$.reason'), ''), l.at FROM (SELECT * FROM line ORDER BY seq DESC LIMIT ?) l
		JOIN peer p ON p.n = l.peer WHERE l.type IN (?, ?) ORDER BY l.seq DESC`, checkRecent, noteRefused, noteConnected)
	type note struct {
		Refused
		kind string
	}
	all, err := scanAll(rows, err, func(row scanner) (n note, err error) {
		var key []byte
		var at int64
		if err := row.Scan(&key, &n.kind, &n.Reason, &at); err != nil {
			return n, err
		}
		n.Peer, n.At = awp.Key(key), fromMS(at)
		return n, nil
	})
	seen := make(map[awp.Key]bool)
	var out []Refused
	for _, n := range all {
		if !seen[n.Peer] && n.kind == noteRefused && len(out) < checkProblems {
			out = append(out, n.Refused)
		}
		seen[n.Peer] = true
	}
	return out, err
}
