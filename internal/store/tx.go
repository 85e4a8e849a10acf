package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/wire"
)

// cacheRows bounds the peers and threads kept at hand; past it both caches start anew.
const cacheRows = 20000

// tx is the committer's transaction and what it keeps between transactions. Only the
// committer's goroutine touches it.
type tx struct {
	s     *Store
	ctx   context.Context
	conn  *sql.Conn
	stmts map[string]*sql.Stmt

	peers   map[awp.Key]*peerRow
	threads map[threadKey]*threadRow
	nextSeq int64
	chunks  bool          // the outbox may hold chunks: most never do, and an ack need not look
	intros  bool          // the outbox may hold introductions, likewise
	lease   awp.MessageID // as stored: no id handed out is larger

	refusedAt time.Time // of the last notice of a refused peer

	// Of the running transaction:
	now    time.Time
	dirty  []*threadRow
	logged bool // the log grew: readers that wait want to know
	after  []func()
	acks   map[*link][][]byte
	queued map[awp.Key][]queued // put into the outbox
	acked  []ackKey             // left it, acknowledged
	syncs  syncs                // to do before the commit
}

type threadKey struct {
	peer int64
	th   awp.ThreadID
}

func newTx(ctx context.Context, s *Store, conn *sql.Conn) (*tx, error) {
	t := &tx{s: s, ctx: ctx, conn: conn, stmts: make(map[string]*sql.Stmt)}
	t.forget()
	t.reset()
	// Chunks share the log's numbers, so both have to be looked at.
	err := t.row("SELECT 1 + max((SELECT coalesce(max(seq), 0) FROM line), (SELECT coalesce(max(seq), 0) FROM chunk))").Scan(&t.nextSeq)
	if err != nil {
		return nil, dbError("awp.db", err)
	}
	if err = t.row("SELECT EXISTS (SELECT 1 FROM chunk)").Scan(&t.chunks); err != nil {
		return nil, dbError("awp.db", err)
	}
	if err = t.row(queuedIntroductions).Scan(&t.intros); err != nil {
		return nil, dbError("awp.db", err)
	}
	err = t.row("SELECT value FROM memory WHERE name = 'last_id'").Scan(&t.lease)
	if err != nil && err != sql.ErrNoRows {
		return nil, dbError("awp.db", err)
	}
	s.ids.Observe(t.lease)
	return t, nil
}

// forget drops what is kept at hand, after a rollback made it doubtful.
func (t *tx) forget() {
	t.peers = make(map[awp.Key]*peerRow)
	t.threads = make(map[threadKey]*threadRow)
}

func (t *tx) reset() {
	t.dirty = t.dirty[:0]
	t.logged = false
	t.after = nil
	t.acks = make(map[*link][][]byte)
	t.queued = nil
	t.acked = t.acked[:0]
	t.syncs = newSyncs()
}

func (t *tx) begin() error {
	if len(t.peers)+len(t.threads) > cacheRows {
		t.forget()
	}
	t.now = t.s.now()
	return t.exec("BEGIN IMMEDIATE")
}

// flush writes the threads that changed. Whoever reads threads by SQL calls it first.
func (t *tx) flush() error {
	for _, th := range t.dirty {
		if err := t.writeThread(th); err != nil {
			return err
		}
	}
	t.dirty = t.dirty[:0]
	return nil
}

func (t *tx) commit() error {
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.holdIDs(); err != nil {
		return err
	}
	if err := t.syncs.run(t.s.files.syncDir); err != nil {
		return err
	}
	failpoint.Hit("store/before-commit")
	return t.exec("COMMIT")
}

func (t *tx) rollback() {
	t.exec("ROLLBACK") //nolint:errcheck // SQLite may have rolled back itself
	t.forget()
	t.lease = "" // unknown
	t.chunks, t.intros = true, true
	t.s.files.forget()
	t.reset()
}

// release lets out what the committed transaction has to say.
func (t *tx) release() {
	for l, lines := range t.acks {
		t.s.links.control(l, lines, false)
	}
	for key, lines := range t.queued {
		t.s.links.push(key, lines)
	}
	for _, fn := range t.after {
		fn()
	}
	t.s.hub.acked(t.acked)
	if t.logged {
		t.s.hub.changed()
	}
	t.reset()
}

// then runs fn once the transaction is durable. fn must not wait.
func (t *tx) then(fn func()) { t.after = append(t.after, fn) }

func (t *tx) close() {
	for _, st := range t.stmts {
		st.Close()
	}
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if st := t.stmts[query]; st != nil {
		return st, nil
	}
	st, err := t.conn.PrepareContext(t.ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.40q: %w", query, err)
	}
	t.stmts[query] = st
	return st, nil
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.changed(query, args...)
	return err
}

// changed is exec that tells how many rows it changed.
func (t *tx) changed(query string, args ...any) (int64, error) {
	st, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *tx) row(query string, args ...any) scanner {
	st, err := t.stmt(query)
	if err != nil {
		return failedRow{err}
	}
	return st.QueryRowContext(t.ctx, args...)
}

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	st, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(t.ctx, args...)
}

// log appends a line to the log and reports false for one that is there already.
func (t *tx) log(l logRow) (seq int64, fresh bool, err error) {
	seq = t.nextSeq
	var thread any
	if l.thread != nil {
		thread = l.thread.n
	}
	var id, body, meta any
	if l.id != "" {
		id, body = string(l.id), l.body
	}
	if l.meta != "" {
		meta = l.meta
	}
	n, err := t.changed(`INSERT INTO line (seq, peer, thread, dir, type, id, at, body, meta)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (peer, dir, id) WHERE id IS NOT NULL DO NOTHING`,
		seq, l.peer.n, thread, l.dir, l.typ, id, ms(t.now), body, meta)
	if err != nil || n == 0 {
		return 0, false, err
	}
	t.nextSeq++
	t.logged = true
	if l.unread {
		if err := t.exec("INSERT INTO unread (seq, peer, thread, notice) VALUES (?, ?, ?, ?)", seq, l.peer.n, thread, l.notice); err != nil {
			return 0, false, err
		}
		if l.thread != nil && !l.notice {
			l.thread.unread++
			t.touch(l.thread)
		}
	}
	return seq, true, nil
}

// nextID hands out an id. No later one, after whatever crash or step of the clock, is
// smaller: see holdIDs.
func (t *tx) nextID() awp.MessageID { return t.s.ids.Next() }

// leaseTime is how far ahead of the ids the stored one is. After a crash they go on from
// there, ahead of the clock by at most as much, until it has caught up.
const leaseTime = 3 * time.Second

// holdIDs stores an id beyond all that were handed out. It would be the last one itself,
// but that would be one more page to write in every transaction.
func (t *tx) holdIDs() error {
	if t.s.ids.Last() <= t.lease {
		return nil
	}
	lease := t.s.ids.Ahead(leaseTime)
	err := t.exec("INSERT INTO memory (name, value) VALUES ('last_id', ?) ON CONFLICT DO UPDATE SET value = excluded.value", string(lease))
	if err == nil {
		t.lease = lease
	}
	return err
}

func (t *tx) stamp() string { return wire.Stamp(t.now) }
