package tailcat

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
	"github.com/tailscale/tailcat"
	"tailscale.com/envknob"
	"tailscale.com/types/key"
)

// Options are the owner's choices.
type Options struct {
	Home       string       // where tailcat.json is kept
	DERPMapURL string       // of the list of relays; empty: the public one
	Relay      Relay        // one of the owner's own; zero: one of the list
	Log        *slog.Logger // nil: the default logger
}

// Node is a home's end of its tunnels.
type Node struct {
	opt  Options
	path string
	look chan struct{} // holds one token: the relay connection may have changed

	mu     sync.Mutex
	kept   *keys // nil until they were read
	server *tailcat.Server
	slots  map[key.NodePublic]*slot
	open   map[*conn]struct{}
	closed bool
	tidied time.Time
	busy   sync.WaitGroup // dials and dialed connections
}

// noGSO keeps the kernel from cutting our packets up. Where a link on the way takes less
// than 1360 bytes, bulk on a direct path that uses UDP segmentation offload stalls for
// good within megabytes, and pings behind it (NATLAB.md section 8). Without it the same
// path carried 8 to 26 MiB/s; where nothing is in the way a file takes about half as long
// again (doc/adr/0012-tailcat-behind-one-package.md).
const noGSO = "TS_DEBUG_DISABLE_UDP_GSO"

// batchSize bounds the packets that one read or write takes. Each tunnel keeps buffers of
// 64 KiB for four times as many: a process with 20 dialed peers grew to 235 MiB with the
// default of 128 (doc/adr/0012-tailcat-behind-one-package.md).
const (
	batchSize = "TS_DEBUG_WG_BATCH_SIZE"
	batch     = "16"
)

// New returns a node that neither listens nor dials yet. Call it before anything else
// runs: it may set variables of the environment, unless they are set.
func New(o Options) *Node {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if os.Getenv(noGSO) == "" {
		envknob.Setenv(noGSO, "true")
	}
	if os.Getenv(batchSize) == "" {
		envknob.Setenv(batchSize, batch)
	}
	return &Node{
		opt:   o,
		path:  filepath.Join(o.Home, FileName),
		look:  make(chan struct{}, 1),
		slots: make(map[key.NodePublic]*slot),
		open:  make(map[*conn]struct{}),
	}
}

// keys returns the keys, which are read or made once. An error is tried again: the owner
// may have mended the file.
func (n *Node) keys() (*keys, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept != nil {
		return n.kept, nil
	}
	k, err := loadKeys(n.path)
	if err == nil {
		n.kept = k
	}
	return k, err
}

// maxWaiting bounds the connections that were taken from the tunnel and that accept did
// not take yet: the kernel's queue, which a tunnel has none of.
const maxWaiting = 64

// Listen keeps the home reachable until ctx ends. It reports each change: the address
// once peers can reach us by it, and why not, which may come with an address that worked
// before. It hands every connection to accept, which may wait. What it made stays up
// after ctx, so that connections can be ended in order: see [Node.Close].
func (n *Node) Listen(ctx context.Context, report func(addr string, err error), accept func(net.Conn)) {
	for wait := wire.ListenRetryMin; ; wait = min(2*wait, wire.ListenRetryMax) {
		addr, err := n.start(ctx, accept)
		if err == nil {
			n.watch(ctx, addr, report)
			return
		}
		if ctx.Err() != nil {
			return
		}
		report("", err)
		if !pause(ctx, wait, nil) {
			return
		}
	}
}

// start starts the server and returns its address, which proves nothing yet.
func (n *Node) start(ctx context.Context, accept func(net.Conn)) (string, error) {
	k, err := n.keys()
	if err != nil {
		return "", err
	}
	tryCtx, cancel := context.WithTimeout(ctx, wire.ListenTimeout)
	defer cancel()
	k, err = n.settle(tryCtx, k)
	if err != nil {
		return "", err
	}
	waiting := make(chan struct{}, maxWaiting)
	s := &tailcat.Server{
		Key: k.Key, PresharedKey: k.PresharedKey, Region: k.Region, Logf: n.serverLogf,
		OnTCP: func(port uint16) func(net.Conn) {
			if port != wire.TunnelPort {
				return nil
			}
			return func(nc net.Conn) {
				select {
				case waiting <- struct{}{}:
					accept(nc)
					<-waiting
				default:
					n.opt.Log.Warn("connection dropped: too many wait", "limit", maxWaiting)
					nc.Close()
				}
			}
		},
	}
	if err := s.Start(); err != nil {
		return "", &awp.Error{Code: awp.Internal, Message: "tailcat does not start: " + scrub(err.Error()), Cause: err}
	}
	n.mu.Lock()
	n.server = s
	n.mu.Unlock()
	return string(s.TailcatAddr()), nil
}

// Close ends what still runs. The owner has closed every connection that was accepted.
// The TCP stack lives in this process, so a moment is left for its last packets, or the
// peers would never hear that we went.
func (n *Node) Close() {
	n.mu.Lock()
	n.closed = true
	server, open := n.server, slices.Collect(maps.Keys(n.open))
	n.mu.Unlock()
	for _, c := range open {
		c.Close() //nolint:errcheck // nobody is left to tell
	}
	if server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), drainFor)
		defer cancel()
		server.DrainTCP(ctx) //nolint:errcheck // what is left is in TIME-WAIT, or its peer is gone
		server.Close()       //nolint:errcheck // it has no way to fail
	}
	n.busy.Wait()
}

// pause waits for d, or for an early sign; false: ctx ended first.
func pause(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-early:
		return true
	case <-ctx.Done():
		return false
	}
}
