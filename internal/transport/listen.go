package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Listener accepts peers at one address.
type Listener struct {
	l    net.Listener
	addr wire.Addr
	open bool // takes peers from public addresses
}

// Conn is an accepted connection with what is known of where it came from.
type Conn struct {
	net.Conn
	Via string // canonical address: the peer's end of a TCP connection, our path of a Unix one
}

// Listen binds a TCP or Unix address. Errors: denied (plain TCP on a public address),
// busy (in use), invalid.
func Listen(ctx context.Context, a wire.Addr, o Options) (*Listener, error) {
	switch a.Kind {
	case wire.KindTCP:
		return listenTCP(ctx, a, o)
	case wire.KindUnix:
		return listenUnix(ctx, a)
	}
	return nil, unknownKind(a)
}

// listenTCP binds where every address of the host is private. The wildcard is no
// address: it may be bound, and Accept then turns away who calls from a public one.
func listenTCP(ctx context.Context, a wire.Addr, o Options) (*Listener, error) {
	ips, port, err := o.resolve(ctx, a.Rest)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips {
		if !o.AllowPlaintext && !ip.IsUnspecified() && !private(ip) {
			return nil, publicError("on a public address")
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(ips[0].String(), port))
	if err != nil {
		return nil, bindError(err)
	}
	if _, bound, err := net.SplitHostPort(l.Addr().String()); err == nil {
		host, _, _ := net.SplitHostPort(a.Rest)
		a.Rest = net.JoinHostPort(host, bound) // says which port stands for 0
	}
	return &Listener{l: l, addr: a, open: o.AllowPlaintext}, nil
}

func bindError(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &awp.Error{Code: awp.Busy, Message: "address is in use", Hint: "stop the program that listens there, or choose another port", Cause: err}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &awp.Error{Code: awp.Invalid, Message: "not an address of this machine", Cause: err}
	case errors.Is(err, syscall.EACCES):
		return &awp.Error{Code: awp.Denied, Message: "no permission to listen there", Cause: err}
	}
	msg := "cannot listen"
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		msg = fmt.Sprintf("cannot listen: %v", errno)
	}
	return &awp.Error{Code: awp.Invalid, Message: msg, Cause: err}
}

// Addr is what peers dial, with the port that was bound.
func (l *Listener) Addr() wire.Addr { return l.addr }

// Wildcard reports whether Addr stands for every address of the machine, so that nobody
// elsewhere can dial it as it is spelled.
func (l *Listener) Wildcard() bool {
	if l.addr.Kind != wire.KindTCP {
		return false
	}
	host, _, _ := net.SplitHostPort(l.addr.Rest)
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}

// Accept waits for a peer. One that calls from a public address over plain TCP is hung
// up on and reported as a denied error, after which Accept can be called again.
func (l *Listener) Accept() (Conn, error) {
	nc, err := l.l.Accept()
	if err != nil {
		return Conn{}, err
	}
	if l.addr.Kind == wire.KindUnix {
		return Conn{nc, l.addr.String()}, nil
	}
	from, err := netip.ParseAddrPort(nc.RemoteAddr().String())
	if err != nil || !l.open && !private(from.Addr()) {
		nc.Close()
		return Conn{}, publicError("from a public address")
	}
	via := wire.Addr{Kind: wire.KindTCP, Rest: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()).String()}
	return Conn{nc, via.String()}, nil
}

// Close stops listening. A Unix socket's file goes with it.
func (l *Listener) Close() error { return l.l.Close() }
