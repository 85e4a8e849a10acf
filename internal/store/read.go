package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/awp-suite/awp"
)

// Filter narrows what is read. Its zero value is everything.
type Filter struct {
	Who    string
	Thread awp.ThreadID
}

// scope is a Filter with its names looked up.
type scope struct {
	peer   int64 // 0: any
	thread int64 // 0: any
	row    *awp.Thread
}

func (f Filter) empty() bool { return f.Who == "" && f.Thread == "" }

func (s *Store) scope(f Filter) (scope, error) {
	var sc scope
	if f.empty() {
		return sc, nil
	}
	key, err := s.Addressee(f.Who, f.Thread)
	if err != nil {
		return sc, err
	}
	if err := s.ro.QueryRow("SELECT n FROM peer WHERE key = ?", key[:]).Scan(&sc.peer); err != nil {
		return sc, &awp.Error{Code: awp.NotFound, Message: "no such peer: " + key.Short(), Hint: "awp peers lists them"}
	}
	if f.Thread != "" {
		if err := s.ro.QueryRow("SELECT n FROM thread WHERE peer = ? AND th = ? AND shown = 1", sc.peer, string(f.Thread)).Scan(&sc.thread); err != nil {
			return sc, noThread(f.Thread, key.Short())
		}
		sc.row, err = s.threadByRow(sc.thread)
	}
	return sc, err
}

// where returns the condition on the table named alias, and its arguments.
func (sc scope) where(alias string) (string, []any) {
	switch {
	case sc.thread != 0:
		return alias + ".thread = ?", []any{sc.thread}
	case sc.peer != 0:
		return alias + ".peer = ?", []any{sc.peer}
	}
	return "1", nil
}

// Result ends a read or a wait.
type Result struct {
	Cursor   int64 // of the last event, or of the log's end
	TimedOut bool
	Matched  bool
	Thread   *awp.Thread // when one was asked for
}

// Read hands the latest last events that fit to fn, oldest first.
func (s *Store) Read(ctx context.Context, f Filter, last int, fn func(awp.Event) error) (Result, error) {
	if err := s.w.settle(ctx); err != nil {
		return Result{}, err
	}
	sc, err := s.scope(f)
	if err != nil {
		return Result{}, err
	}
	cond, args := sc.where("l")
	var first, end int64
	err = s.ro.QueryRowContext(ctx, "SELECT coalesce(min(seq), 1), coalesce(max(seq), 0) FROM (SELECT seq FROM line l WHERE "+cond+" ORDER BY seq DESC LIMIT ?)",
		append(slices.Clone(args), last)...).Scan(&first, &end)
	if err != nil {
		return Result{}, err
	}
	src := source{from: "line l", seq: "l.seq", cond: cond + " AND l.seq <= ?", args: append(args, end)}
	res := Result{Cursor: end, Thread: sc.row}
	_, _, err = s.walk(ctx, src, first-1, last, fn)
	return res, err
}

// ReadUnread hands the earliest limit unread events of the inbox to fn, oldest first.
func (s *Store) ReadUnread(ctx context.Context, f Filter, limit int, fn func(awp.Event) error) (Result, error) {
	sc, err := s.scope(f)
	if err != nil {
		return Result{}, err
	}
	return s.readUnread(ctx, sc, limit, fn)
}

func (s *Store) readUnread(ctx context.Context, sc scope, limit int, fn func(awp.Event) error) (Result, error) {
	cond, args := sc.where("u")
	src := source{from: "unread u CROSS JOIN line l ON l.seq = u.seq", seq: "u.seq", cond: cond, args: args}
	res := Result{Thread: sc.row}
	last, n, err := s.walk(ctx, src, 0, limit, fn)
	if res.Cursor = last; n == 0 && err == nil {
		res.Cursor, err = s.end()
	}
	return res, err
}

// end returns the sequence number of the log's last line.
func (s *Store) end() (seq int64, err error) {
	err = s.ro.QueryRow("SELECT coalesce(max(seq), 0) FROM line").Scan(&seq)
	return seq, err
}

