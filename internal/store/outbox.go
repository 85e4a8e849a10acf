package store

import (
	"database/sql"
	"fmt"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/blob"
	"github.com/awp-suite/awp/wire"
)

// enqueue puts a line of ours into the log and the outbox.
func (t *tx) enqueue(r *threadRow, typ string, id awp.MessageID, body []byte) (seq int64, err error) {
	return t.enqueueNoted(r, typ, id, body, "")
}

// enqueueNoted is enqueue of a line that something is noted about.
func (t *tx) enqueueNoted(r *threadRow, typ string, id awp.MessageID, body []byte, meta string) (seq int64, err error) {
	seq, fresh, err := t.log(logRow{peer: r.peer, thread: r, dir: dirOut, typ: typ, id: id, body: body, meta: meta})
	if err != nil {
		return 0, err
	}
	if !fresh {
		return 0, fmt.Errorf("enqueue: id %s was used before", id)
	}
	if err := t.exec("INSERT INTO outbox (peer, seq, at) VALUES (?, ?, ?)", r.peer.n, seq, ms(t.now)); err != nil {
		return 0, err
	}
	t.intros = t.intros || typ == wire.TypeIntroduce
	t.queue(r.peer, queued{seq, body})
	return seq, nil
}

// queuedIntroductions tells whether the outbox holds introductions.
const queuedIntroductions = "SELECT EXISTS (SELECT 1 FROM outbox o JOIN line l USING (seq) WHERE l.type = 'introduce')"

// enqueueChunks puts the chunks of a staged file into the outbox, ahead of its message.
func (t *tx) enqueueChunks(r *threadRow, blobN, size int64) error {
	t.chunks = true
	for n := range blob.Chunks(size, wire.ChunkSize) {
		seq := t.nextSeq
		t.nextSeq++
		if err := t.exec("INSERT INTO chunk (peer, seq, thread, blob, n, id, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			r.peer.n, seq, r.n, blobN, n, string(t.nextID()), ms(t.now)); err != nil {
			return err
		}
		t.queue(r.peer, queued{seq: seq})
	}
	return nil
}

// queue has a line pushed once it is durable.
func (t *tx) queue(p *peerRow, q queued) {
	if t.queued == nil {
		t.queued = make(map[awp.Key][]queued)
	}
	t.queued[p.key] = append(t.queued[p.key], q)
}

// retire takes an acknowledged line out of the outbox and, with it, every earlier chunk
// and introduction of the same thread (the cumulative rule, PROTOCOL.md section 8). An ack for an unknown
// line changes nothing.
func (t *tx) retire(p *peerRow, id awp.MessageID) error {
	var seq, thread int64
	err := t.row(`DELETE FROM outbox WHERE peer = ?1 AND seq = (SELECT seq FROM line WHERE peer = ?1 AND dir = 1 AND id = ?2)
		RETURNING seq, (SELECT thread FROM line WHERE line.seq = outbox.seq)`, p.n, string(id)).Scan(&seq, &thread)
	if err == sql.ErrNoRows {
		return nil
	}
	if err != nil {
		return err
	}
	t.acked = append(t.acked, ackKey{p.key, id})
	if t.intros {
		if err := t.exec(`DELETE FROM outbox WHERE peer = ?1 AND seq < ?2 AND EXISTS
			(SELECT 1 FROM line l WHERE l.seq = outbox.seq AND l.thread = ?3 AND l.type = 'introduce')`, p.n, seq, thread); err != nil {
			return err
		}
		if err := t.row(queuedIntroductions).Scan(&t.intros); err != nil {
			return err
		}
	}
	if !t.chunks {
		return nil
	}
	n, err := t.changed("DELETE FROM chunk WHERE thread = ? AND seq < ?", thread, seq)
	if err != nil || n == 0 {
		return err
	}
	if err := t.row("SELECT EXISTS (SELECT 1 FROM chunk)").Scan(&t.chunks); err != nil {
		return err
	}
	return t.settleSent(p)
}

// settleSent marks outgoing files with no chunk left as sent, and drops their copies.
func (t *tx) settleSent(p *peerRow) error {
	return t.unstage(`UPDATE blob SET status = ?, updated = ? WHERE peer = ? AND dir = 1 AND status = ?
		AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.blob = blob.n) RETURNING ref`,
		awp.BlobSent, ms(t.now), p.n, awp.BlobQueued)
}

