package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

// answerMillis is how long a question about a big store may take.
const answerMillis = 20

// mostRows is how long a list may be to be held to that. No command asks for more unless
// it is told to.
const mostRows = 1000

// big asks a store of a million messages what commands ask.
func big(ctx context.Context, b *bench) error {
	progress("  making the big store")
	if err := seed(ctx, filepath.Join(b.dir, "big")); err != nil {
		return err
	}
	var opens []time.Duration
	var h *home
	for range 5 {
		if h != nil {
			h.stop()
		}
		start := time.Now()
		var err error
		if h, err = b.home(ctx, "big"); err != nil {
			return err
		}
		opens = append(opens, time.Since(start))
	}
	defer h.stop()
	b.add(figure{Bench: "big", Name: "open, from daemon's start to answer", Value: millis(median(opens)), Unit: "ms"}.atMost(1000))

	for _, q := range questions {
		var took []time.Duration
		for range b.rounds(100) + 1 {
			start := time.Now()
			n, err := q.ask(ctx, h.conn)
			if err == nil && n != q.want {
				err = fmt.Errorf("answer of %d, want %d", n, q.want)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			took = append(took, time.Since(start))
		}
		f := figure{Bench: "big", Name: q.name, Value: millis(median(took[1:])), Unit: "ms"}
		if q.want <= mostRows {
			f = f.atMost(answerMillis)
		}
		b.add(f)
	}
	if mib, err := peak(h.pids["awp-store"]); err == nil {
		b.add(figure{Bench: "big", Name: "peak memory, awp-store", Value: mib, Unit: "MiB"})
	}
	return nil
}

// questions are what commands ask, and how many rows each answer has.
var questions = []struct {
	name string
	want int
	ask  func(context.Context, *ipc.Conn) (int, error)
}{
	{"status, with the unread count", bigUnread, func(ctx context.Context, c *ipc.Conn) (int, error) {
		st, err := ipc.Status.Call(ctx, c, ipc.None{})
		return st.Unread, err
	}},
	{"unread, 200 messages", bigUnread, func(ctx context.Context, c *ipc.Conn) (int, error) {
		return read(ctx, c, ipc.ReadParams{Last: 1000, Unread: true})
	}},
	{"threads, the latest 500 of 10,000", 500, func(ctx context.Context, c *ipc.Conn) (int, error) {
		return threads(ctx, c, ipc.ThreadsParams{Last: 500}) // what awp threads asks for
	}},
	{"threads, all 10,000", bigThreads, func(ctx context.Context, c *ipc.Conn) (int, error) {
		return threads(ctx, c, ipc.ThreadsParams{})
	}},
	{"threads --open, 1,000", bigThreads / 10, func(ctx context.Context, c *ipc.Conn) (int, error) {
		return threads(ctx, c, ipc.ThreadsParams{Open: true})
	}},
	{"read a thread, 50 of 100 messages", 50, func(ctx context.Context, c *ipc.Conn) (int, error) {
		return read(ctx, c, ipc.ReadParams{Thread: "thr_0004711", Last: 50})
	}},
	{"read the latest 50 messages", 50, func(ctx context.Context, c *ipc.Conn) (int, error) {
		return read(ctx, c, ipc.ReadParams{Last: 50})
	}},
}

func read(ctx context.Context, c *ipc.Conn, params ipc.ReadParams) (n int, err error) {
	_, err = ipc.Read.Call(ctx, c, params, func(awp.Event) error { n++; return nil })
	return n, err
}

func threads(ctx context.Context, c *ipc.Conn, params ipc.ThreadsParams) (n int, err error) {
	_, err = ipc.Threads.Call(ctx, c, params, func(list []awp.Thread) error { n += len(list); return nil })
	return n, err
}
