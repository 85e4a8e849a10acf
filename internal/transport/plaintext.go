package transport

import (
	"net/netip"

	"github.com/awp-suite/awp"
)

// carrierGrade is shared address space (RFC 6598), which overlay networks use too.
var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

// private reports whether ip lies where plain TCP may go.
func private(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || carrierGrade.Contains(ip)
}

const plaintextHint = "use a tailcat or unix address, or a private network; AWP_ALLOW_PLAINTEXT=1 lifts this, and the encryption with it"

func publicError(what string) error {
	return &awp.Error{Code: awp.Denied, Message: "plain TCP " + what + " is refused", Hint: plaintextHint}
}
