package main

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/awp-suite/awp/internal/transport/tailcat"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// envApart says that the process runs in a network namespace of its own.
const envApart = "AWP_BENCH_APART"

// throughTunnels measures homes that meet over tailcat, in a namespace.
func throughTunnels(ctx context.Context, b *bench) error {
	if os.Getenv(envApart) == "" {
		return b.again(ctx, "tailcat")
	}
	if err := loopback(); err != nil {
		return err
	}
	settings, stopRelay, err := b.relay()
	if err != nil {
		return err
	}
	defer stopRelay()
	echo, stopEcho, err := b.echo(settings)
	if err != nil {
		return err
	}
	defer stopEcho()
	dir := filepath.Join(b.dir, "raw")
	if err := writeSettings(dir, settings); err != nil {
		return err
	}
	raw, err := node(dir)
	if err != nil {
		return err
	}
	defer raw.Close()
	to, err := b.tunneled(ctx, "tailcat-to", settings)
	if err != nil {
		return err
	}
	defer to.stop()
	if err := b.roundTrips(ctx, raw, echo, to); err != nil {
		return err
	}
	from, err := b.tunneled(ctx, "tailcat-from", settings)
	if err != nil {
		return err
	}
	defer from.stop()
	if err := b.firstAcks(ctx, raw, echo, from, to); err != nil {
		return err
	}
	return b.idle(ctx, from, settings)
}

// again runs one bench in a namespace, and takes its figures.
func (b *bench) again(ctx context.Context, only string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "-only", only, "-json", "-bin", b.bin, fmt.Sprintf("-quick=%v", b.quick))
	cmd.Env = append(os.Environ(), envApart+"=1")
	cmd.Stderr = os.Stderr
	if err := apart(cmd); err != nil {
		progress("%s is left out: it needs Linux", only)
		return nil
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState == nil {
			progress("%s is left out: no network namespace: %v", only, err)
			return nil
		}
		return err
	}
	var figures []figure
	if err := json.Unmarshal(out.Bytes(), &figures); err != nil {
		return err
	}
	b.figures = append(b.figures, figures...)
	return nil
}

// tunneled starts a home and waits until peers can reach it by its tailcat address.
func (b *bench) tunneled(ctx context.Context, name string, settings []byte) (*home, error) {
	h := &home{b: b, name: name, dir: filepath.Join(b.dir, name), listen: "tailcat", pids: make(map[string]int)}
	if err := writeSettings(h.dir, settings); err != nil {
		return nil, err
	}
	if err := h.start(ctx); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		st, err := ipc.Status.Call(ctx, h.conn, ipc.None{})
		if err != nil || st.Tailcat != "" {
			h.tailcat = st.Tailcat
			return h, err
		}
		if time.Now().After(deadline) {
			h.stop()
			return nil, fmt.Errorf("%s has no address: %s", name, st.TailcatError)
		}
		time.Sleep(5 * time.Millisecond) // nobody tells
	}
}

// roundTrips compares a line of 200 bytes and its answer: a ping to a home, a line to the
// echo.
func (b *bench) roundTrips(ctx context.Context, raw *tailcat.Node, echo string, to *home) error {
	plain, err := raw.Dial(ctx, echo)
	if err != nil {
		return err
	}
	defer plain.Close()
	peer, err := raw.Dial(ctx, to.tailcat)
	if err != nil {
		return err
	}
	defer peer.Close()
	in, err := greet(peer)
	if err != nil {
		return err
	}
	ping := []byte(`{"t":"ping","id":"` + strings.Repeat("p", 179) + "\"}\n")
	lines := wire.NewReader(plain)
	var floor, took []time.Duration
	for range b.rounds(200) {
		for range 10 {
			d, err := exchange(plain, lines, ping)
			if err != nil {
				return err
			}
			floor = append(floor, d)
		}
		for range 10 {
			d, err := exchange(peer, in, ping)
			if err != nil {
				return err
			}
			took = append(took, d)
		}
	}
	half := millis(median(floor))
	f := figure{Bench: "tailcat", Name: "200-byte line and answer, p50", Value: millis(median(took)), Unit: "ms", Floor: half, Of: "raw tailcat p50"}
	b.add(f.atMost(1.3 * half))
	b.add(figure{Bench: "tailcat", Name: "200-byte line and answer, p99", Value: millis(quantile(took, 0.99)), Unit: "ms", Floor: millis(quantile(floor, 0.99)), Of: "raw tailcat p99"})
	return nil
}

