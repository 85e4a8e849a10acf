package store

import (
	"database/sql"
	"encoding/json/v2"
	"errors"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/blob"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/wire"
)

// blobRow is a file that arrives.
type blobRow struct {
	n     int64
	ref   string
	name  string
	mime  string
	path  string
	msg   int64 // sequence number of the message, 0 before it came
	fresh bool  // not in the database yet
	blob.In
}

// judgeChunk decodes a chunk. One whose data is not base64 refuses its file, not the link.
func judgeChunk(l *link, line []byte) (judgement, error) {
	c, err := wire.DecodeChunk(line)
	broken := ""
	if bad, ok := errors.AsType[*wire.LineError](err); ok && bad.Code == wire.BlobRefused {
		broken = bad.Detail
	} else if err != nil {
		return ignored, err
	}
	return judgement{files: 1, apply: func(t *tx) error { return t.takeChunk(l, c, broken) }}, nil
}

// takeChunk writes a chunk where it belongs. The file is synced before the commit.
func (t *tx) takeChunk(l *link, c wire.DecodedChunk, broken string) error {
	p, err := t.ensurePeer(l.key)
	if err != nil {
		return err
	}
	var r *threadRow
	if c.Th != "" {
		if r, err = t.ensureThread(p, c.Th, false); err != nil {
			return err
		}
		t.saw(r, c.ID)
	}
	b, err := t.incoming(p, c.Ref)
	if err != nil {
		return err
	}
	var v blob.Verdict
	if broken != "" {
		b.In, v = b.Broken(broken)
	} else {
		b.In, v = b.Chunk(c.N, c.Last, int64(len(c.Data)), t.s.set.BlobLimit)
	}
	if v.Write {
		path, _ := t.s.files.incoming(p.key, b.ref, b.name)
		file, err := t.s.files.open(path, v.At)
		if errors.Is(err, errLost) { // it never comes again: to insist would end every link
			b.In, v = b.Lost()
			return t.settle(l, p, r, b, v, "", false)
		}
		if err != nil {
			return fileError("open partial file", path, err)
		}
		t.syncs.file(file)
		if err := file.write(c.Data); err != nil {
			return fileError("write partial file", path, err)
		}
		failpoint.Hit("store/chunk-written")
	}
	return t.settle(l, p, r, b, v, "", false)
}

// nameBlob takes a message's part that names a file.
func (t *tx) nameBlob(l *link, r *threadRow, msg awp.MessageID, seq int64, part wire.Part) error {
	if part.Ref == "" {
		return nil
	}
	b, err := t.incoming(r.peer, part.Ref)
	if err != nil {
		return err
	}
	if b.Named {
		return nil // a second part with one ref shows the same file
	}
	b.name, b.mime, b.msg = wire.Clip(part.Name, clipFile), wire.Clip(part.Mime, clipMime), seq
	var v blob.Verdict
	b.In, v = b.In.Message(part.Size, t.s.set.BlobLimit)
	return t.settle(l, r.peer, r, b, v, msg, true)
}

// settle stores what became of a file, and does what follows from that. byMessage: the
// message that names the file comes in the same line, and its reader sees the path there.
func (t *tx) settle(l *link, p *peerRow, r *threadRow, b *blobRow, v blob.Verdict, re awp.MessageID, byMessage bool) error {
	path, final := t.s.files.incoming(p.key, b.ref, b.name)
	whole := b.Status == blob.Complete && b.path == ""
	if whole {
		dirs, err := t.s.files.promote(path, final, b.Got)
		t.syncs.names(dirs...)
		if errors.Is(err, errLost) {
			b.In, v = b.Lost()
		} else if err != nil {
			return fileError("move the complete file", final, err)
		}
	}
	switch {
	case v.Refuse != "":
		line := t.s.errLine(wire.Err{Code: wire.BlobRefused, Detail: v.Refuse, Ref: b.ref, Envelope: wire.Envelope{Re: re}})
		t.acks[l] = append(t.acks[l], line)
		t.then(func() { t.s.files.discard(path) })
	case whole:
		b.path = final
		failpoint.Hit("store/promoted")
		t.then(func() { t.s.files.done(path) })
		if err := t.noteBlob(p, r, b, byMessage); err != nil {
			return err
		}
	}
	return t.writeBlob(p, r, b)
}

func (t *tx) noteBlob(p *peerRow, r *threadRow, b *blobRow, read bool) error {
	note := struct {
		Ref  string       `json:"ref"`
		Th   awp.ThreadID `json:"th,omitzero"`
		Name string       `json:"name"`
		Mime string       `json:"mime"`
		Size int64        `json:"size"`
		Path string       `json:"path"`
	}{Ref: b.ref, Name: b.name, Mime: b.mime, Size: b.Got, Path: b.path}
	if r != nil {
		note.Th = r.th
	}
	meta, err := json.Marshal(note)
	if err != nil {
		return err
	}
	_, _, err = t.log(logRow{peer: p, thread: r, dir: dirSys, typ: noteBlob, meta: string(meta), unread: !read, notice: true})
	return err
}

// incoming returns the row of a file that arrives, a new one when there is none.
func (t *tx) incoming(p *peerRow, ref string) (*blobRow, error) {
	b := &blobRow{ref: ref, In: blob.New()}
	err := t.row("SELECT n, coalesce(msg, 0), name, mime, path, status, size, got, next, named FROM blob WHERE peer = ? AND dir = 0 AND ref = ?", p.n, ref).
		Scan(&b.n, &b.msg, &b.name, &b.mime, &b.path, &b.Status, &b.Size, &b.Got, &b.Next, &b.Named)
	if err == sql.ErrNoRows {
		b.fresh = true
		return b, nil
	}
	return b, err
}

func (t *tx) writeBlob(p *peerRow, r *threadRow, b *blobRow) error {
	if b.fresh {
		if err := t.exec("INSERT INTO blob (peer, dir, ref, size, status, updated) VALUES (?, 0, ?, -1, '', 0)", p.n, b.ref); err != nil {
			return err
		}
	}
	var th any
	if r != nil {
		th = r.n
	}
	return t.exec(`UPDATE blob SET thread = coalesce(?, thread), name = ?, mime = ?, path = ?, status = ?, size = ?, got = ?, next = ?,
		named = ?, msg = nullif(?, 0), updated = ? WHERE peer = ? AND dir = 0 AND ref = ?`,
		th, b.name, b.mime, b.path, string(b.Status), b.Size, b.Got, b.Next, b.Named, b.msg, ms(t.now), p.n, b.ref)
}

// refusedByPeer gives up an outgoing file: its chunks leave the outbox, its message stays.
func (t *tx) refusedByPeer(p *peerRow, ref string) error {
	var n int64
	err := t.row("UPDATE blob SET status = ?, updated = ? WHERE peer = ? AND dir = 1 AND ref = ? AND status <> ? RETURNING n",
		awp.BlobRefused, ms(t.now), p.n, ref, awp.BlobRefused).Scan(&n)
	if err == sql.ErrNoRows {
		return nil
	}
	if err != nil {
		return err
	}
	t.then(func() { t.s.files.unstage(ref) })
	return t.exec("DELETE FROM chunk WHERE blob = ?", n)
}
