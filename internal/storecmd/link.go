package storecmd

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/store"
	"github.com/awp-suite/awp/ipc"
)

// carrier is awp-wire at the other end of the link connection. Notes are queued by the
// connection and never wait; one that cannot be sent means that the connection is going,
// which its reader will find.
type carrier struct{ c *ipc.Conn }

func (w carrier) Out(link uint64, p store.Push) {
	ipc.LinkOut.Send(w.c, ipc.OutParams{Link: link, Control: p.Control, Close: p.Last, Took: ipc.Credit(p.Took)}, p.Lines...) //nolint:errcheck // see above
}

func (w carrier) Took(link uint64, c store.Credit) {
	ipc.LinkTook.Send(w.c, ipc.LinkCredit{Link: link, Credit: ipc.Credit(c)}) //nolint:errcheck // see above
}

func (w carrier) Want(want store.Want) {
	ipc.LinkWant.Send(w.c, toWant(want)) //nolint:errcheck // see above
}

func (w carrier) Unwant(peer awp.Key) {
	ipc.LinkUnwant.Send(w.c, ipc.LinkPeerRef{Peer: peer}) //nolint:errcheck // see above
}

func toWant(want store.Want) ipc.Want {
	out := ipc.Want{Peer: want.Peer, New: want.New, Waiting: want.Waiting}
	for _, a := range want.Addrs {
		out.Addrs = append(out.Addrs, ipc.DialTarget{Addr: a.Addr, Source: a.Source})
	}
	return out
}

func serveLinks(srv *ipc.Server, s *store.Store, log *slog.Logger) {
	ipc.HandleInline(srv, ipc.LinkClaim.Name, func(r *ipc.Request) {
		hello, err := s.Claim(carrier{r.Conn})
		if err != nil {
			r.Fail(err)
			return
		}
		log.Info("awp-wire claimed the links")
		context.AfterFunc(r.Conn.Context(), func() {
			log.Info("awp-wire is gone")
			s.DropWire()
		})
		r.Take(linkHandler(s))
		r.Reply(ipc.LinkHello{Key: hello.Key, Name: hello.Name, About: hello.About, Caps: hello.Caps})
		s.WantAll()
	})
}

// linkHandler answers awp-wire. It runs on the connection's reading goroutine, in order,
// and hands everything that takes time to the store's committer, which keeps the order.
func linkHandler(s *store.Store) ipc.Handler {
	return func(r *ipc.Request) {
		if err := onLink(s, r); err != nil {
			r.Fail(err)
		}
	}
}

func onLink(s *store.Store, r *ipc.Request) error {
	switch r.Method {
	case ipc.LinkIn.Name:
		return take(r, func(p ipc.InParams) {
			s.Written(p.Link, store.Credit(p.Written))
			s.In(p.Link, r.Lines)
		})
	case ipc.LinkWritten.Name:
		var p ipc.LinkCredit
		if err := r.Decode(&p); err != nil || !p.Credit.Valid() {
			r.Conn.Fail(fmt.Errorf("%s returns no window: %w", r.Method, err)) // it would be missing for ever
			return nil
		}
		s.Written(p.Link, store.Credit(p.Credit))
		return nil
	case ipc.LinkResume.Name:
		return take(r, func(p ipc.LinkRef) {
			var line []byte
			if len(r.Lines) > 0 {
				line = r.Lines[0]
			}
			s.Resume(p.Link, line)
		})
	case ipc.LinkDown.Name:
		return take(r, func(p ipc.DownParams) { s.Down(p.Link, p.Reason) })
	case ipc.LinkRTT.Name:
		return take(r, func(p ipc.RTTParams) { s.RTT(p.Link, p.RTT) })
	case ipc.LinkListening.Name:
		return take(r, func(p ipc.ListeningParams) {
			s.SetListening(store.Listening{
				Addresses: p.Addresses, Errors: p.Errors,
				Tailcat: p.Tailcat, TailcatError: p.TailcatError, TailcatEnabled: p.TailcatEnabled,
			})
		})
	case ipc.LinkDial.Name:
		return take(r, func(p ipc.DialParams) { s.Dialled(p.Peer, p.Dialing, p.Addr, p.Error) })
	case ipc.LinkBye.Name:
		return take(r, func(p ipc.LinkByeParams) {
			s.Bye(p.Peer, p.Reason, p.FromPeer, func(err error) { answer(r, ipc.None{}, err) })
		})
	case ipc.LinkAdmit.Name:
		if len(r.Lines) == 0 {
			return missing(r, "the peer's hello line")
		}
		return take(r, func(p ipc.AdmitParams) {
			s.Admit(store.NewLink{ID: p.Link, Peer: p.Peer, Hello: r.Lines[0], Grants: r.Lines[1:], Outbound: p.Outbound, Via: p.Via},
				func(a store.Admitted, err error) {
					answer(r, ipc.AdmitResult{Refused: a.Refused, Seen: a.Seen, Known: a.Known}, err)
				})
		})
	case ipc.IdentitySign.Name:
		if len(r.Lines) != 2 {
			return missing(r, "both hello lines")
		}
		sig, grants, err := s.Sign(r.Lines[0], r.Lines[1])
		answer(r, ipc.SignResult{Sig: sig, Grants: grants}, err)
		return nil
	case ipc.LinkPeer.Name:
		return take(r, func(p ipc.LinkPeerParams) {
			want, err := s.LookUp(p.Peer, p.Addr)
			answer(r, toWant(want), err)
		})
	}
	return &awp.Error{Code: awp.NotFound, Message: "no method " + r.Method + " on the link connection"}
}

func take[P any](r *ipc.Request, fn func(P)) error {
	var p P
	if err := r.Decode(&p); err != nil {
		return err
	}
	fn(p)
	return nil
}

func answer(r *ipc.Request, result any, err error) {
	if err != nil {
		r.Fail(err)
		return
	}
	r.Reply(result)
}

func missing(r *ipc.Request, what string) error {
	return &awp.Error{Code: awp.Invalid, Message: r.Method + " came without " + what}
}
