package store

import (
	"encoding/json/v2"
	"errors"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// In takes lines that a peer sent, in order. It decodes them here, on its caller's
// goroutine, and leaves the rest to the committer; it does not wait. For every line Took
// follows. A line that cannot be read, or not be stored, ends the link, and no later line
// of it counts: its sender will replay from there.
func (s *Store) In(id uint64, lines [][]byte) {
	l := s.links.get(id)
	if l == nil {
		return // it went down while these were under way
	}
	for _, line := range lines {
		if l.rejected {
			return
		}
		j, err := s.judge(l, line)
		if err != nil {
			l.rejected = true
			j = ignored
		}
		if j.ack != "" {
			s.hub.arrive(ackKey{l.key, j.ack})
		}
		s.w.submit(op{
			size:  len(line),
			files: j.files,
			lazy:  j.ack != "",
			apply: func(t *tx) error {
				if l.failed {
					return nil
				}
				return j.apply(t)
			},
			whose: l.key,
			from:  l,
			done: func(failure error) {
				if j.ack != "" {
					s.hub.settle(ackKey{l.key, j.ack})
				}
				if failure = errors.Join(err, failure); failure != nil {
					s.reject(l, line, failure)
				}
			},
		})
	}
}

// reject ends a link for a line that could not be taken, once. It runs on the committer.
func (s *Store) reject(l *link, line []byte, err error) {
	if l.failed {
		return
	}
	l.failed = true
	e := wire.Err{Code: wire.Internal, Detail: "could not be stored"}
	if bad, ok := errors.AsType[*wire.LineError](err); ok {
		e.Code, e.Detail = bad.Code, bad.Detail
		s.log.Warn("bad line from a peer, closing the link", "link", l.id, "code", bad.Code, "detail", bad.Detail)
	} else {
		s.log.Error("line of a peer not stored, closing the link", "link", l.id, "err", unnamed(err))
	}
	if env, perr := wire.ParseEnvelope(line); perr == nil {
		e.Re = env.ID
	}
	s.links.control(l, [][]byte{s.errLine(e)}, true)
}

// errLine builds an err line.
func (s *Store) errLine(e wire.Err) []byte {
	line, err := wire.Encode(wire.NewErr(s.ids.Next(), wire.Stamp(s.now()), e.Re, e.Code, e.Detail, e.Ref))
	if err != nil { // a detail that cannot be written
		line, _ = wire.Encode(wire.NewErr(s.ids.Next(), wire.Stamp(s.now()), "", e.Code, "", ""))
	}
	return line
}

// judgement is what to do with a line.
type judgement struct {
	apply func(*tx) error
	ack   awp.MessageID // the line of ours that it acknowledges, if it is an ack
	files int           // how many files it may touch
}

var ignored = judgement{apply: func(*tx) error { return nil }}

// judge decodes a line. Types that we do not know, or that awp-wire answers itself, are
// taken and ignored (PROTOCOL.md section 3).
func (s *Store) judge(l *link, line []byte) (judgement, error) {
	typ := wire.GuessType(line)
	if !known[typ] {
		env, err := wire.ParseEnvelope(line)
		if err != nil {
			return ignored, err
		}
		typ = env.T
	}
	switch typ {
	case wire.TypeMsg:
		m, err := wire.Decode[wire.Msg](line)
		j := judgement{apply: func(t *tx) error { return t.takeMsg(l, m, line) }}
		for _, part := range m.Parts {
			if part.K == wire.PartBlob {
				j.files++
			}
		}
		return j, err
	case wire.TypeState:
		return decoded(line, func(t *tx, m wire.State) error { return t.takeState(l, m, line) })
	case wire.TypeAck:
		m, err := wire.Decode[wire.Ack](line)
		return judgement{apply: func(t *tx) error { return t.takeAck(l, m) }, ack: m.Re}, err
	case wire.TypeErr:
		return decoded(line, func(t *tx, m wire.Err) error { return t.takeErr(l, m, line) })
	case wire.TypeChunk:
		return judgeChunk(l, line)
	case wire.TypeGrant:
		return s.judgeGrant(l, line)
	case wire.TypeIntroduce:
		return s.judgeIntroduce(l, line)
	}
	return ignored, nil
}

// known are the types that judge decodes, which finds out whether the type is right.
var known = map[string]bool{wire.TypeMsg: true, wire.TypeState: true, wire.TypeAck: true, wire.TypeErr: true, wire.TypeChunk: true, wire.TypeGrant: true, wire.TypeIntroduce: true}

func decoded[T any](line []byte, take func(*tx, T) error) (judgement, error) {
	m, err := wire.Decode[T](line)
	return judgement{apply: func(t *tx) error { return take(t, m) }}, err
}

// takeMsg stores a message, with its thread, its mark as unread and what it says of
// files and of what it asks for, and has it acknowledged. One that is known is
// acknowledged, and where due forbidden, again.
func (t *tx) takeMsg(l *link, m wire.Msg, line []byte) error {
	r, err := t.threadOf(l, m.Th)
	if err != nil {
		return err
	}
	t.saw(r, m.ID)
	requests, err := t.requests(r.peer, m)
	if err != nil {
		return err
	}
	meta, err := requested{requests}.meta()
	if err != nil {
		return err
	}
	seq, fresh, err := t.log(logRow{peer: r.peer, thread: r, dir: dirIn, typ: wire.TypeMsg, id: m.ID, body: line, meta: meta, unread: true})
	if err != nil {
		return err
	}
	if !fresh && len(requests) > 0 {
		if requests, err = t.requestsOf(r.peer, m.ID); err != nil {
			return err
		}
	}
	if fresh {
		t.active(r, m.Subject)
		for _, part := range m.Parts {
			if part.K == wire.PartBlob {
				if err := t.nameBlob(l, r, m.ID, seq, part); err != nil {
					return err
				}
			}
		}
	}
	if err := t.ack(l, m.Envelope); err != nil {
		return err
	}
	return t.forbid(l, m.ID, requests)
}

func (t *tx) takeState(l *link, m wire.State, line []byte) error {
	r, err := t.threadOf(l, m.Th)
	if err != nil {
		return err
	}
	t.saw(r, m.ID)
	_, fresh, err := t.log(logRow{peer: r.peer, thread: r, dir: dirIn, typ: wire.TypeState, id: m.ID, body: line, unread: true})
	if err != nil {
		return err
	}
	if fresh {
		t.active(r, "")
		t.setTheirs(r, m.State, m.Note)
	}
	return t.ack(l, m.Envelope)
}

func (t *tx) takeAck(l *link, m wire.Ack) error {
	if m.Re == "" {
		return nil
	}
	p, err := t.ensurePeer(l.key)
	if err != nil {
		return err
	}
	return t.retire(p, m.Re)
}

// takeErr logs what a peer complained of, to the thread of the line it names, and gives
// up a file that the peer refused.
func (t *tx) takeErr(l *link, m wire.Err, line []byte) error {
	p, err := t.ensurePeer(l.key)
	if err != nil {
		return err
	}
	r, err := t.threadOfLine(p, m.Re)
	if err != nil {
		return err
	}
	if m.Code == wire.BlobRefused && m.Ref != "" {
		if err := t.refusedByPeer(p, m.Ref); err != nil {
			return err
		}
	}
	meta, err := json.Marshal(struct {
		Code   wire.Code     `json:"code"`
		Detail string        `json:"detail"`
		Re     awp.MessageID `json:"re,omitzero"`
		Ref    string        `json:"ref,omitzero"`
	}{wire.Code(wire.Clip(string(m.Code), clipState)), wire.Clip(m.Detail, clipDetail), m.Re, m.Ref})
	if err != nil {
		return err
	}
	id := m.ID
	if id == "" {
		id = t.nextID()
	}
	var at any // its thread
	if r != nil {
		at = r.n
	}
	// A peer whose disk is full says so at every attempt: once is news.
	var said bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM unread u JOIN line l USING (seq) WHERE u.thread IS ? AND u.peer = ? AND l.type = ? AND l.meta = ?)", at, p.n, wire.TypeErr, string(meta)).Scan(&said); err != nil {
		return err
	}
	_, _, err = t.log(logRow{peer: p, thread: r, dir: dirIn, typ: wire.TypeErr, id: id, body: line, meta: string(meta), unread: !said})
	return err
}

func (t *tx) threadOf(l *link, th awp.ThreadID) (*threadRow, error) {
	p, err := t.ensurePeer(l.key)
	if err != nil {
		return nil, err
	}
	return t.ensureThread(p, th, false)
}

// ack has a line acknowledged once it is durable.
func (t *tx) ack(l *link, env wire.Envelope) error {
	line, err := wire.Encode(wire.Ack{Envelope: wire.Envelope{T: wire.TypeAck, ID: t.nextID(), TS: t.stamp(), Th: env.Th, Re: env.ID}})
	if err != nil {
		return err
	}
	t.acks[l] = append(t.acks[l], line)
	return nil
}
