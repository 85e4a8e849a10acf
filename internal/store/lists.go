package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json/v2"
	"os"
	"slices"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

const threadColumns = `p.key, p.alias, p.name, t.th, t.subject, t.ours, t.created, t.updated, t.my_state, t.my_note, t.my_since,
	t.their_state, t.their_note, t.their_since, t.unread FROM thread t JOIN peer p ON p.n = t.peer `

func scanThread(row scanner) (awp.Thread, error) {
	var r awp.Thread
	var key []byte
	var alias, name string
	var ours bool
	var created, updated, mine, theirs int64
	err := row.Scan(&key, &alias, &name, &r.Th, &r.Subject, &ours, &created, &updated, &r.MyState, &r.MyNote, &mine,
		&r.TheirState, &r.TheirNote, &theirs, &r.Unread)
	if err != nil {
		return r, err
	}
	r.Peer = awp.Key(key)
	r.PeerName = cmp.Or(alias, name)
	if r.Origin = "them"; ours {
		r.Origin = "us"
	}
	r.Created, r.Updated, r.MySince, r.TheirSince = fromMS(created), fromMS(updated), fromMS(mine), fromMS(theirs)
	return r, nil
}

func (s *Store) threadByRow(n int64) (*awp.Thread, error) {
	r, err := scanThread(s.ro.QueryRow("SELECT "+threadColumns+"WHERE t.n = ?", n))
	return &r, err
}

// Threads returns the threads, most recently active first: all, one peer's, or only the
// open ones; with last not 0, at most so many.
func (s *Store) Threads(ctx context.Context, who string, open bool, last int) ([]awp.Thread, error) {
	sc, err := s.scope(Filter{Who: who})
	if err != nil {
		return nil, err
	}
	cond, args := sc.where("t")
	if open {
		cond += " AND " + threadOpen
	}
	query := "SELECT " + threadColumns + "WHERE t.shown = 1 AND " + cond
	if last > 0 { // to sort numbers is cheap, to read whole rows is not
		query = "SELECT " + threadColumns + "WHERE t.n IN (SELECT n FROM thread t WHERE t.shown = 1 AND " + cond + " ORDER BY t.updated DESC, t.n DESC LIMIT ?)"
		args = append(args, last)
	}
	list, err := collect(ctx, s.ro, scanThread, query+" ORDER BY t.n DESC", args...)
	slices.SortStableFunc(list, func(a, b awp.Thread) int { return b.Updated.Compare(a.Updated) })
	return list, err
}

// collect reads every row that a query returns.
func collect[T any](ctx context.Context, ro *reads, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := ro.QueryContext(ctx, query, args...)
	return scanAll(rows, err, scan)
}

// Peers returns the known peers: connected ones first, then the most recently seen.
func (s *Store) Peers(ctx context.Context) ([]awp.Peer, error) {
	if err := s.w.settle(ctx); err != nil {
		return nil, err
	}
	return s.peers(ctx, "NOT "+onlyGranted)
}

// onlyGranted tells the peers that were granted something and that nothing else is known
// of, nor said to: they are not listed.
const onlyGranted = `(p.name = '' AND p.alias = '' AND p.last_seen = 0 AND NOT EXISTS (SELECT 1 FROM addr a WHERE a.peer = p.n)
	AND NOT EXISTS (SELECT 1 FROM thread t WHERE t.peer = p.n))`

// Peer returns one peer; a key that is not known is a peer of which nothing is.
func (s *Store) Peer(ctx context.Context, key awp.Key) (awp.Peer, error) {
	list, err := s.peers(ctx, "p.key = ?", key[:])
	if err != nil || len(list) == 1 {
		return append(list, awp.Peer{})[0], err
	}
	return awp.Peer{Key: key, Short: key.Short()}, nil
}

func (s *Store) peers(ctx context.Context, cond string, args ...any) ([]awp.Peer, error) {
	book, err := s.wholeBook(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.ro.QueryContext(ctx, `SELECT p.n, p.key, p.name, p.alias, p.about, p.caps, p.parked, p.last_seen,
		(SELECT count(*) FROM outbox o WHERE o.peer = p.n),
		coalesce(t.open, 0), coalesce(t.unread, 0) + (SELECT count(*) FROM unread u WHERE u.peer = p.n AND u.thread IS NULL AND u.notice = 0)
		FROM peer p LEFT JOIN (SELECT peer, sum(unread) AS unread, sum(shown = 1 AND `+threadOpen+`) AS open FROM thread GROUP BY peer) t ON t.peer = p.n
		WHERE `+cond+` ORDER BY p.last_seen DESC, p.n`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []awp.Peer{}
	now := s.now()
	numbers := make(map[int64]int)
	for rows.Next() {
		var p awp.Peer
		var n, seen int64
		var key []byte
		var caps string
		if err := rows.Scan(&n, &key, &p.Name, &p.Alias, &p.About, &caps, &p.Parked, &seen, &p.Outbox, &p.OpenThreads, &p.Unread); err != nil {
			return nil, err
		}
		p.Key, p.LastSeen = awp.Key(key), fromMS(seen)
		p.Short = p.Key.Short()
		if err := json.Unmarshal([]byte(caps), &p.Caps); err != nil {
			return nil, err
		}
		if caps, _ := book.Allows(p.Key, now); len(caps) > 0 {
			p.Granted = caps
		}
		s.links.describe(&p)
		numbers[n] = len(list)
		list = append(list, p)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if err := s.addAddrs(ctx, list, numbers); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b awp.Peer) int {
		switch {
		case a.Connected == b.Connected:
			return 0
		case a.Connected:
			return -1
		}
		return 1
	})
	return list, nil
}

// describe fills in what only the moment knows of a peer.
func (g *registry) describe(p *awp.Peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.peers[p.Key]; l != nil {
		p.Connected, p.Via, p.Outbound, p.Since, p.RTT = true, l.via, l.outbound, l.since, l.rtt
		return
	}
	d := g.dials[p.Key]
	p.Dialing, p.DialError = d.running, d.err
}

func (s *Store) addAddrs(ctx context.Context, list []awp.Peer, numbers map[int64]int) error {
	rows, err := s.ro.QueryContext(ctx, "SELECT peer, addr, source, added, last_ok, last_err FROM addr ORDER BY last_ok DESC, source, added DESC")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n, added, ok int64
		var a awp.PeerAddr
		var source int
		if err := rows.Scan(&n, &a.Addr, &source, &added, &ok, &a.LastErr); err != nil {
			return err
		}
		if i, known := numbers[n]; known {
			a.Source, a.Added, a.LastOK = sourceNames[source], fromMS(added), fromMS(ok)
			list[i].Addrs = append(list[i].Addrs, a)
		}
	}
	return rows.Err()
}

