package store

import (
	"crypto/rand"
	"database/sql"
	"fmt"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/thread"
	"github.com/awp-suite/awp/wire"
)

// thread returns the row of a thread with a peer, or nil when there is none.
func (t *tx) thread(p *peerRow, th awp.ThreadID) (*threadRow, error) {
	key := threadKey{p.n, th}
	if row := t.threads[key]; row != nil {
		return row, nil
	}
	r := &threadRow{peer: p, th: th}
	err := t.row(`SELECT n, shown, subject, ours, created, updated, my_state, my_note, my_since,
		their_state, their_note, their_since, unread, seen, seen_at FROM thread WHERE th = ? AND peer = ?`, string(th), p.n).
		Scan(&r.n, &r.shown, &r.subject, &r.ours, &r.created, &r.updated, &r.myState, &r.myNote, &r.mySince,
			&r.theirState, &r.theirNote, &r.theirSince, &r.unread, &r.seen, &r.seenAt)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t.threads[key] = r
	return r, nil
}

// ensureThread returns the row of a thread, and begins the thread when there is none.
func (t *tx) ensureThread(p *peerRow, th awp.ThreadID, ours bool) (*threadRow, error) {
	r, err := t.thread(p, th)
	if r != nil || err != nil {
		return r, err
	}
	if err := t.exec(`INSERT INTO thread (peer, th, shown, subject, ours, created, updated, my_state, my_note, my_since,
		their_state, their_note, their_since, unread, seen, seen_at) VALUES (?, ?, 0, '', ?, ?, ?, ?, '', ?, ?, '', ?, 0, '', 0)`,
		p.n, string(th), ours, ms(t.now), ms(t.now), wire.StateOpen, ms(t.now), wire.StateOpen, ms(t.now)); err != nil {
		return nil, err
	}
	return t.thread(p, th)
}

// newThread begins a thread of ours under an id that no thread has.
func (t *tx) newThread(p *peerRow) (*threadRow, error) {
	for range 10 {
		th := wire.NewThreadID(rand.Reader)
		var taken bool
		if err := t.row("SELECT EXISTS (SELECT 1 FROM thread WHERE th = ?)", string(th)).Scan(&taken); err != nil {
			return nil, err
		}
		if !taken {
			return t.ensureThread(p, th, true)
		}
	}
	return nil, fmt.Errorf("new thread: ten ids in a row were taken")
}

// threadOpen is thread.IsOpen in SQL.
const threadOpen = "my_state NOT IN ('done', 'failed', 'closed') AND their_state NOT IN ('done', 'failed', 'closed')"

// touch has the row written with the transaction.
func (t *tx) touch(r *threadRow) {
	if !r.dirty {
		r.dirty = true
		t.dirty = append(t.dirty, r)
	}
}

func (t *tx) writeThread(r *threadRow) error {
	r.dirty = false
	return t.exec(`UPDATE thread SET shown = ?, subject = ?, updated = ?, my_state = ?, my_note = ?, my_since = ?,
		their_state = ?, their_note = ?, their_since = ?, unread = ?, seen = ?, seen_at = ? WHERE n = ?`,
		r.shown, r.subject, r.updated, r.myState, r.myNote, r.mySince,
		r.theirState, r.theirNote, r.theirSince, r.unread, string(r.seen), r.seenAt, r.n)
}

// active marks that a message or a state of the thread was exchanged. A later subject
// fills one that is still empty (PROTOCOL.md section 11).
func (t *tx) active(r *threadRow, subject string) {
	if !r.shown {
		t.then(func() { t.s.whose.changed(r.th) })
	}
	r.shown = true
	r.updated = ms(t.now)
	if r.subject == "" {
		r.subject = wire.Clip(subject, clipSubject)
	}
	t.touch(r)
}

// saw raises the largest id received in the thread. It is the largest by bytes, not the
// last to arrive (PROTOCOL.md section 8).
func (t *tx) saw(r *threadRow, id awp.MessageID) {
	if id > r.seen {
		r.seen = id
	}
	r.seenAt = ms(t.now)
	t.touch(r)
}

func (t *tx) setMine(r *threadRow, state, note string) {
	side := thread.Side{State: r.myState, Note: r.myNote, Since: fromMS(r.mySince)}.Step(state, note, t.now)
	r.myState, r.myNote, r.mySince = side.State, side.Note, ms(side.Since)
	t.touch(r)
}

func (t *tx) setTheirs(r *threadRow, state, note string) {
	side := thread.Side{State: r.theirState, Note: r.theirNote, Since: fromMS(r.theirSince)}.Step(wire.Clip(state, clipState), wire.Clip(note, clipNote), t.now)
	r.theirState, r.theirNote, r.theirSince = side.State, side.Note, ms(side.Since)
	t.touch(r)
}

// threadOfLine returns the thread of a line of ours, nil when there is none.
func (t *tx) threadOfLine(p *peerRow, id awp.MessageID) (*threadRow, error) {
	if id == "" {
		return nil, nil
	}
	var th awp.ThreadID
	err := t.row("SELECT t.th FROM line l JOIN thread t ON t.n = l.thread WHERE l.peer = ? AND l.dir = 1 AND l.id = ?", p.n, string(id)).Scan(&th)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.thread(p, th)
}
