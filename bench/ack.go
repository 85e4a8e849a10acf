package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// ack measures one message at a time. Sends and syncs take turns in small groups.
func ack(ctx context.Context, b *bench) error {
	from, to, err := b.pair(ctx, "ack")
	if err != nil {
		return err
	}
	defer to.stop()
	defer from.stop()
	s, err := newSender(ctx, from, to)
	if err != nil {
		return err
	}
	disk, err := newDisk(b.dir)
	if err != nil {
		return err
	}
	defer disk.close()
	var acks, syncs []time.Duration
	for range b.rounds(100) {
		for range 10 {
			start := time.Now()
			if err := s.send(ctx, from.conn, time.Minute); err != nil {
				return err
			}
			acks = append(acks, time.Since(start))
		}
		for range 10 {
			d, err := disk.sync()
			if err != nil {
				return err
			}
			syncs = append(syncs, d)
		}
	}
	floor := millis(median(syncs))
	f := figure{Bench: "ack", Name: "send to ack, ipc, p50", Value: millis(median(acks)), Unit: "ms", Floor: floor, Of: "fdatasync p50"}
	b.add(f.atMost(3*floor + 1))
	b.add(figure{Bench: "ack", Name: "send to ack, ipc, p99", Value: millis(quantile(acks, 0.99)), Unit: "ms", Floor: millis(quantile(syncs, 0.99)), Of: "fdatasync p99"})

	var commands []time.Duration
	for range b.rounds(100) {
		start := time.Now()
		if _, err := from.awp(ctx, "send", "--thread", string(s.thread), "--wait-ack", "60s", "hello"); err != nil {
			return err
		}
		commands = append(commands, time.Since(start))
	}
	b.add(figure{Bench: "ack", Name: "awp send --wait-ack, p50", Value: millis(median(commands)), Unit: "ms", Floor: floor, Of: "fdatasync p50"})
	return nil
}

// disk is a file that is appended to and synced.
type disk struct{ f *os.File }

func newDisk(dir string) (disk, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	return disk{f}, err
}

func (d disk) close() { d.f.Close() }

func (d disk) sync() (time.Duration, error) {
	start := time.Now()
	if _, err := d.f.Write(make([]byte, 512)); err != nil {
		return 0, err
	}
	err := dataSync(d.f)
	return time.Since(start), err
}

// sender sends messages into one thread.
type sender struct {
	ids    *wire.IDs
	thread awp.ThreadID
}

// newSender begins a thread between two homes.
func newSender(ctx context.Context, from, to *home) (sender, error) {
	key, err := to.key(ctx)
	if err != nil {
		return sender{}, err
	}
	s := sender{ids: wire.NewIDs(nil, nil)}
	parts := []ipc.SendPart{{Kind: wire.PartText, Text: "the first message"}}
	sent, err := ipc.Send.Call(ctx, from.conn, ipc.SendParams{Token: s.token(), Who: key.String(), Parts: parts, WaitAck: new(int64)})
	s.thread = sent.Th
	return s, err
}

func (s sender) token() string { return string(s.ids.Next()) }

// send sends a message about as long as a sentence, and waits for its ack if wait is not
// zero.
func (s sender) send(ctx context.Context, c *ipc.Conn, wait time.Duration) error {
	ms := wait.Milliseconds()
	parts := []ipc.SendPart{{Kind: wire.PartText, Text: "The suite passes at a1b2c3, except for one test of the parser; the log is attached."}}
	sent, err := ipc.Send.Call(ctx, c, ipc.SendParams{Token: s.token(), Thread: s.thread, Parts: parts, WaitAck: &ms})
	if err == nil && wait > 0 && !sent.Acked {
		err = fmt.Errorf("not acked within %v", wait)
	}
	return err
}