// Mark marks events as read.
func (s *Store) Mark(ctx context.Context, seqs []int64) error {
	return s.w.do(ctx, func(t *tx) error {
		for _, seq := range seqs {
			n, err := t.changed("DELETE FROM unread WHERE seq = ?", seq)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := t.countRead(seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// countRead takes a line just marked off its thread's count.
func (t *tx) countRead(seq int64) error {
	var key []byte // none of a stranger's
	var th awp.ThreadID
	var dir int
	err := t.row("SELECT p.key, coalesce(t.th, ''), l.dir FROM line l LEFT JOIN peer p ON p.n = l.peer LEFT JOIN thread t ON t.n = l.thread WHERE l.seq = ?", seq).
		Scan(&key, &th, &dir)
	if err != nil || th == "" || dir != dirIn {
		return err
	}
	p, err := t.peer(awp.Key(key))
	if err != nil {
		return err
	}
	r, err := t.thread(p, th)
	if err != nil {
		return err
	}
	r.unread = max(0, r.unread-1)
	t.touch(r)
	return nil
}

// maxWait bounds a Wait.
const maxWait = 24 * time.Hour

// maxEvents bounds the events that one Wait hands over.
const maxEvents = 1000

// Wait waits, for at most limit, until unread messages that fit are there, and hands them
// to fn with the notices among them. With states, which need f.Thread, it ends as well
// when the peer's state of the thread is one of them. What is there already counts.
func (s *Store) Wait(ctx context.Context, f Filter, states []string, limit time.Duration, fn func(awp.Event) error) (Result, error) {
	if len(states) > 0 && f.Thread == "" {
		return Result{}, &awp.Error{Code: awp.Invalid, Message: "waiting for a state needs a thread", Hint: "add --thread"}
	}
	sc, err := s.scope(f)
	if err != nil {
		return Result{}, err
	}
	timer := time.NewTimer(min(limit, maxWait))
	defer timer.Stop()
	for {
		grew := s.hub.next() // before the look, so that nothing falls between
		over, matched, err := s.waitOver(sc, states)
		if err != nil {
			return Result{}, err
		}
		timedOut := false
		if !over && limit > 0 {
			select {
			case <-grew:
				continue
			case <-timer.C:
				timedOut = true
			case <-ctx.Done():
				return Result{}, context.Cause(ctx)
			}
		}
		timedOut = timedOut || !over
		res, err := s.readUnread(ctx, sc, maxEvents, fn)
		res.TimedOut, res.Matched = timedOut, matched
		if sc.thread != 0 && err == nil {
			res.Thread, err = s.threadByRow(sc.thread)
		}
		return res, err
	}
}

func (s *Store) waitOver(sc scope, states []string) (over, matched bool, err error) {
	if len(states) > 0 {
		var state string
		if err := s.ro.QueryRow("SELECT their_state FROM thread WHERE n = ?", sc.thread).Scan(&state); err != nil {
			return false, false, err
		}
		if slices.Contains(states, state) {
			return true, true, nil
		}
	}
	cond, args := sc.where("u")
	err = s.ro.QueryRow("SELECT EXISTS (SELECT 1 FROM unread u WHERE u.notice = 0 AND "+cond+")", args...).Scan(&over)
	return over, false, err
}

// Follow hands events to fn as they are committed, until ctx ends or fn fails: those of
// the inbox, or, with all, every one. It begins beyond the event numbered after; 0 means
// the log's end, a negative number its start. It calls fn once when it has begun, with an
// event of which only the number it begins beyond is set. A slow fn delays only itself.
func (s *Store) Follow(ctx context.Context, f Filter, all bool, after int64, fn func(awp.Event) error) error {
	sc, err := s.scope(f)
	if err != nil {
		return err
	}
	cursor, err := s.end()
	if err != nil {
		return err
	}
	if after != 0 {
		cursor = min(max(0, after), cursor) // a number beyond the end is of another log
	}
	if err := fn(awp.Event{Seq: cursor}); err != nil {
		return err
	}
	cond, args := sc.where("l")
	if !all {
		cond += fmt.Sprintf(" AND (l.dir = %d OR l.type IN ('%s', '%s', '%s', '%s'))", dirIn, noteBlob, noteBye, noteRefused, noteExpired)
	}
	src := source{from: "line l", seq: "l.seq", cond: cond, args: args}
	for {
		grew := s.hub.next()
		end, err := s.end()
		if err != nil {
			return err
		}
		last, _, err := s.walk(ctx, src, cursor, math.MaxInt, fn)
		if err != nil {
			return err
		}
		cursor = max(last, end) // what did not fit need not be looked at again
		select {
		case <-grew:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
