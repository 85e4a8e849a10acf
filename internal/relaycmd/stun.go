package relaycmd

import (
	"errors"
	"net"
	"net/netip"

	"tailscale.com/net/stun"
)

// answerSTUN tells whoever asks from where the question came, until pc is closed. An
// answer is hardly longer than its question, so the relay is no use for flooding others.
func answerSTUN(pc net.PacketConn) error {
	var buf [1500]byte
	for {
		n, from, err := pc.ReadFrom(buf[:])
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			continue // of one packet, such as a port that is closed again
		}
		asked, err := stun.ParseBindingRequest(buf[:n])
		if err != nil {
			continue
		}
		udp, ok := from.(*net.UDPAddr)
		if !ok {
			continue
		}
		at := udp.AddrPort()
		answer := stun.Response(asked, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
		pc.WriteTo(answer, from) //nolint:errcheck // who did not get it asks again
	}
}
