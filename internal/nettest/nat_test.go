//go:build linux

package nettest

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// nat is how a router translates what its host sends.
type nat string

const (
	plain     nat = "plain"     // one outside port for each inside port: a direct path can be found
	symmetric nat = "symmetric" // another port for every destination: none can
	noUDP     nat = "no UDP"    // forwards TCP alone
)

// The router's outside interface, and the relay's STUN port.
const (
	wan      = "wan"
	stunPort = 3478
)

// firewall is a router's rules, made without a program: nftables' own command is rarely
// installed.
type firewall struct {
	t       *testing.T
	conn    *nftables.Conn
	table   *nftables.Table
	through *nftables.Chain // counts udp, then tcp
	cut     *nftables.Chain // drops everything, while it is there
}

// newFirewall translates and counts. What nobody asked for from outside is dropped, as
// home routers do: without that the first packet of a peer keeps the port from the host
// that wants it (NATLAB.md).
func newFirewall(t *testing.T, ns string, kind nat) *firewall {
	t.Helper()
	in, err := os.Open("/run/netns/" + ns)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nftables.New(nftables.WithNetNSFd(int(in.Fd())), nftables.AsLasting())
	in.Close()
	if err != nil {
		t.Fatalf("reach the firewall of a router: %v", err)
	}
	t.Cleanup(func() { conn.CloseLasting() }) //nolint:errcheck // nothing is lost
	f := &firewall{t: t, conn: conn}
	f.table = conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "lab"})
	post := f.chain("post", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource)
	f.rule(post, append(interfaceIs(expr.MetaKeyOIFNAME), &expr.Masq{Random: kind == symmetric, FullyRandom: kind == symmetric})...)
	inbound := f.chain("inbound", nftables.ChainTypeFilter, nftables.ChainHookInput, nftables.ChainPriorityFilter)
	f.rule(inbound, append(interfaceIs(expr.MetaKeyIIFNAME),
		&expr.Ct{Register: 1, Key: expr.CtKeySTATE},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitNEW), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
		&expr.Verdict{Kind: expr.VerdictDrop})...)
	f.through = f.chain("through", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter)
	udp := []expr.Any{&expr.Counter{}}
	if kind == noUDP {
		udp = append(udp, &expr.Verdict{Kind: expr.VerdictDrop})
	}
	f.rule(f.through, append(protocolIs(unix.IPPROTO_UDP), udp...)...)
	f.rule(f.through, append(protocolIs(unix.IPPROTO_TCP), &expr.Counter{})...)
	f.flush()
	return f
}

func (f *firewall) chain(name string, kind nftables.ChainType, hook *nftables.ChainHook, at *nftables.ChainPriority) *nftables.Chain {
	return f.conn.AddChain(&nftables.Chain{Name: name, Table: f.table, Type: kind, Hooknum: hook, Priority: at})
}

func (f *firewall) rule(c *nftables.Chain, exprs ...expr.Any) {
	f.conn.AddRule(&nftables.Rule{Table: f.table, Chain: c, Exprs: exprs})
}

func (f *firewall) flush() {
	f.t.Helper()
	if err := f.conn.Flush(); err != nil {
		f.t.Fatalf("set the firewall of a router: %v", err)
	}
}

// silence drops every packet, and no interface tells anybody.
func (f *firewall) silence() {
	f.t.Helper()
	f.cut = f.chain("cut", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityRaw)
	f.rule(f.cut, &expr.Verdict{Kind: expr.VerdictDrop})
	f.flush()
}

// heal ends silence.
func (f *firewall) heal() {
	f.t.Helper()
	f.conn.FlushChain(f.cut)
	f.conn.DelChain(f.cut)
	f.flush()
}

// carried returns the bytes that went through the router, both ways: by UDP, which is a
// direct path, and by TCP, which is the relay.
func (f *firewall) carried() (udp, tcp uint64) {
	f.t.Helper()
	rules, err := f.conn.GetRules(f.table, f.through)
	if err != nil || len(rules) != 2 {
		f.t.Fatalf("read the counters of a router: %v", err)
	}
	count := func(r *nftables.Rule) uint64 {
		for _, e := range r.Exprs {
			if c, ok := e.(*expr.Counter); ok {
				return c.Bytes
			}
		}
		f.t.Fatal("a rule of a router counts nothing")
		return 0
	}
	return count(rules[0]), count(rules[1])
}

func interfaceIs(which expr.MetaKey) []expr.Any {
	name := append([]byte(wan), bytes.Repeat([]byte{0}, unix.IFNAMSIZ-len(wan))...)
	return []expr.Any{&expr.Meta{Key: which, Register: 1}, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: name}}
}

func protocolIs(p byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{p}}}
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
