package store

import (
	"cmp"
	"database/sql"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// What awp-wire asks and tells. PROTOCOL.md sections 7 to 10.

// Hello is what our hello lines say.
type Hello struct {
	Key         awp.Key
	Name, About string
	Caps        []string
}

// Claim makes w the wire that lines are pushed to, and asks it for links to every peer
// with unfinished business. Error: busy while another wire has not been dropped.
func (s *Store) Claim(w Wire) (Hello, error) {
	s.links.mu.Lock()
	if s.links.wire != nil {
		s.links.mu.Unlock()
		return Hello{}, &awp.Error{Code: awp.Busy, Message: "another awp-wire has this home's links"}
	}
	s.links.wire = w
	s.links.mu.Unlock()
	h, err := s.hello()
	if err != nil {
		s.DropWire()
	}
	return h, err
}

func (s *Store) hello() (Hello, error) {
	name, err := s.name()
	if err != nil {
		return Hello{}, err
	}
	about, err := s.recall("about")
	return Hello{Key: s.Key(), Name: name, About: cmp.Or(about, s.defaultAbout()), Caps: []string{wire.CapChat, wire.CapBlob}}, err
}

// WantAll asks the wire for links to every peer with unfinished business, and takes back
// what was asked of the others. It does not wait.
func (s *Store) WantAll() {
	s.w.submit(op{apply: func(t *tx) error {
		keys, err := t.allPeers()
		if err != nil {
			return err
		}
		for _, key := range keys {
			p, err := t.peer(key)
			if err != nil {
				return err
			}
			if err := t.want(p); err != nil {
				return err
			}
		}
		return nil
	}, done: func(err error) {
		if err != nil {
			s.log.Error("wanted links not determined", "err", err)
		}
	}})
}

// DropWire forgets the wire, and with it every link.
func (s *Store) DropWire() {
	for _, l := range s.links.drop() {
		s.left(l, "awp-wire ended")
	}
}

// Sign signs an auth transcript for a hello of ours and one of a peer (PROTOCOL.md
// section 7.2). It signs nothing else: ours must carry our key and theirs another.
func (s *Store) Sign(mine, theirs []byte) (string, error) {
	if err := s.checkHello(mine, true); err != nil {
		return "", err
	}
	if err := s.checkHello(theirs, false); err != nil {
		return "", err
	}
	return s.identity.SignAuth(mine, theirs), nil
}

func (s *Store) checkHello(line []byte, ours bool) error {
	h, err := wire.Decode[wire.Hello](line)
	if err != nil {
		return &awp.Error{Code: awp.Denied, Message: "sign: not a hello line", Cause: err}
	}
	key, err := awp.ParseKey(h.Key)
	if err != nil || (key == s.Key()) != ours {
		return &awp.Error{Code: awp.Denied, Message: "sign: the hello lines do not belong to the two sides", Cause: err}
	}
	return nil
}

// NewLink describes a connection whose peer proved its key.
type NewLink struct {
	ID       uint64
	Peer     awp.Key
	Hello    []byte // the peer's line
	Outbound bool
	Via      string

	era int // of the registry, when the wire asked
}

// Admitted is what our resume line says, or why there will be none.
type Admitted struct {
	Refused string
	Seen    map[awp.ThreadID]awp.MessageID
}

// maxSeen bounds the bytes of the seen map, so that the resume line fits. Threads left
// out are replayed whole, and their lines dropped as known.
const maxSeen = wire.MaxLine - 4096

// Admit judges and records a new link, and hands the outcome to done, which must not
// wait. Lines that an older link to the peer handed over before this call count as seen.
func (s *Store) Admit(n NewLink, done func(Admitted, error)) {
	hello, err := wire.Decode[wire.Hello](n.Hello)
	if err != nil {
		done(Admitted{}, &awp.Error{Code: awp.Invalid, Message: "admit: " + err.Error(), Cause: err})
		return
	}
	n.era = s.links.now()
	var out Admitted
	s.w.submit(op{
		size:  len(n.Hello),
		apply: func(t *tx) (err error) { out, err = t.admit(n, hello); return err },
		done:  func(err error) { done(out, err) },
	})
}

func (t *tx) admit(n NewLink, hello wire.Hello) (Admitted, error) {
	refused, err := t.refusal(n)
	if err != nil {
		return Admitted{}, err
	}
	p, err := t.ensurePeer(n.Peer)
	if err != nil {
		return Admitted{}, err
	}
	if refused != "" {
		t.s.log.Info("connection refused", "peer", n.Peer.Short(), "reason", refused)
		err := t.note(p, noteRefused, true, map[string]any{"reason": refused, "name": hello.Name, "via": n.Via})
		return Admitted{Refused: refused}, err
	}
	if err := t.met(p, hello.Name, hello.About, hello.Caps); err != nil {
		return Admitted{}, err
	}
	if err := t.park(p, false); err != nil {
		return Admitted{}, err
	}
	if n.Outbound {
		if err := t.addAddr(p, n.Via, sourceConnect); err != nil {
			return Admitted{}, err
		}
		if err := t.tried(p, n.Via, ""); err != nil {
			return Admitted{}, err
		}
	} else if a, err := wire.ParseAddr(hello.Addr); err == nil {
		if err := t.addAddr(p, a.String(), sourceHello); err != nil {
			return Admitted{}, err
		}
	}
	if err := t.note(p, noteConnected, false, map[string]any{"name": hello.Name, "about": hello.About, "via": n.Via, "outbound": n.Outbound, "caps": hello.Caps}); err != nil {
		return Admitted{}, err
	}
	seen, err := t.seenBy(p)
	if err != nil {
		return Admitted{}, err
	}
	l := &link{
		id: n.ID, key: n.Peer, peer: p.n, outbound: n.Outbound, via: n.Via, since: t.now,
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	t.then(func() {
		if t.s.links.add(l, n.era) {
			t.s.running.Go(func() { t.s.pump(l) })
		} else { // the wire ended meanwhile
			t.s.left(l, "awp-wire ended")
		}
	})
	return Admitted{Seen: seen}, nil
}

// refusal returns why a peer may not connect, or nothing (PROTOCOL.md section 12).
func (t *tx) refusal(n NewLink) (string, error) {
	if t.s.set.Accept == AcceptAny || n.Outbound || slices.Contains(t.s.set.Allow, n.Peer) || slices.Contains(t.s.set.Trust, n.Peer) {
		return "", nil
	}
	p, err := t.peer(n.Peer)
	if p == nil || err != nil {
		return "not admitted by policy", err
	}
	var dialled bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM addr WHERE peer = ? AND source = ?)", p.n, sourceConnect).Scan(&dialled); err != nil || dialled {
		return "", err
	}
	return "not admitted by policy", nil
}