func exchange(nc net.Conn, in *wire.Reader, line []byte) (time.Duration, error) {
	start := time.Now()
	if _, err := nc.Write(line); err != nil {
		return 0, err
	}
	_, err := in.ReadLine()
	return time.Since(start), err
}

// firstAcks compares a home that connects anew and sends, until the ack, with a raw dial
// and one echo.
func (b *bench) firstAcks(ctx context.Context, raw *tailcat.Node, echo string, from, to *home) error {
	wireConn, err := from.dial(ctx, ipc.WireSocket)
	if err != nil {
		return err
	}
	defer wireConn.Close()
	disk, err := newDisk(b.dir)
	if err != nil {
		return err
	}
	defer disk.close()
	key, err := to.key(ctx)
	if err != nil {
		return err
	}
	connect := func() error {
		_, err := ipc.Connect.Call(ctx, wireConn, ipc.ConnectParams{Addr: "tailcat:" + to.tailcat, Timeout: 60_000})
		return err
	}
	if err := connect(); err != nil {
		return err
	}
	s, err := newSender(ctx, from, to)
	if err != nil {
		return err
	}
	var floor, took, syncs []time.Duration
	for range b.rounds(50) {
		time.Sleep(100 * time.Millisecond) // a dial right after another is held back
		start := time.Now()
		nc, err := raw.Dial(ctx, echo)
		if err != nil {
			return fmt.Errorf("raw dial %d: %w", len(floor)+1, err)
		}
		if _, err := exchange(nc, wire.NewReader(nc), []byte("hello\n")); err != nil {
			return err
		}
		floor = append(floor, time.Since(start))
		nc.Close()

		if _, err := ipc.Bye.Call(ctx, wireConn, ipc.ByeParams{Peer: key}); err != nil {
			return err
		}
		start = time.Now()
		if err := connect(); err != nil {
			return fmt.Errorf("connect %d: %w", len(took)+1, err)
		}
		if err := s.send(ctx, from.conn, time.Minute); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		d, err := disk.sync()
		if err != nil {
			return err
		}
		syncs = append(syncs, d)
	}
	dial := millis(median(floor))
	f := figure{Bench: "tailcat", Name: "connect to first ack, p50", Value: millis(median(took)), Unit: "ms", Floor: dial, Of: "raw dial and echo p50"}
	b.add(f.atMost(1.5*dial + 2*millis(median(syncs))))
	return nil
}

// idlePeers is how many peers a home has dialed that has nothing to do.
const idlePeers = 20

func (b *bench) idle(ctx context.Context, h *home, settings []byte) error {
	for i := range idlePeers {
		peer, err := b.tunneled(ctx, "idle-"+strconv.Itoa(i), settings)
		if err != nil {
			return err
		}
		defer peer.stop()
		if _, err := h.awp(ctx, "connect", peer.tailcat); err != nil {
			return err
		}
	}
	pid := h.pids["awp-wire"]
	time.Sleep(5 * time.Second) // first round trips are measured, links go direct
	before, err := cpu(pid)
	if err != nil {
		return err
	}
	watched := time.Duration(b.rounds(60)) * time.Second
	time.Sleep(watched)
	after, err := cpu(pid)
	if err != nil {
		return err
	}
	resident, err := memory(pid, "VmRSS:")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("awp-wire idle, %d dialed peers: ", idlePeers)
	b.add(figure{Bench: "tailcat", Name: name + "memory", Value: resident, Unit: "MiB"}.atMost(90))
	b.add(figure{Bench: "tailcat", Name: name + "CPU", Value: 100 * float64(after-before) / float64(watched), Unit: "% of a core"}.atMost(2))
	return nil
}

// cpu is what a process has used so far.
func cpu(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, err // USER_HZ is 100
}
