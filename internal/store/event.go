package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// eventColumns are what scanEvent reads. They need line as l, and eventJoins behind it.
const (
	eventColumns = `l.seq, l.at, l.dir, l.type, l.id, l.body, l.meta, l.lapsed, p.key, coalesce(p.alias, ''), coalesce(p.name, ''), coalesce(t.th, ''), coalesce(t.subject, ''),
		EXISTS (SELECT 1 FROM outbox o WHERE o.peer = l.peer AND o.seq = l.seq), EXISTS (SELECT 1 FROM unread n WHERE n.seq = l.seq),
		(SELECT json_group_object(b.ref, json_object('name', b.name, 'mime', b.mime, 'size', b.size, 'received', b.got, 'status', b.status, 'path', b.path))
			FROM blob b WHERE b.msg = l.seq)`
	eventJoins = " LEFT JOIN peer p ON p.n = l.peer LEFT JOIN thread t ON t.n = l.thread "
)

func scanEvent(rows *sql.Rows) (awp.Event, error) {
	var e awp.Event
	var at int64
	var dir int
	var id, meta sql.NullString
	var body, key []byte
	var lapsed, queued bool
	var alias, name, blobs string
	err := rows.Scan(&e.Seq, &at, &dir, &e.Type, &id, &body, &meta, &lapsed, &key, &alias, &name, &e.Th, &e.Subject, &queued, &e.Unread, &blobs)
	if err != nil {
		return e, err
	}
	e.At, e.Dir, e.Peer = fromMS(at), dirNames[dir], awp.Key{}
	copy(e.Peer[:], key)
	e.ID = awp.MessageID(id.String)
	e.PeerName = cmp.Or(alias, name)
	e.Acked, e.Lapsed = dir == dirOut && !queued && !lapsed && wire.Acked(e.Type), lapsed
	e.Msg = jsontext.Value(body)
	if meta.Valid {
		e.Meta = jsontext.Value(meta.String)
	}
	if key == nil { // a stranger that was refused, see refuse
		var who refusedStranger
		err = json.Unmarshal(e.Meta, &who)
		e.Peer, e.PeerName = who.Key, who.Name
	}
	if blobs != "{}" && err == nil {
		err = json.Unmarshal([]byte(blobs), &e.Blobs)
	}
	return e, err
}

// The bounds of a page of events. No reader holds a connection to the database while
// somebody else takes its time over what was read.
const (
	pageEvents = 64
	pageBytes  = 256 << 10 // one event more may pass it
)

// source is a set of events: line as l, or a table joined to it, the column of the
// sequence number by which that is walked, and a condition.
type source struct {
	from string
	seq  string
	cond string
	args []any
}

// walk hands the events of src beyond after to fn, oldest first, at most limit of them,
// and returns the sequence number of the last.
func (s *Store) walk(ctx context.Context, src source, after int64, limit int, fn func(awp.Event) error) (last int64, n int, err error) {
	last = after
	for n < limit {
		page, more, err := s.page(ctx, src, last, min(pageEvents, limit-n))
		if err != nil {
			return last, n, err
		}
		for i, e := range page {
			page[i] = awp.Event{} // fn may take its time
			if err := fn(e); err != nil {
				return last, n, err
			}
			last = e.Seq
			n++
		}
		if !more {
			break
		}
	}
	return last, n, nil
}

// page reads one page. more says that there may be others.
func (s *Store) page(ctx context.Context, src source, after int64, limit int) (page []awp.Event, more bool, err error) {
	query := "SELECT " + eventColumns + " FROM " + src.from + eventJoins + "WHERE " + src.seq + " > ? AND " + src.cond + " ORDER BY " + src.seq + " LIMIT ?"
	args := append([]any{after}, src.args...)
	rows, err := s.ro.QueryContext(ctx, query, append(args, limit)...)
	if err != nil {
		return nil, false, errors.Join(err, context.Cause(ctx))
	}
	defer rows.Close()
	bytes := 0
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, false, err
		}
		page = append(page, e)
		if bytes += len(e.Msg); bytes > pageBytes {
			return page, true, nil
		}
	}
	return page, len(page) == limit, rows.Err()
}
