package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/awp-suite/awp/ipc"
)

// callers send at a time. With more a store commits a little more a second, and each of
// them waits longer.
const callers = 32

// sustained compares what two homes get through to what one store alone commits. They
// take turns.
func sustained(ctx context.Context, b *bench) error {
	from, to, err := b.pair(ctx, "sustained")
	if err != nil {
		return err
	}
	defer to.stop()
	defer from.stop()
	near, err := newSender(ctx, from, to)
	if err != nil {
		return err
	}
	alone, err := b.home(ctx, "alone")
	if err != nil {
		return err
	}
	defer alone.stop()
	far, err := newSender(ctx, alone, to) // whom it has no address of
	if err != nil {
		return err
	}
	n := b.rounds(20000)
	var with, without []float64
	for range 5 {
		d, err := near.flood(ctx, from, n, true)
		if err != nil {
			return err
		}
		with = append(with, float64(n)/d.Seconds())
		if d, err = far.flood(ctx, alone, n, false); err != nil {
			return err
		}
		without = append(without, float64(n)/d.Seconds())
	}
	floor := median(without)
	f := figure{Bench: "sustained", Name: "sent and acked, 32 callers", Value: median(with), Unit: "msg/s", Floor: floor, Of: "one store alone"}
	f.Ratio = f.Value / f.Floor
	f.Target, f.Over = "≥ 0.60 ratio", f.Ratio < 0.6
	b.add(f)
	return nil
}

// flood sends n messages, and with acked one more whose ack says that all are acked:
// acks come in the order of the messages.
func (s sender) flood(ctx context.Context, h *home, n int, acked bool) (time.Duration, error) {
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	conns := make([]*ipc.Conn, callers)
	for i := range conns {
		c, err := h.dial(ctx, ipc.StoreSocket)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		conns[i] = c
	}
	failed := make([]error, callers)
	var wg sync.WaitGroup
	start := time.Now()
	for i, c := range conns {
		wg.Go(func() {
			for range work {
				if failed[i] = s.send(ctx, c, 0); failed[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	err := errors.Join(failed...)
	if err == nil && acked {
		err = s.send(ctx, h.conn, time.Minute)
	}
	return time.Since(start), err
}