// seenBy returns what our resume line tells a peer: the largest id of each thread that
// changed within the retention, newest threads first when not all fit.
func (t *tx) seenBy(p *peerRow) (map[awp.ThreadID]awp.MessageID, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	rows, err := t.rows("SELECT th, seen FROM thread WHERE peer = ? AND seen <> '' AND seen_at >= ? ORDER BY seen_at DESC",
		p.n, ms(t.now.Add(-t.s.set.OutboxTTL)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := make(map[awp.ThreadID]awp.MessageID)
	used := 0
	for rows.Next() {
		var th awp.ThreadID
		var id awp.MessageID
		if err := rows.Scan(&th, &id); err != nil {
			return nil, err
		}
		member, err := jsontext.AppendQuote(nil, th)
		if err == nil {
			member, err = jsontext.AppendQuote(member, id)
		}
		if err != nil {
			continue
		}
		if used += len(member) + 2; used > maxSeen {
			break
		}
		seen[th] = id
	}
	return seen, rows.Err()
}

// Resume starts the flow to a link: line is the peer's resume, nil when it never came.
func (s *Store) Resume(id uint64, line []byte) {
	l := s.links.get(id)
	if l == nil {
		return
	}
	var seen map[awp.ThreadID]awp.MessageID
	var bad error
	if line != nil {
		var r wire.Resume
		r, bad = wire.Decode[wire.Resume](line)
		seen = r.Seen
	}
	s.w.submit(op{
		size: len(line),
		apply: func(t *tx) error {
			if bad != nil || l.failed {
				return nil
			}
			p, err := t.ensurePeer(l.key)
			if err != nil {
				return err
			}
			if err := t.resume(p, seen); err != nil {
				return err
			}
			t.then(func() {
				s.links.mu.Lock()
				defer s.links.mu.Unlock()
				l.resumed = true
				l.look()
			})
			return nil
		},
		done: func(err error) {
			if err = errors.Join(bad, err); err != nil {
				s.reject(l, line, err)
			}
		},
	})
}

// Down records that a link ended.
func (s *Store) Down(id uint64, reason string) {
	if l := s.links.remove(id); l != nil {
		s.left(l, reason)
		return
	}
	// It may be that its admission is still under way: then it ends right behind that.
	s.w.submit(op{apply: func(*tx) error { return nil }, done: func(error) {
		if l := s.links.remove(id); l != nil {
			s.left(l, reason)
		}
	}})
}

// left records the end of a link that the registry has forgotten.
func (s *Store) left(l *link, reason string) {
	s.w.submit(op{apply: func(t *tx) error {
		p, err := t.ensurePeer(l.key)
		if err != nil {
			return err
		}
		if err := t.exec("UPDATE peer SET last_seen = ? WHERE n = ?", ms(t.now), p.n); err != nil {
			return err
		}
		if err := t.note(p, noteDisconnected, false, map[string]any{"reason": reason, "via": l.via}); err != nil {
			return err
		}
		return t.want(p)
	}})
}

// Bye parks a peer: one side said bye, or wanted to. done, which must not wait, is told
// when that is durable.
func (s *Store) Bye(key awp.Key, reason string, fromPeer bool, done func(error)) {
	s.w.submit(op{apply: func(t *tx) error { return t.bye(key, reason, fromPeer) }, done: done})
}

func (t *tx) bye(key awp.Key, reason string, fromPeer bool) error {
	p, err := t.peer(key)
	if err != nil {
		return err
	}
	if p == nil {
		return &awp.Error{Code: awp.NotFound, Message: "no such peer: " + key.Short()}
	}
	if err := t.park(p, true); err != nil {
		return err
	}
	if fromPeer {
		if err := t.note(p, noteBye, true, map[string]any{"reason": reason, "from": "peer"}); err != nil {
			return err
		}
	}
	return t.want(p)
}

// note logs something the home noted itself. A notice waits to be read.
func (t *tx) note(p *peerRow, typ string, notice bool, meta map[string]any) error {
	text, err := json.Marshal(meta, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("note %s: %w", typ, err)
	}
	_, _, err = t.log(logRow{peer: p, dir: dirSys, typ: typ, meta: string(text), unread: notice, notice: notice})
	return err
}

// RTT records a measured round trip, in milliseconds.
func (s *Store) RTT(id uint64, rtt int64) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	if l := s.links.links[id]; l != nil {
		l.rtt = max(1, rtt)
	}
}

// SetListening records where awp-wire listens.
func (s *Store) SetListening(at Listening) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	s.links.listening = at
}

