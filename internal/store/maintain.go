package store

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp"
)

// maintainEvery is how often old things are looked for (PROTOCOL.md section 1).
const maintainEvery = time.Minute

// maintain runs until ctx ends.
func (s *Store) maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	s.sweepStaged(ctx)
	for {
		if err := s.expire(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("maintenance failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// expireBatch bounds how many lines leave the outbox in one transaction.
const expireBatch = 500

// expire drops from the outbox what is older than the retention; the log keeps it, as
// unacknowledged. It forgets old tokens, and looks again at who should be connected.
func (s *Store) expire(ctx context.Context) error {
	for {
		n, err := s.expireSome(ctx)
		if err != nil {
			return err
		}
		if n < expireBatch {
			break
		}
	}
	if err := s.w.do(ctx, func(t *tx) error {
		return t.exec("DELETE FROM token WHERE at < ?", ms(t.now)-keepTokens)
	}); err != nil {
		return err
	}
	s.WantAll()
	return nil
}

func (s *Store) expireSome(ctx context.Context) (n int64, err error) {
	err = s.w.do(ctx, func(t *tx) error {
		before := ms(t.now.Add(-s.set.OutboxTTL))
		rows, err := t.rows("SELECT peer, seq FROM outbox WHERE at < ? LIMIT ?", before, expireBatch)
		if err != nil {
			return err
		}
		defer rows.Close()
		var old [][2]int64
		for rows.Next() {
			var o [2]int64
			if err := rows.Scan(&o[0], &o[1]); err != nil {
				return err
			}
			old = append(old, o)
		}
		if err := rows.Close(); err != nil {
			return err
		}
		for _, o := range old {
			if err := t.exec("DELETE FROM outbox WHERE peer = ? AND seq = ?", o[0], o[1]); err != nil {
				return err
			}
			if err := t.exec("UPDATE line SET lapsed = 1 WHERE seq = ?", o[1]); err != nil {
				return err
			}
		}
		n = int64(len(old))
		return t.exec("DELETE FROM chunk WHERE at < ?", before)
	})
	return n, err
}

// sweepStaged removes copies of files whose message was never queued: the store ended
// between the copy and the commit.
func (s *Store) sweepStaged(ctx context.Context) {
	dir := filepath.Join(s.files.root, "out")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // nothing was ever sent
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.ModTime().Before(s.started) {
			continue // a call that runs now made it
		}
		var queued bool
		err = s.ro.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM blob WHERE dir = 1 AND ref = ? AND status = ?)", e.Name(), awp.BlobQueued).Scan(&queued)
		if err == nil && !queued {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
