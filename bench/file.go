package main

import (
	"context"
	"crypto/sha256"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/ipc"
)

const (
	fileMiB = 50
	mostMiB = 64 // of memory, each program
)

// file measures a large file between two homes, and what it costs in memory.
func file(ctx context.Context, b *bench) error {
	from, to, err := b.pair(ctx, "file")
	if err != nil {
		return err
	}
	defer to.stop()
	defer from.stop()
	s, err := newSender(ctx, from, to)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, "file.bin")
	sum, err := randomFile(path)
	if err != nil {
		return err
	}
	var rates, floors []float64
	for range max(3, b.rounds(7)) {
		d, err := leastWork(b.dir, path)
		if err != nil {
			return err
		}
		floors = append(floors, fileMiB/d.Seconds())
		d, err = sendFile(ctx, s, from, to, path, sum)
		if err != nil {
			return err
		}
		rates = append(rates, fileMiB/d.Seconds())
	}
	b.add(figure{Bench: "file", Name: "50 MiB, from send to complete", Value: median(rates), Unit: "MiB/s", Floor: median(floors), Of: "least work"}.atLeast(40))
	for _, h := range []*home{from, to} {
		for _, program := range []string{"awp-store", "awp-wire"} {
			mib, err := peak(h.pids[program])
			if errors.Is(err, os.ErrNotExist) { // no /proc here
				continue
			}
			if err != nil {
				return err
			}
			side := strings.TrimPrefix(h.name, "file-")
			b.add(figure{Bench: "file", Name: "peak memory, " + program + " " + side, Value: mib, Unit: "MiB"}.atMost(mostMiB))
		}
	}
	return nil
}

func randomFile(path string) ([sha256.Size]byte, error) {
	text := make([]byte, fileMiB<<20)
	rand.NewChaCha8([32]byte{}).Read(text) //nolint:errcheck // it never fails
	return sha256.Sum256(text), os.WriteFile(path, text, 0o600)
}

// sendFile returns how long the file took, once its hash is found to be right.
func sendFile(ctx context.Context, s sender, from, to *home, path string, sum [sha256.Size]byte) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := to.dial(ctx, ipc.StoreSocket)
	if err != nil {
		return 0, err
	}
	defer c.Fail(errors.New("done"))
	begun, arrived := make(chan struct{}), make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := ipc.Subscribe.Call(ctx, c, ipc.SubscribeParams{All: true}, func(e awp.Event) error {
			if e.Type == "" {
				close(begun)
			}
			if e.Type != "blob" {
				return nil
			}
			var note struct {
				Path string `json:"path"`
			}
			err := json.Unmarshal(e.Meta, &note)
			arrived <- note.Path
			return err
		})
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		return 0, err
	}
	start := time.Now()
	if _, err := from.awp(ctx, "send", "--thread", string(s.thread), "--wait-ack", "0s", "--file", path, "the log"); err != nil {
		return 0, err
	}
	select {
	case got := <-arrived:
		took := time.Since(start)
		return took, checkFile(got, sum)
	case err := <-ended:
		return 0, err
	}
}

func checkFile(path string, sum [sha256.Size]byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if [sha256.Size]byte(h.Sum(nil)) != sum {
		return fmt.Errorf("%s is not what was sent", path)
	}
	return os.Remove(path) // room for the next
}

// peak returns the most memory that a process ever had resident, in MiB.
func peak(pid int) (float64, error) { return memory(pid, "VmHWM:") }

// memory returns a line of a process's status, in MiB.
func memory(pid int, name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no %s", pid, name)
}
