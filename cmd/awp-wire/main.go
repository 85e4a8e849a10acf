// NAME
//
//	awp-wire - carry lines between this home and its peers
//
// # DESCRIPTION
//
// awp-wire holds the links: it listens, dials, shakes hands, keeps one connection a peer,
// notices dead ones and dials again while there is unfinished business. What it reads it
// hands to awp-store, unjudged; what awp-store pushes it writes. It is started by awp
// daemon or by systemd, never by hand.
//
// # SOCKETS
//
// awp-wire.sock, its control socket, by activation under that name. It connects to
// awp.sock, where awp-store is. Towards peers it listens on the addresses of the
// settings (--listen, AWP_LISTEN, config.json): Unix sockets, TCP, and, unless that is
// switched off, tailcat: a WireGuard tunnel over UDP and, by TLS, a relay. For tailcat it
// opens a UDP port of the system's choice on every interface, and connects to the relay.
//
// # STATE
//
// tailcat.json in the home (AWP_HOME), mode 0600: the keys and the relay that make the
// home's tailcat address, and the key to dial with. It is all that makes the address last:
// copied with the home, the address moves along; damaged, it is reported and never
// replaced. In the home it reads config.json.
//
// # SECURITY
//
// Parses strangers' bytes, so it has no database and no key: awp-store signs its
// handshakes and says who is admitted. What is in tailcat.json reaches the handshake and
// no further. Plain TCP goes to private addresses only and is
// taken from private addresses only, unless AWP_ALLOW_PLAINTEXT=1. Lines, queues,
// handshakes and links are bounded. Its log never shows lines, keys or addresses, except
// lines with --trace; with --verbose it has tailcat's own log, keys and addresses
// struck out.
//
// # FAILURE
//
// Killed at any moment it loses nothing: a line counts as sent when the peer's ack is in
// awp-store, and as received when awp-store has it on disk. While awp-store is away no
// peer is read; afterwards links are made anew. An address that cannot be listened on, or
// a relay that does not answer, is reported in awp status and tried again; everything
// else works meanwhile.
package main

import (
	"context"
	"net"

	"github.com/awp-suite/awp/internal/startcmd"
	"github.com/awp-suite/awp/internal/transport/tailcat"
	"github.com/awp-suite/awp/internal/wirecmd"
	"github.com/awp-suite/awp/ipc"
)

func main() {
	startcmd.Main("awp-wire", ipc.WireSocket, func(ctx context.Context, s startcmd.Start, l net.Listener) error {
		set := s.Settings.Tailcat
		tunnel := tailcat.New(tailcat.Options{Home: s.Home, DERPMapURL: set.DERPMapURL, Relay: tailcat.Relay(set.Relay), Log: s.Log})
		return wirecmd.Run(ctx, wirecmd.Config{Home: s.Home, Settings: s.Settings, Log: s.Log, Tunnel: tunnel}, l)
	})
}
