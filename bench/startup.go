package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"time"
)

// startup holds commands against an empty program. The programs take turns, each as
// often as the others, so that a busy moment meets them all.
func startup(ctx context.Context, b *bench) error {
	h, err := b.home(ctx, "startup")
	if err != nil {
		return err
	}
	defer h.stop()
	awp := filepath.Join(b.bin, "awp")
	commands := [][]string{
		{filepath.Join(b.bin, "empty")},
		{awp, "version"},
		{awp, "status"},
		{awp, "threads"},
	}
	took := make([][]time.Duration, len(commands))
	ratios := make([][]float64, len(commands))
	for round := range b.rounds(300) + 5 {
		var empty time.Duration
		for i, c := range commands {
			d, err := h.time(ctx, c)
			if err != nil {
				return err
			}
			if round < 5 {
				continue // files come into the cache
			}
			if i == 0 {
				empty = d
			}
			took[i] = append(took[i], d)
			ratios[i] = append(ratios[i], float64(d)/float64(empty))
		}
	}
	floor := millis(median(took[0]))
	for i, c := range commands[1:] {
		f := figure{Bench: "startup", Name: "awp " + c[1], Value: millis(median(took[i+1])), Unit: "ms", Floor: floor, Of: "empty program"}
		f.Ratio = median(ratios[i+1]) // of pairs, not of medians
		f.Target, f.Over = "≤ 2.2 ratio", f.Ratio > 2.2
		b.add(f)
	}
	return nil
}

// time runs a command, its output thrown away, and returns how long that took.
func (h *home) time(ctx context.Context, command []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = h.env()
	start := time.Now()
	err := cmd.Run()
	return time.Since(start), err
}
