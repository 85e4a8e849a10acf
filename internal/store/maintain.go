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
// unacknowledged. It forgets old tokens and grants, and looks again at who should be connected.
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
		if err := t.expireGrants(); err != nil {
			return err
		}
		return t.exec("DELETE FROM token WHERE at < ?", ms(t.now)-keepTokens)
	}); err != nil {
		return err
	}
	s.WantAll()
	return nil
}

func (s *Store) expireSome(ctx context.Context) (n int, err error) {
	err = s.w.do(ctx, func(t *tx) error {
		n, err = t.expire(ms(t.now.Add(-s.set.OutboxTTL)))
		return err
	})
	return n, err
}

// expire gives up lines older than before, a batch at most, and tells the owner so.
func (t *tx) expire(before int64) (int, error) {
	old, err := t.oldLines(before)
	if err != nil {
		return 0, err
	}
	lines := make(map[int64]int) // by peer
	for _, o := range old {
		if err := t.exec("DELETE FROM outbox WHERE peer = ? AND seq = ?", o.peer, o.seq); err != nil {
			return 0, err
		}
		if err := t.exec("UPDATE line SET lapsed = 1 WHERE seq = ?", o.seq); err != nil {
			return 0, err
		}
		lines[o.peer]++
	}
	for peer, count := range lines {
		p, err := t.peerByRow(peer)
		if err != nil {
			return 0, err
		}
		if err := t.note(p, noteExpired, true, map[string]any{"lines": count}); err != nil {
			return 0, err
		}
	}
	return len(old), t.expireFiles(before)
}

type oldLine struct{ peer, seq int64 }

func (t *tx) oldLines(before int64) ([]oldLine, error) {
	rows, err := t.rows("SELECT peer, seq FROM outbox WHERE at < ? LIMIT ?", before, expireBatch)
	return scanAll(rows, err, func(row scanner) (o oldLine, err error) {
		err = row.Scan(&o.peer, &o.seq)
		return o, err
	})
}

// expireFiles gives up files of which chunks older than before are left.
func (t *tx) expireFiles(before int64) error {
	if err := t.unstage("UPDATE blob SET status = ?, updated = ? WHERE dir = 1 AND status = ? AND n IN (SELECT blob FROM chunk WHERE at < ?) RETURNING ref",
		awp.BlobExpired, ms(t.now), awp.BlobQueued, before); err != nil {
		return err
	}
	return t.exec("DELETE FROM chunk WHERE at < ?", before)
}

// giveUpFile gives up a file whose copy is lost: the outbox must not stop at it for ever.
// Its message goes without it. A file that the peer has, or refused, while its chunks were
// looked up has no copy either, and is not lost. It reports whether the outbox can go on.
func (s *Store) giveUpFile(l *link, lost *lostCopy) bool {
	err := s.w.do(context.Background(), func(t *tx) error {
		p, err := t.ensurePeer(l.key)
		if err != nil {
			return err
		}
		given, err := t.changed("UPDATE blob SET status = ?, updated = ? WHERE peer = ? AND dir = 1 AND ref = ? AND status = ?", awp.BlobExpired, ms(t.now), p.n, lost.ref, awp.BlobQueued)
		if err != nil || given == 0 {
			return err
		}
		n, err := t.changed("DELETE FROM chunk WHERE blob = (SELECT n FROM blob WHERE peer = ? AND dir = 1 AND ref = ?)", p.n, lost.ref)
		if err != nil {
			return err
		}
		t.then(func() {
			s.log.Error("file not sent", "err", lost.cause)
			s.files.unstage(lost.ref)
		})
		return t.note(p, noteExpired, true, map[string]any{"lines": n})
	})
	return err == nil
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
