package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/awp-suite/awp/internal/store" // it brings the driver, too
)

// What the big store holds.
const (
	bigPeers    = 20
	bigThreads  = 10_000
	bigMessages = 1_000_000 // one in two inbound
	bigUnread   = 200       // of them
)

// seed fills the home at dir. SQLite itself makes the rows: through the store it would
// take minutes. One thread in ten is open.
func seed(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s, err := store.Open(dir, store.Settings{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	s.Close() // the schema is there
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "awp.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // done after Commit
	for n := range bigPeers {
		key := sha256.Sum256(fmt.Appendf(nil, "peer %d", n))
		if _, err := tx.ExecContext(ctx, "INSERT INTO peer (n, key, name) VALUES (?, ?, ?)", n+1, key[:], fmt.Sprintf("agent%02d@host", n)); err != nil {
			return err
		}
	}
	for _, query := range seedQueries {
		query = strings.NewReplacer(
			":peers", fmt.Sprint(bigPeers), ":threads", fmt.Sprint(bigThreads),
			":messages", fmt.Sprint(bigMessages), ":unread", fmt.Sprint(bigUnread),
		).Replace(query)
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("%.40q: %w", query, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// seedQueries spread messages over threads and threads over peers in turn. Times are of
// 2026, a second a message.
var seedQueries = []string{
	`WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < :threads)
	INSERT INTO thread (n, peer, th, shown, subject, ours, created, updated, my_state, my_note, my_since,
		their_state, their_note, their_since, unread, seen, seen_at)
	SELECT n, 1 + n % :peers, printf('thr_%07d', n), 1, printf('Run the integration suite at commit %07x', n * 2654435761 % 268435456), n % 2,
		1767225600000 + n * 1000, 1767225600000 + (:messages - :threads + n) * 1000, 'working', 'running the suite', 1767225600000 + n * 1000,
		CASE WHEN n % 10 = 0 THEN 'working' ELSE 'done' END, '', 1767225600000 + n * 1000, 0, printf('01KE%022d', n), 1767225600000 FROM i`,
	`WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < :messages)
	INSERT INTO line (seq, peer, thread, dir, type, id, at, body)
	SELECT n, 1 + (1 + n % :threads) % :peers, 1 + n % :threads, (n / :threads) % 2, 'msg', printf('01KE%022d', n), 1767225600000 + n * 1000,
		CAST(printf('{"t":"msg","id":"01KE%022d","ts":"2026-01-01T00:00:00.000Z","th":"thr_%07d","parts":[{"k":"text","text":"The suite passes at a1b2c3, except for one test of the parser; the log is attached. %d"}]}', n, 1 + n % :threads, n) AS BLOB) FROM i`,
	`INSERT INTO unread (seq, peer, thread, notice)
	SELECT seq, peer, thread, 0 FROM line WHERE dir = 0 ORDER BY seq DESC LIMIT :unread`,
	`UPDATE thread SET unread = (SELECT count(*) FROM unread WHERE unread.thread = thread.n)`,
}
