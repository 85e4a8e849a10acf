package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/failpoint"
)

// One transaction takes at most this much. More would raise the rate by a tenth and the
// time that a commit takes by a multiple.
const (
	batchOps   = 64
	batchBytes = 1 << 20
)

// An ack of a peer changes nothing that anybody waits for: who waits for it hears of it
// when it comes (hub.go). So acks join the commit that comes next, and get one of their
// own only when so many wait, or none came for so long.
const (
	lazyOps  = 32
	lazyTime = 20 * time.Millisecond
)

// op is one change. apply may run twice: when another change of its batch fails, the
// batch is rolled back and each is done alone. It must therefore touch nothing but the
// transaction; what is to happen once it is durable goes to tx.after. done, which may be
// nil, runs on the committer when the change is durable or has failed; it must not wait.
type op struct {
	size  int     // bytes it brings, for the batch's bound
	files int     // that arrive and that it may touch, likewise
	lazy  bool    // it can wait for others, see lazyTime
	whose awp.Key // the peer in whose lane it waits (turns.go), zero: this home's
	from  *link   // whose window it takes up, nil: nobody's
	apply func(*tx) error
	done  func(error)
}

// writer is the only writer of the database: one goroutine that takes every change that
// waits, makes them one transaction and syncs once for all. While the disk syncs, the
// next batch gathers; only acks that come alone linger. Nothing that speaks of a change, above all
// no ack, exists before its commit.
type writer struct {
	s    *Store
	db   *sql.DB
	conn *sql.Conn
	tx   *tx // its statements and caches live as long as the writer

	mu     sync.Mutex
	wake   sync.Cond
	turns  turns
	due    bool // what waits holds something that does not wait for others
	busy   bool // a batch is being committed
	linger *time.Timer
	closed bool
}

func newWriter(s *Store, db *sql.DB) (*writer, error) {
	w := &writer{s: s, db: db}
	w.wake.L = &w.mu
	w.linger = time.AfterFunc(lazyTime, w.flush)
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w.conn = conn
	if w.tx, err = newTx(ctx, s, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return w, nil
}

var errClosed = &awp.Error{Code: awp.Unreachable, Message: "the store is closing", Hint: "start it again: awp up"}

// submit queues a change without waiting for it.
func (w *writer) submit(o op) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		if o.done != nil {
			o.done(errClosed)
		}
		return
	}
	w.turns.add(o)
	if o.lazy && !w.due && w.turns.n < lazyOps {
		if w.turns.n == 1 {
			w.linger.Reset(lazyTime)
		}
		w.mu.Unlock()
		return
	}
	w.due = true
	w.mu.Unlock()
	w.wake.Signal()
}

// flush has what waits committed.
func (w *writer) flush() {
	w.mu.Lock()
	w.due = w.turns.n > 0
	w.mu.Unlock()
	w.wake.Signal()
}

// settle waits until the acks that came before the call count. It costs nothing when none
// wait.
func (w *writer) settle(ctx context.Context) error { return w.pass(ctx, true) }

// pass waits until what came before the call is judged: the acks alone with lazy, else
// everything. It does not begin once ctx ended, and then waits whatever becomes of it.
func (w *writer) pass(ctx context.Context, lazy bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.mu.Lock()
	whose := w.turns.waiting(lazy)
	if len(whose) == 0 && w.busy {
		whose = append(whose, awp.Key{}) // the batch that is being committed may hold some
	}
	w.mu.Unlock()
	done := make(chan error, len(whose))
	for _, key := range whose {
		w.submit(op{whose: key, apply: func(*tx) error { return nil }, done: func(err error) { done <- err }})
	}
	var err error
	for range whose {
		err = errors.Join(err, <-done)
	}
	return err
}

// do makes a change and waits until it is durable or has failed, whatever becomes of ctx
// meanwhile: apply's results are the caller's to read. It does not begin once ctx ended.
func (w *writer) do(ctx context.Context, apply func(*tx) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	w.submit(op{apply: apply, done: func(err error) { done <- err }})
	return <-done
}

func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.linger.Stop()
	w.mu.Unlock()
	w.wake.Broadcast()
}

// run is the committer. It ends when the writer is closed and nothing waits.
func (w *writer) run() {
	defer w.db.Close()
	defer w.conn.Close()
	defer w.tx.close()
	for {
		batch := w.take()
		if batch == nil {
			return
		}
		err := w.commit(batch)
		if err == nil {
			continue
		}
		if len(batch) == 1 {
			w.judged(batch)
			w.finish(batch, err)
			continue
		}
		for i := range batch { // one bad line harms nobody else
			one := batch[i : i+1]
			if err := w.commit(one); err != nil {
				w.judged(one)
				w.finish(one, err)
			}
		}
	}
}

// take waits for changes and returns the next batch, nil at the end.
func (w *writer) take() []op {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
	for !w.due && !w.closed {
		w.wake.Wait()
	}
	if w.turns.n == 0 {
		return nil // closed
	}
	w.busy = true
	batch := w.turns.cut()
	w.due = w.turns.n > 0
	return batch
}

// commit makes the batch durable and then lets its effects out. On an error nothing of
// it has happened.
func (w *writer) commit(batch []op) error {
	if err := w.tx.begin(); err != nil {
		return w.fail(err)
	}
	for i := range batch {
		if err := batch[i].apply(w.tx); err != nil {
			w.tx.rollback()
			return w.fail(err)
		}
	}
	if err := w.tx.commit(); err != nil {
		w.tx.rollback()
		return w.fail(err)
	}
	failpoint.Hit("store/committed")
	w.judged(batch)
	w.tx.release() // first, so that a link is known before its peer's admission is told
	w.finish(batch, nil)
	return nil
}

// judged counts the lines of the batch for their links' windows: what is let out next takes
// that along.
func (w *writer) judged(batch []op) {
	for _, o := range batch {
		if o.from != nil {
			w.s.links.judged(o.from, o.size)
		}
	}
}

func (w *writer) finish(batch []op, err error) {
	for _, o := range batch {
		if o.done != nil {
			o.done(err)
		}
	}
	w.s.links.credits()
}

// fail turns the database's own errors into ours.
func (w *writer) fail(err error) error {
	err = dbError("awp.db", err)
	if _, ok := errors.AsType[*awp.Error](err); !ok {
		err = &awp.Error{Code: awp.Internal, Message: "store: " + err.Error(), Cause: err}
	}
	return err
}
