package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// reads is the pool of connections that read. It keeps every query prepared: to prepare
// a small one takes several times as long as to run it. A query's text carries no values,
// so there are only as many as this package spells.
type reads struct {
	db *sql.DB

	mu    sync.RWMutex
	stmts map[string]*sql.Stmt
}

func newReads(db *sql.DB) *reads { return &reads{db: db, stmts: make(map[string]*sql.Stmt)} }

func (r *reads) stmt(query string) (*sql.Stmt, error) {
	r.mu.RLock()
	st := r.stmts[query]
	r.mu.RUnlock()
	if st != nil {
		return st, nil
	}
	st, err := r.db.Prepare(query) // outside the lock: it may wait for a connection
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.stmts[query]; first != nil { // somebody else was faster
		return first, st.Close()
	}
	r.stmts[query] = st
	return st, nil
}

// Close closes the pool, once nobody reads any more.
func (r *reads) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, st := range r.stmts {
		errs = append(errs, st.Close())
	}
	clear(r.stmts)
	return errors.Join(append(errs, r.db.Close())...)
}

func (r *reads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := r.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (r *reads) QueryRowContext(ctx context.Context, query string, args ...any) scanner {
	st, err := r.stmt(query)
	if err != nil {
		return failedRow{err}
	}
	return st.QueryRowContext(ctx, args...)
}

func (r *reads) Query(query string, args ...any) (*sql.Rows, error) {
	return r.QueryContext(context.Background(), query, args...)
}

func (r *reads) QueryRow(query string, args ...any) scanner {
	return r.QueryRowContext(context.Background(), query, args...)
}
