package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/awp-suite/awp"
)

//go:embed migrations/*.sql
var migrations embed.FS

// pragmas go into the DSN, so that every connection has them. A small journal limit, or
// checkpoints forced under load, cost a fifth to a third of the commit rate.
const pragmas = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=foreign_keys(1)&_pragma=wal_autocheckpoint(1000)&_pragma=journal_size_limit(67108864)"

// As every distribution's SQLite, the store syncs with fdatasync(2) where there is one: a
// commit does not wait for the file's timestamps. Elsewhere nothing changes.
func init() { sqlite.Fdatasync(true) } //nolint:errcheck // where it is not to be had, fsync is as good

// readers bounds the connections that read.
const readers = 8

// openDB opens the database, for the one writer and for readers, at this release's schema.
func openDB(path string) (db, ro *sql.DB, err error) {
	if err := touchPrivate(path); err != nil {
		return nil, nil, fileError("open the database", path, err)
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas
	if db, err = sql.Open("sqlite", dsn+"&_txlock=immediate"); err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	if err := migrate(db); err != nil {
		db.Close()
		return nil, nil, dbError(path, err)
	}
	if ro, err = sql.Open("sqlite", dsn+"&_pragma=query_only(1)"); err != nil {
		db.Close()
		return nil, nil, err
	}
	ro.SetMaxOpenConns(readers)
	ro.SetMaxIdleConns(readers)
	return db, ro, nil
}

// touchPrivate makes the file 0600 before SQLite would make it with the umask.
func touchPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// migrate runs the numbered scripts that the database has not had, each in a transaction
// with its number.
func migrate(db *sql.DB) error {
	var have int
	if err := db.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	if have > len(names) {
		return &awp.Error{
			Code:    awp.Skew,
			Message: fmt.Sprintf("awp.db was written by a newer release (schema %d, this release knows %d); nothing was changed", have, len(names)),
			Hint:    "install the newer release again, or use another home with --home",
		}
	}
	for i := have; i < len(names); i++ {
		script, err := migrations.ReadFile(names[i])
		if err != nil {
			return err
		}
		if err := inTx(db, string(script)+fmt.Sprintf("; PRAGMA user_version = %d", i+1)); err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
	}
	return nil
}

func inTx(db *sql.DB, script string) error {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // done after Commit
	if _, err := tx.Exec(script); err != nil {
		return err
	}
	return tx.Commit()
}

// dbError gives an error of SQLite its sentence and code.
func dbError(path string, err error) error {
	if _, ok := errors.AsType[*awp.Error](err); ok {
		return err
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return diskFull(err)
	case sqlite3.SQLITE_IOERR:
		// A write past a full disk or a quota surfaces here as often as in FULL.
		return &awp.Error{Code: awp.Full, Message: "the disk refused a write; nothing was stored", Hint: "free some space, or check the disk that holds the home", Cause: err}
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &awp.Error{
			Code:    awp.Invalid,
			Message: fmt.Sprintf("the database is damaged: %v", err),
			Hint:    "keep the file, and restore a backup: " + path,
			Cause:   err,
		}
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return &awp.Error{Code: awp.Denied, Message: fmt.Sprintf("the database cannot be written: %v", err), Hint: "check the permissions of " + path, Cause: err}
	}
	return err
}

func diskFull(err error) error {
	return &awp.Error{Code: awp.Full, Message: "the disk is full; nothing was stored", Hint: "free some space and try again", Cause: err}
}
