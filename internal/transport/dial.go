package transport

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/wire"
)

// Options are the owner's choices.
type Options struct {
	AllowPlaintext bool // plain TCP to anywhere
	// Resolve returns the addresses of a host name; nil: the system's.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Dial connects to a TCP or Unix address. Errors: denied (plain TCP to a public address),
// invalid (no such kind), unreachable.
func Dial(ctx context.Context, a wire.Addr, o Options) (net.Conn, error) {
	switch a.Kind {
	case wire.KindTCP:
		return dialTCP(ctx, a.Rest, o)
	case wire.KindUnix:
		return dialUnix(ctx, a.Rest)
	}
	return nil, unknownKind(a)
}

func unknownKind(a wire.Addr) error {
	return &awp.Error{
		Code:    awp.Invalid,
		Message: "this release cannot use " + a.Kind + " addresses",
		Hint:    "use unix:/path or tcp:HOST:PORT",
	}
}

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		return nc, nil
	}
	return nil, unreachable(ctx, err)
}

// dialTCP resolves once, judges every address, and connects to those it judged: a second
// look at the name could find another place.
func dialTCP(ctx context.Context, hostPort string, o Options) (net.Conn, error) {
	ips, port, err := o.resolve(ctx, hostPort)
	if err != nil {
		return nil, err
	}
	for _, ip := range ips {
		if !o.AllowPlaintext && !private(ip) {
			return nil, publicError("to a public address")
		}
	}
	var d net.Dialer
	for i, ip := range ips {
		tryCtx, cancel := share(ctx, len(ips)-i)
		var nc net.Conn
		nc, err = d.DialContext(tryCtx, "tcp", net.JoinHostPort(ip.String(), port))
		cancel()
		if err == nil {
			return nc, nil
		}
	}
	return nil, unreachable(ctx, err)
}

// share gives the first of n addresses its part of the time that is left.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/time.Duration(n))
}

func (o Options) resolve(ctx context.Context, hostPort string) (ips []netip.Addr, port string, err error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, "", &awp.Error{Code: awp.Invalid, Message: "not a TCP address", Hint: "spell it tcp:HOST:PORT"}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, port, nil
	}
	look := o.Resolve
	if look == nil {
		look = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	ips, err = look(ctx, host)
	if err == nil && len(ips) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return nil, "", &awp.Error{Code: awp.Unreachable, Message: "host name cannot be resolved", Cause: err}
	}
	return ips, port, nil
}

// unreachable words a failed dial without repeating the address, which stays a secret.
func unreachable(ctx context.Context, err error) error {
	msg := "cannot connect"
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		msg = "nobody listens there"
	case errors.Is(err, fs.ErrNotExist):
		msg = "no such socket"
	case errors.Is(err, fs.ErrPermission):
		msg = "no permission for the socket"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		msg = "timed out"
	case ctx.Err() != nil:
		msg = "given up"
	default:
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			msg = fmt.Sprintf("cannot connect: %v", errno)
		}
	}
	return &awp.Error{Code: awp.Unreachable, Message: msg, Cause: err}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
