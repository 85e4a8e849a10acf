package tailcat

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"reflect"

	"github.com/awp-suite/awp"
	"github.com/tailscale/tailcat"
	"tailscale.com/tailcfg"
)

// Relay is a relay of the owner's own, as the settings name it.
type Relay struct {
	Host     string // a name or an IPv4 address
	Port     int    // of TLS; 0: 443
	STUNPort int    // 0: 3478
	Cert     string // "sha256-raw:<hex>"; empty: a certificate for Host that the system trusts
}

// fromSettings says in keys.From that a [Relay] was chosen by the owner. No URL is like it.
const fromSettings = "settings"

// ownRegion is the ID of an owner's region. It is no part of the address, where the
// only region is always 1.
const ownRegion = 1

// maxNodes bounds the relays of one region that our address names. The reference's
// public regions have three; each costs 30 characters.
const maxNodes = 2

func (r Relay) region() *tailcfg.DERPRegion {
	n := &tailcfg.DERPNode{
		Name: r.Host, RegionID: ownRegion, HostName: r.Host, CertName: r.Cert,
		DERPPort: r.Port, STUNPort: r.STUNPort,
	}
	if ip, err := netip.ParseAddr(r.Host); err == nil && ip.Is4() {
		n.IPv4, n.IPv6 = r.Host, "none" // no name to look up
	}
	return &tailcfg.DERPRegion{RegionID: ownRegion, RegionCode: "own", RegionName: "own relay", Nodes: []*tailcfg.DERPNode{n}}
}

// settle returns keys with a region: the owner's, else the one that was chosen before,
// else the nearest of the map. A new choice is on disk before it is used.
func (n *Node) settle(ctx context.Context, k *keys) (*keys, error) {
	next := *k
	switch {
	case n.opt.Relay != Relay{}:
		next.Region, next.From = n.opt.Relay.region(), fromSettings
		if k.From == fromSettings && reflect.DeepEqual(k.Region, next.Region) {
			return k, nil
		}
	case k.Region != nil && k.From == n.opt.DERPMapURL:
		return k, nil
	default:
		region, err := n.nearest(ctx)
		if err != nil {
			return nil, err
		}
		next.Region, next.From = region, n.opt.DERPMapURL
	}
	if err := next.save(n.path); err != nil {
		return nil, err
	}
	if k.Region != nil {
		n.opt.Log.Warn("the settings name other relays: this agent's tailcat address changed")
	}
	n.mu.Lock()
	n.kept = &next
	n.mu.Unlock()
	return &next, nil
}

// nearest fetches the list of relays and measures which region answers first.
func (n *Node) nearest(ctx context.Context) (*tailcfg.DERPRegion, error) {
	ci := tailcat.ConnInfo{RegionID: -1} // the nearest
	opts := []any{tailcat.ExpandForServer}
	if n.opt.DERPMapURL != "" {
		opts = append(opts, tailcat.DERPMapURL(n.opt.DERPMapURL))
	}
	if err := ci.Expand(ctx, opts...); err != nil {
		return nil, noMap(err)
	}
	region := ci.Region[0]
	region.Nodes = relays(region.Nodes)
	if region.RegionID == 0 || len(region.Nodes) == 0 {
		return nil, noMap(errors.New("the nearest region has no relay"))
	}
	return region, nil
}

// relays returns what an address can name of a region's nodes.
func relays(nodes []*tailcfg.DERPNode) (kept []*tailcfg.DERPNode) {
	for _, n := range nodes {
		if n != nil && !n.STUNOnly && len(kept) < maxNodes {
			kept = append(kept, n)
		}
	}
	return kept
}

func noMap(err error) error {
	what := "the list of relays cannot be fetched"
	if dns, ok := errors.AsType[*net.DNSError](err); ok && (dns.IsNotFound || dns.IsTemporary || dns.IsTimeout) {
		what += ": its host name cannot be resolved; is there a network?"
	} else if errors.Is(err, context.DeadlineExceeded) {
		what += ": timed out"
	} else if op, ok := errors.AsType[*net.OpError](err); ok {
		what += ": " + op.Err.Error()
	}
	return &awp.Error{
		Code:    awp.Unreachable,
		Message: what,
		Hint:    "it is tried again by itself; for a relay of your own see doc/guides/own-relay.md",
		Cause:   err,
	}
}
