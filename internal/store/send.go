package store

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/internal/thread"
	"github.com/awp-suite/awp/wire"
)

// Message is a message to queue.
type Message struct {
	Token   string // the caller's, see token.go
	Who     string // may be empty when Thread has one peer
	Thread  awp.ThreadID
	Subject string
	Re      awp.MessageID
	Parts   []Part
}

// Part is a piece of a message to queue. Which fields count depends on Kind.
type Part struct {
	Kind string // wire.PartText, PartCode, PartData, or PartBlob for the file at Path
	Text string
	Lang string
	Mime string
	Data jsontext.Value
	Path string // absolute
}

// Receipt says what was queued: it is on this disk, no more.
type Receipt struct {
	awp.Sent
	Seq         int64
	Label       string
	Unread      int // unread messages of the peer in the thread
	UnreadSince time.Time

	again bool // the call was made before
}

// Send queues a message. Files are copied first, so that the message means what they were
// at the call.
func (s *Store) Send(ctx context.Context, m Message) (Receipt, error) {
	if len(m.Parts) == 0 {
		return Receipt{}, &awp.Error{Code: awp.Invalid, Message: "the message is empty", Hint: "give a text, --code, --data or --file"}
	}
	if err := checkToken(m.Token); err != nil {
		return Receipt{}, err
	}
	key, err := s.Addressee(m.Who, m.Thread)
	// The transaction looks again. Here it saves copies of files, and a call that was made
	// when the peer was still found its answer.
	if err != nil || slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind == wire.PartBlob }) {
		if r, ok, rerr := s.repeated(m.Token); ok || rerr != nil {
			return r, rerr
		}
	}
	if err != nil {
		return Receipt{}, err
	}
	parts, staged, err := s.prepare(m.Parts)
	kept := false
	defer func() {
		if !kept {
			for _, f := range staged {
				s.files.unstage(f.ref)
			}
		}
	}()
	if err != nil {
		return Receipt{}, err
	}
	failpoint.Hit("store/staged")
	var r Receipt
	err = s.w.do(ctx, func(t *tx) error {
		kept = false
		r, kept, err = t.send(m, key, parts, staged)
		return err
	})
	return s.answer(r, err)
}

// stagedPart is a file of a message, copied and waiting for its chunks to be queued.
type stagedPart struct {
	ref, name, mime, path string
	size                  int64
}

// prepare turns the caller's parts into the line's, copying files.
func (s *Store) prepare(in []Part) (parts []wire.Part, staged []stagedPart, err error) {
	for _, p := range in {
		switch p.Kind {
		case wire.PartText:
			parts = append(parts, wire.Part{K: wire.PartText, Text: p.Text})
		case wire.PartCode:
			parts = append(parts, wire.Part{K: wire.PartCode, Lang: p.Lang, Text: p.Text})
		case wire.PartData:
			if !p.Data.IsValid() {
				return nil, staged, &awp.Error{Code: awp.Invalid, Message: "a data part is not valid JSON"}
			}
			parts = append(parts, wire.Part{K: wire.PartData, Mime: p.Mime, Data: p.Data})
		case wire.PartBlob:
			f := stagedPart{ref: wire.NewBlobRef(s.ids), name: filepath.Base(p.Path), path: p.Path}
			if f.size, err = s.files.stage(p.Path, f.ref, s.set.BlobLimit); err != nil {
				return nil, staged, err
			}
			staged = append(staged, f)
			f.mime = sniff(f.name, s.files.stagedPath(f.ref))
			staged[len(staged)-1] = f
			parts = append(parts, wire.Part{K: wire.PartBlob, Ref: f.ref, Name: f.name, Mime: f.mime, Size: f.size})
		default:
			return nil, staged, &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("no part kind %q", p.Kind)}
		}
	}
	for i := range parts {
		if !utf8.ValidString(parts[i].Text) || !utf8.ValidString(parts[i].Name) {
			return nil, staged, &awp.Error{Code: awp.Invalid, Message: "the text is not valid UTF-8", Hint: "send it as a file: --file"}
		}
	}
	return parts, staged, nil
}