// Dialled records the state of the dialling loop for a peer and, with addr, how an attempt
// ended.
func (s *Store) Dialled(key awp.Key, running bool, addr, failure string) {
	s.links.mu.Lock()
	d := s.links.dials[key]
	d.running = running
	if addr != "" {
		d.err = failure
	}
	if s.links.dials[key] = d; !running && d.err == "" {
		delete(s.links.dials, key)
	}
	s.links.mu.Unlock()
	if addr == "" {
		return
	}
	s.w.submit(op{apply: func(t *tx) error {
		p, err := t.peer(key)
		if p == nil || err != nil {
			return err
		}
		return t.tried(p, addr, failure)
	}})
}

// LookUp returns the dial targets of a peer, named by its key or by an address of it.
func (s *Store) LookUp(key awp.Key, addr string) (Want, error) {
	if key.IsZero() {
		var raw []byte
		err := s.ro.QueryRow("SELECT p.key FROM addr a JOIN peer p ON p.n = a.peer WHERE a.addr = ? ORDER BY a.last_ok DESC LIMIT 1", addr).Scan(&raw)
		if err == sql.ErrNoRows {
			return Want{}, &awp.Error{Code: awp.NotFound, Message: "no peer is known at this address"}
		}
		if err != nil {
			return Want{}, err
		}
		key = awp.Key(raw)
	}
	var n int64
	err := s.ro.QueryRow("SELECT n FROM peer WHERE key = ?", key[:]).Scan(&n)
	if err == sql.ErrNoRows {
		return Want{}, &awp.Error{Code: awp.NotFound, Message: "no such peer: " + key.Short()}
	}
	if err != nil {
		return Want{}, err
	}
	rows, err := s.ro.Query(targetsQuery, n)
	if err != nil {
		return Want{}, err
	}
	targets, err := scanTargets(rows)
	return Want{Peer: key, Addrs: targets}, err
}
