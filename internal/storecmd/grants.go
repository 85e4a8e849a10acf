package storecmd

import (
	"context"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/store"
	"github.com/awp-suite/awp/ipc"
)

func serveGrants(srv *ipc.Server, s *store.Store) {
	ipc.Handle(srv, ipc.Grant, func(ctx context.Context, p ipc.GrantParams) (awp.Grant, error) {
		return s.Grant(ctx, store.Granting{Token: p.Token, Who: p.Who, Caps: p.Caps, TTL: milliseconds(p.TTL)})
	})
	ipc.HandleStream(srv, ipc.Grants, func(ctx context.Context, _ ipc.None, send func([]awp.Grant) error) (ipc.None, error) {
		list, err := s.Grants(ctx)
		return inBatches(list, err, send)
	})
	ipc.Handle(srv, ipc.Revoke, func(ctx context.Context, p ipc.RevokeParams) (ipc.RevokeResult, error) {
		revoked, err := s.Revoke(ctx, p.Hash)
		return ipc.RevokeResult{Grants: revoked}, err
	})
	ipc.Handle(srv, ipc.Introduce, func(ctx context.Context, p ipc.IntroduceParams) (ipc.SendResult, error) {
		r, err := s.Introduce(ctx, store.Introduction{
			Token: p.Token, To: p.To, Who: p.Who, Thread: p.Thread, Caps: p.Caps, TTL: milliseconds(p.TTL),
		})
		if err != nil {
			return ipc.SendResult{}, err
		}
		none := int64(0)
		return sent(ctx, s, r, &none)
	})
}

// milliseconds is n of them, or the most that a duration holds.
func milliseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(n, -most), most)) * time.Millisecond
}