// Status describes the home.
func (s *Store) Status(ctx context.Context) (awp.Status, error) {
	st := awp.Status{
		Key: s.Key(), Short: s.Key().Short(), Fingerprint: s.Key().Fingerprint(), Version: awp.Release,
		Home: s.home, PID: os.Getpid(), Started: s.started, Host: s.hostname(), Accept: s.set.Accept,
		Addresses: []string{}, Warnings: s.set.Warnings,
	}
	if s.set.Supervisor != nil {
		if pid, since := s.set.Supervisor(); pid != 0 {
			st.PID, st.Started = pid, since
		}
	}
	memory, err := s.recall(ctx)
	if err != nil {
		return st, err
	}
	st.Name, st.About, st.Harness, st.Model = memory["name"], memory["about"], memory["harness"], memory["model"]
	if st.Peers, err = s.Peers(ctx); err != nil {
		return st, err
	}
	for _, p := range st.Peers {
		st.Unread += p.Unread
		st.Outbox += p.Outbox
	}
	if err := s.ro.QueryRowContext(ctx, "SELECT count(*) FROM unread WHERE notice = 1").Scan(&st.Notices); err != nil {
		return st, err
	}
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	at := s.links.listening
	st.WireAway = !s.links.told
	st.Addresses = append(st.Addresses, at.Addresses...)
	st.ListenErrors, st.Tailcat, st.TailcatError, st.TailcatEnabled = at.Errors, at.Tailcat, at.TailcatError, at.TailcatEnabled || s.set.Tailcat
	return st, nil
}

// Blobs returns the files sent and received, newest first.
func (s *Store) Blobs(ctx context.Context, who string) ([]awp.Blob, error) {
	if err := s.w.settle(ctx); err != nil {
		return nil, err
	}
	sc, err := s.scope(Filter{Who: who})
	if err != nil {
		return nil, err
	}
	cond, args := sc.where("b")
	return collect(ctx, s.ro, scanBlob, `SELECT p.key, b.dir, b.ref, coalesce(t.th, ''), b.name, b.mime, b.size, b.got, b.next, b.path, b.status, b.updated
		FROM blob b JOIN peer p ON p.n = b.peer LEFT JOIN thread t ON t.n = b.thread WHERE `+cond+" ORDER BY b.updated DESC, b.n DESC", args...)
}

func scanBlob(row scanner) (awp.Blob, error) {
	var b awp.Blob
	var key []byte
	var dir int
	var updated int64
	err := row.Scan(&key, &dir, &b.Ref, &b.Th, &b.Name, &b.Mime, &b.Size, &b.Received, &b.NextN, &b.Path, &b.Status, &updated)
	if err != nil {
		return b, err
	}
	b.Peer, b.Dir, b.Updated = awp.Key(key), dirNames[dir], fromMS(updated)
	return b, nil
}

// SetAlias gives a peer a local nickname, or with an empty one takes it away.
func (s *Store) SetAlias(ctx context.Context, who, alias string) (awp.Peer, error) {
	key, err := s.Find(who)
	if err != nil {
		return awp.Peer{}, err
	}
	if _, err := wire.ParseAddr(alias); err == nil || strings.HasPrefix(alias, awp.KeyPrefix) {
		return awp.Peer{}, &awp.Error{Code: awp.Invalid, Message: "an alias must not look like an address or a key", Hint: "choose a word"}
	}
	err = s.w.do(ctx, func(t *tx) error {
		p, err := t.ensurePeer(key)
		if err != nil {
			return err
		}
		var other []byte
		err = t.row("SELECT key FROM peer WHERE ?1 <> '' AND n <> ?2 AND (alias = ?1 OR name = ?1 AND ?1 <> ?3)", alias, p.n, p.name).Scan(&other)
		if err == nil {
			return &awp.Error{Code: awp.Ambiguous, Message: "that is already the alias or the name of " + awp.Key(other).Short(), Hint: "choose another, or take it away there first"}
		}
		if err != sql.ErrNoRows {
			return err
		}
		p.alias = alias
		return t.exec("UPDATE peer SET alias = ? WHERE n = ?", alias, p.n)
	})
	if err != nil {
		return awp.Peer{}, err
	}
	return s.Peer(ctx, key)
}