// unstage runs a query that settles outgoing files and returns their refs, and has their
// copies dropped.
func (t *tx) unstage(query string, args ...any) error {
	rows, err := t.rows(query, args...)
	refs, err := scanAll(rows, err, scanString)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		t.then(func() { t.s.files.unstage(ref) })
	}
	return nil
}

// resume prunes the outbox by what the peer says it has seen. Only values that are ULIDs
// count: ours all are (PROTOCOL.md section 8).
func (t *tx) resume(p *peerRow, seen map[awp.ThreadID]awp.MessageID) error {
	gone, err := t.seenLines(p, seen, "SELECT o.seq, t.th, l.id FROM outbox o JOIN line l USING (seq) JOIN thread t ON t.n = l.thread WHERE o.peer = ?")
	if err != nil {
		return err
	}
	for _, line := range gone {
		if err := t.exec("DELETE FROM outbox WHERE peer = ? AND seq = ?", p.n, line.seq); err != nil {
			return err
		}
		t.acked = append(t.acked, ackKey{p.key, line.id})
	}
	gone, err = t.seenLines(p, seen, "SELECT c.seq, t.th, c.id FROM chunk c JOIN thread t ON t.n = c.thread WHERE c.peer = ?")
	if err != nil {
		return err
	}
	for _, line := range gone {
		if err := t.exec("DELETE FROM chunk WHERE peer = ? AND seq = ?", p.n, line.seq); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return t.settleSent(p)
}

// seenLine is a line of the outbox that its peer has.
type seenLine struct {
	seq int64
	id  awp.MessageID
}

func (t *tx) seenLines(p *peerRow, seen map[awp.ThreadID]awp.MessageID, query string) (lines []seenLine, err error) {
	if len(seen) == 0 {
		return nil, nil
	}
	rows, err := t.rows(query, p.n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var l seenLine
		var th awp.ThreadID
		if err := rows.Scan(&l.seq, &th, &l.id); err != nil {
			return nil, err
		}
		if last, ok := seen[th]; ok && wire.IsULID(last) && l.id <= last {
			lines = append(lines, l)
		}
	}
	return lines, rows.Err()
}

// outboxQuery asks for the next lines for a link.
type outboxQuery struct {
	peer, after  int64
	lines, bytes int  // the room in the link's window
	first        bool // the window is empty: one line fits, whatever its length
}

// outboxAfter reads the lines that fit. more says that the outbox holds others.
func (s *Store) outboxAfter(q outboxQuery) (out []queued, more bool, err error) {
	rows, err := s.ro.Query(`
		SELECT o.seq AS seq, l.body, 0, '', 0, '', 0, '' FROM outbox o JOIN line l USING (seq) WHERE o.peer = ?1 AND o.seq > ?2
		UNION ALL
		SELECT c.seq AS seq, NULL, c.n, c.id, c.at, b.ref, b.size, t.th FROM chunk c JOIN blob b ON b.n = c.blob JOIN thread t ON t.n = c.thread
			WHERE c.peer = ?1 AND c.seq > ?2
		ORDER BY seq LIMIT ?3`, q.peer, q.after, q.lines+1)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	used := 0
	for rows.Next() {
		var line queued
		var c chunkLine
		if err := rows.Scan(&line.seq, &line.body, &c.n, &c.id, &c.at, &c.ref, &c.size, &c.th); err != nil {
			return nil, false, err
		}
		if len(out) == q.lines {
			return out, true, nil
		}
		if line.body == nil {
			if used+c.least() > q.bytes && len(out) > 0 {
				return out, true, nil // to build it only to drop it is most of the work
			}
			line.body, err = s.files.chunkLine(c)
			if err != nil && len(out) > 0 {
				return out, true, nil // it comes up again, first in line
			}
			if err != nil {
				return nil, false, err
			}
		}
		used += len(line.body)
		if used > q.bytes && !(q.first && len(out) == 0) {
			return out, true, nil
		}
		out = append(out, line)
	}
	return out, false, rows.Err()
}
