package store

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

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

// Claim makes w the wire that lines are pushed to. Its caller asks for links with WantAll
// once w can take them. Error: busy while another wire has not been dropped.
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
	memory, err := s.recall(context.Background())
	if err != nil {
		return Hello{}, err
	}
	return Hello{
		Key: s.Key(), Name: memory["name"], About: cmp.Or(memory["about"], s.defaultAbout()),
		Caps: []string{wire.CapChat, wire.CapBlob, wire.CapGrant, wire.CapIntroduce},
	}, nil
}

// wantBatch bounds how many peers one change of WantAll looks at: what it asks of the wire
// must have time to leave before the next.
const wantBatch = 200

// WantAll asks the wire for links to every peer with unfinished business, and takes back
// what was asked of the others. It does not wait.
func (s *Store) WantAll() { s.wantFrom(0) }

func (s *Store) wantFrom(n int64) {
	var last int64
	s.w.submit(op{apply: func(t *tx) error {
		var err error
		last, err = t.wantSome(n)
		return err
	}, done: func(err error) {
		if err != nil && err != errClosed {
			s.log.Error("wanted links not determined", "err", err)
		}
		if err == nil && last != 0 {
			s.wantFrom(last)
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
// section 7.2): ours must carry our key and theirs another. It returns the grants to
// present with it, too.
func (s *Store) Sign(mine, theirs []byte) (sig string, grants []string, err error) {
	if _, err := s.checkHello(mine, true); err != nil {
		return "", nil, err
	}
	peer, err := s.checkHello(theirs, false)
	if err != nil {
		return "", nil, err
	}
	if grants, err = s.presentable(context.Background(), peer); err != nil {
		s.log.Error("grants not presented", "err", err) // the link is worth more than they are
	}
	return s.identity.SignAuth(mine, theirs), grants, nil
}

func (s *Store) checkHello(line []byte, ours bool) (awp.Key, error) {
	h, err := wire.Decode[wire.Hello](line)
	if err != nil {
		return awp.Key{}, &awp.Error{Code: awp.Denied, Message: "sign: not a hello line", Cause: err}
	}
	key, err := awp.ParseKey(h.Key)
	if err != nil || (key == s.Key()) != ours {
		return key, &awp.Error{Code: awp.Denied, Message: "sign: the hello lines do not belong to the two sides", Cause: err}
	}
	return key, nil
}

// Resume starts the flow to a link: line is the peer's resume, nil when it never came. For
// a line Took follows, as for those of In.
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
	var from *link
	if line != nil {
		from = l
	}
	s.w.submit(op{
		size:  len(line),
		whose: l.key,
		from:  from,
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
			grants, err := t.grantedLines(p)
			if err != nil {
				return err
			}
			t.then(func() {
				s.links.mu.Lock()
				defer s.links.mu.Unlock()
				if len(grants) > 0 {
					s.links.out(l, Push{Lines: grants, Control: true})
				}
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
	l, asking := s.links.ended(id)
	if l != nil {
		s.left(l, reason)
		return
	}
	if asking.IsZero() {
		return
	}
	// Its admission is still under way: it ends right behind that.
	s.w.submit(op{whose: asking, apply: func(*tx) error { return nil }, done: func(error) {
		if l := s.links.remove(id); l != nil {
			s.left(l, reason)
		}
	}})
}

// left records the end of a link that the registry has forgotten.
func (s *Store) left(l *link, reason string) {
	s.w.submit(op{whose: l.key, apply: func(t *tx) error {
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
	s.w.submit(op{whose: key, apply: func(t *tx) error { return t.bye(key, reason, fromPeer) }, done: done})
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
		if err := t.note(p, noteBye, true, map[string]any{"reason": wire.Clip(reason, clipDetail), "from": "peer"}); err != nil {
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