// sniff guesses a file's type from its name, else from its first bytes.
func sniff(name, path string) string {
	if typ := mime.TypeByExtension(filepath.Ext(name)); typ != "" {
		return typ
	}
	f, err := os.Open(path)
	if err != nil {
		return "application/octet-stream"
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.Read(head)
	for _, c := range head[:n] {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			return "application/octet-stream"
		}
	}
	return "text/plain"
}

func (t *tx) send(m Message, key awp.Key, parts []wire.Part, staged []stagedPart) (_ Receipt, kept bool, err error) {
	if r, ok, err := t.repeated(m.Token); ok || err != nil {
		return r, false, err
	}
	p, err := t.ensurePeer(key)
	if err != nil {
		return Receipt{}, false, err
	}
	var r *threadRow
	fresh := m.Thread == ""
	if fresh {
		r, err = t.newThread(p)
	} else {
		r, err = t.knownThread(p, m.Thread)
	}
	if err != nil {
		return Receipt{}, false, err
	}
	var files []int64
	for _, f := range staged {
		var n int64
		if err := t.row("INSERT INTO blob (peer, dir, ref, thread, name, mime, size, path, status, updated) VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n",
			p.n, f.ref, r.n, f.name, f.mime, f.size, f.path, awp.BlobQueued, ms(t.now)).Scan(&n); err != nil {
			return Receipt{}, false, err
		}
		if err := t.enqueueChunks(r, n, f.size); err != nil {
			return Receipt{}, false, err
		}
		files = append(files, n)
	}
	msg := wire.Msg{
		Envelope: wire.Envelope{T: wire.TypeMsg, ID: t.nextID(), TS: t.stamp(), Th: r.th, Re: m.Re},
		Subject:  m.Subject,
		Parts:    parts,
	}
	if fresh && msg.Subject == "" {
		msg.Subject = wire.DeriveSubject(parts)
	}
	body, err := wire.Encode(msg)
	if err != nil {
		return Receipt{}, false, lineTooLarge(err)
	}
	seq, err := t.enqueue(r, wire.TypeMsg, msg.ID, body)
	if err != nil {
		return Receipt{}, false, err
	}
	for _, n := range files {
		if err := t.exec("UPDATE blob SET msg = ? WHERE n = ?", seq, n); err != nil {
			return Receipt{}, false, err
		}
	}
	t.active(r, msg.Subject)
	receipt, err := t.receipt(m.Token, r, seq, msg.ID, fresh)
	return receipt, err == nil && len(staged) > 0, err
}

// lineTooLarge says what to do about a message that does not fit a line.
func lineTooLarge(err error) error {
	if bad, ok := errors.AsType[*wire.LineError](err); ok && bad.Code == wire.TooLarge {
		return &awp.Error{
			Code:    awp.TooLarge,
			Message: fmt.Sprintf("the message does not fit the %d bytes of a line", wire.MaxLine),
			Hint:    "send the long part as a file: --file",
			Cause:   err,
		}
	}
	return &awp.Error{Code: awp.Invalid, Message: err.Error(), Cause: err}
}

// StateReport is a state to queue.
type StateReport struct {
	Token  string
	Who    string
	Thread awp.ThreadID
	State  string
	Note   string
}

// SetState queues this side's state of a thread that exists.
func (s *Store) SetState(ctx context.Context, m StateReport) (Receipt, error) {
	switch {
	case m.Thread == "":
		return Receipt{}, &awp.Error{Code: awp.Invalid, Message: "no thread was named"}
	case m.State == "" || len(m.State) > thread.MaxWord || !utf8.ValidString(m.State):
		return Receipt{}, &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("a state is a word of 1 to %d bytes", thread.MaxWord), Hint: "one of open, working, waiting, done, failed, closed"}
	case len(m.Note) > thread.MaxNote || !utf8.ValidString(m.Note):
		return Receipt{}, &awp.Error{Code: awp.TooLarge, Message: fmt.Sprintf("a note has at most %d bytes", thread.MaxNote), Hint: "send the rest as a message"}
	}
	if err := checkToken(m.Token); err != nil {
		return Receipt{}, err
	}
	key, err := s.Addressee(m.Who, m.Thread)
	if err != nil {
		return Receipt{}, err
	}
	var r Receipt
	err = s.w.do(ctx, func(t *tx) error {
		var ok bool
		if r, ok, err = t.repeated(m.Token); ok || err != nil {
			return err
		}
		r, err = t.report(m, key)
		return err
	})
	return s.answer(r, err)
}

