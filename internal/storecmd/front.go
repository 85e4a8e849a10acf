package storecmd

import (
	"context"
	"encoding/json/jsontext"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/failpoint"
	"github.com/awp-suite/awp/internal/store"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// The bounds of one answer.
const (
	batch      = 200  // rows a line of a list
	defaultLog = 50   // events of a read that does not say how many
	maxRead    = 1000 // unread events of one read
	maxLog     = 100000
)

// usualCheck is how long the database is looked through unless the caller says.
const usualCheck = 20 * time.Second

// defaultAckWait is how long a send to a connected peer waits for the ack.
const defaultAckWait = time.Second

func serveFront(srv *ipc.Server, s *store.Store, cfg Config) {
	ipc.Handle(srv, ipc.Status, func(ctx context.Context, _ ipc.None) (awp.Status, error) {
		st, err := s.Status(ctx)
		st.Presence = cfg.Settings.Presence
		st.Peers = st.Peers[:min(len(st.Peers), ipc.MaxStatusPeers)]
		return st, err
	})
	ipc.Handle(srv, ipc.Check, func(ctx context.Context, p ipc.CheckParams) (ipc.CheckResult, error) {
		within := usualCheck
		if p.Within > 0 {
			within = time.Duration(min(p.Within, ipc.MaxCheck)) * time.Millisecond
		}
		h, err := s.Check(ctx, within)
		return checked(h), err
	})
	ipc.HandleStream(srv, ipc.Peers, func(ctx context.Context, _ ipc.None, send func([]awp.Peer) error) (ipc.None, error) {
		list, err := s.Peers(ctx)
		return inBatches(list, err, send)
	})
	ipc.HandleStream(srv, ipc.Threads, func(ctx context.Context, p ipc.ThreadsParams, send func([]awp.Thread) error) (ipc.None, error) {
		list, err := s.Threads(ctx, p.Who, p.Open, max(0, p.Last))
		return inBatches(list, err, send)
	})
	ipc.HandleStream(srv, ipc.Blobs, func(ctx context.Context, p ipc.BlobsParams, send func([]awp.Blob) error) (ipc.None, error) {
		list, err := s.Blobs(ctx, p.Who)
		return inBatches(list, err, send)
	})
	ipc.Handle(srv, ipc.Resolve, func(ctx context.Context, p ipc.ResolveParams) (awp.Peer, error) {
		key, err := s.Addressee(p.Who, p.Thread)
		if err != nil {
			return awp.Peer{}, err
		}
		return s.Peer(ctx, key)
	})
	ipc.Handle(srv, ipc.Alias, func(ctx context.Context, p ipc.AliasParams) (awp.Peer, error) {
		return s.SetAlias(ctx, p.Who, p.Alias)
	})
	ipc.Handle(srv, ipc.Send, func(ctx context.Context, p ipc.SendParams) (ipc.SendResult, error) {
		r, err := s.Send(ctx, message(p))
		if err != nil {
			return ipc.SendResult{}, err
		}
		return sent(ctx, s, r, p.WaitAck)
	})
	ipc.Handle(srv, ipc.SetState, func(ctx context.Context, p ipc.SetStateParams) (ipc.SendResult, error) {
		r, err := s.SetState(ctx, store.StateReport{Token: p.Token, Who: p.Who, Thread: p.Thread, State: p.State, Note: p.Note})
		if err != nil {
			return ipc.SendResult{}, err
		}
		none := int64(0)
		return sent(ctx, s, r, &none)
	})
	ipc.HandleStream(srv, ipc.Read, func(ctx context.Context, p ipc.ReadParams, send func(awp.Event) error) (ipc.ReadResult, error) {
		f := store.Filter{Who: p.Who, Thread: p.Thread}
		send = shown(send)
		if p.Unread {
			return result(s.ReadUnread(ctx, f, limit(p.Last, maxRead, maxRead), send))
		}
		return result(s.Read(ctx, f, limit(p.Last, defaultLog, maxLog), send))
	})
	ipc.Handle(srv, ipc.Mark, func(ctx context.Context, p ipc.MarkParams) (ipc.None, error) {
		if len(p.Seqs) > ipc.MaxMark {
			return ipc.None{}, &awp.Error{Code: awp.TooLarge, Message: "too many events to mark at once"}
		}
		return ipc.None{}, s.Mark(ctx, p.Seqs)
	})
	ipc.HandleStream(srv, ipc.Wait, func(ctx context.Context, p ipc.WaitParams, send func(awp.Event) error) (ipc.ReadResult, error) {
		return result(s.Wait(ctx, store.Filter{Who: p.Who, Thread: p.Thread}, p.States, time.Duration(p.Timeout)*time.Millisecond, shown(send)))
	})
	ipc.HandleStream(srv, ipc.Subscribe, func(ctx context.Context, p ipc.SubscribeParams, send func(awp.Event) error) (ipc.None, error) {
		return ipc.None{}, s.Follow(ctx, store.Filter{Who: p.Who, Thread: p.Thread}, p.All, p.After, shown(send))
	})
}

// checked is a health as it travels.
func checked(h store.Health) ipc.CheckResult {
	out := ipc.CheckResult{
		Problems: h.Problems, Cut: h.Cut, Took: h.Took.Milliseconds(), Size: h.Size,
		Now: h.Now, Newest: h.Newest, Lease: h.Lease,
	}
	for _, a := range h.Ahead {
		out.Ahead = append(out.Ahead, ipc.PeerAhead{Peer: a.Peer, By: a.By.Milliseconds()})
	}
	for _, r := range h.Refused {
		out.Refused = append(out.Refused, ipc.PeerRefused(r))
	}
	return out
}

// inBatches sends a list in lines that fit.
func inBatches[T any](list []T, err error, send func([]T) error) (ipc.None, error) {
	for n := batch; err == nil && len(list) > 0; {
		n = min(n, len(list))
		err = send(list[:n])
		if awp.CodeOf(err) == awp.TooLarge && n > 1 {
			n, err = n/2, nil
			continue
		}
		list = list[n:]
	}
	return ipc.None{}, err
}

// shown sends an event, or, where that does not fit a line, what is left of it without its
// contents: one event that cannot be shown must not hide those behind it.
func shown(send func(awp.Event) error) func(awp.Event) error {
	return func(e awp.Event) error {
		err := send(e)
		if awp.CodeOf(err) == awp.TooLarge {
			e.Msg, e.Blobs, e.Meta = nil, nil, jsontext.Value(`{"too_large":true}`)
			err = send(e)
		}
		return err
	}
}

func limit(asked, usual, most int) int {
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

func result(r store.Result, err error) (ipc.ReadResult, error) {
	return ipc.ReadResult{Cursor: r.Cursor, TimedOut: r.TimedOut, Matched: r.Matched, Thread: r.Thread}, err
}

func message(p ipc.SendParams) store.Message {
	m := store.Message{Token: p.Token, Who: p.Who, Thread: p.Thread, Subject: p.Subject, Re: p.Re}
	for _, part := range p.Parts {
		kind := part.Kind
		if kind == "file" {
			kind = wire.PartBlob
		}
		m.Parts = append(m.Parts, store.Part{Kind: kind, Text: part.Text, Lang: part.Lang, Mime: part.Mime, Data: part.Data, Path: part.Path})
	}
	return m
}

// sent waits for the peer's ack as the caller asked, and answers.
func sent(ctx context.Context, s *store.Store, r store.Receipt, waitAck *int64) (ipc.SendResult, error) {
	failpoint.Hit("store/before-reply")
	out := ipc.SendResult{Sent: r.Sent, Label: r.Label, Unread: r.Unread, UnreadSince: r.UnreadSince}
	wait := defaultAckWait
	switch {
	case waitAck != nil:
		wait = time.Duration(*waitAck) * time.Millisecond
	case !r.Connected:
		wait = 0
	}
	if r.Acked || wait <= 0 {
		return out, nil
	}
	acked, err := s.AwaitAck(ctx, r, wait)
	out.Acked = acked
	out.WaitedOut = !acked && waitAck != nil
	return out, err
}