func (t *tx) report(m StateReport, key awp.Key) (Receipt, error) {
	p, err := t.ensurePeer(key)
	if err != nil {
		return Receipt{}, err
	}
	r, err := t.knownThread(p, m.Thread)
	if err != nil {
		return Receipt{}, err
	}
	id := t.nextID()
	body, err := wire.Encode(wire.State{
		Envelope: wire.Envelope{T: wire.TypeState, ID: id, TS: t.stamp(), Th: r.th},
		State:    m.State,
		Note:     m.Note,
	})
	if err != nil {
		return Receipt{}, lineTooLarge(err)
	}
	seq, err := t.enqueue(r, wire.TypeState, id, body)
	if err != nil {
		return Receipt{}, err
	}
	t.active(r, "")
	t.setMine(r, m.State, m.Note)
	return t.receipt(m.Token, r, seq, id, false)
}

// knownThread is thread that does not take no for an answer.
func (t *tx) knownThread(p *peerRow, th awp.ThreadID) (*threadRow, error) {
	r, err := t.thread(p, th)
	if err == nil && (r == nil || !r.shown) {
		return nil, noThread(th, p.label())
	}
	return r, err
}

// receipt builds the answer, has it remembered under the caller's token, and unparks the
// peer: there is new work for it (PROTOCOL.md section 10).
func (t *tx) receipt(token string, r *threadRow, seq int64, id awp.MessageID, fresh bool) (Receipt, error) {
	if err := t.park(r.peer, false); err != nil {
		return Receipt{}, err
	}
	if err := t.wantNew(r.peer); err != nil {
		return Receipt{}, err
	}
	out := Receipt{
		Sent: awp.Sent{
			ID: id, Th: r.th, Thread: r.th, Peer: r.peer.key, PeerName: cmp.Or(r.peer.alias, r.peer.name),
			NewThread: fresh,
		},
		Seq:    seq,
		Label:  r.peer.label(),
		Unread: int(r.unread),
	}
	if r.unread > 0 {
		var at int64
		err := t.row("SELECT l.at FROM unread u JOIN line l USING (seq) WHERE u.thread = ? AND u.notice = 0 ORDER BY u.seq DESC LIMIT 1", r.n).Scan(&at)
		if err != nil {
			return Receipt{}, err
		}
		out.UnreadSince = fromMS(at)
	}
	return out, t.remember(token, out)
}

// answer completes a receipt with what only the moment knows.
func (s *Store) answer(r Receipt, err error) (Receipt, error) {
	if err != nil {
		return Receipt{}, err
	}
	r.Connected = s.links.connected(r.Peer)
	if r.again {
		r.Acked, err = s.acked(r.Seq)
	}
	return r, err
}

// acked reports whether a line of ours has left the outbox by the peer's acknowledgement.
// An introduction gets none.
func (s *Store) acked(seq int64) (acked bool, err error) {
	err = s.ro.QueryRow("SELECT NOT lapsed AND type <> 'introduce' AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.peer = l.peer AND o.seq = l.seq) FROM line l WHERE seq = ?", seq).Scan(&acked)
	return acked, err
}

// AwaitAck waits until a queued line is acknowledged, or for at most limit, and reports
// whether it is.
func (s *Store) AwaitAck(ctx context.Context, r Receipt, limit time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, giveUp := s.hub.onAck(ackKey{r.Peer, r.ID})
	defer giveUp()
	// The ack may have come, and been committed, before we asked. That is rare, and to look
	// costs the two cores that the ack is on its way through: so only after a moment.
	moment, stop := context.WithTimeout(ctx, lazyTime)
	defer stop()
	select {
	case <-done:
		return true, nil
	case <-moment.Done():
	}
	if acked, err := s.acked(r.Seq); acked || err != nil {
		return acked, err
	}
	select {
	case <-done:
		return true, nil
	case <-ctx.Done():
		return s.acked(r.Seq)
	}
}
