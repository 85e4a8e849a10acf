package ipc

import (
	"fmt"
	"net"
	"os"

	"github.com/awp-suite/awp"
)

// checkPeer makes sure that the other end of a Unix socket runs as this user. The
// socket's mode says so too; this holds even where a mode was widened by mistake.
func checkPeer(nc net.Conn) error {
	uid, err := peerUID(nc)
	if err == nil && uid != os.Getuid() {
		err = &awp.Error{Code: awp.Denied, Message: fmt.Sprintf("this home belongs to user id %d, not %d", os.Getuid(), uid)}
	}
	return err
}

// checkServer makes sure that whoever listens runs as this user, or is root: a system's
// service manager may have made the socket. A home's sockets may lie below a directory
// that others write to, so that a stranger may listen where ours is gone.
func checkServer(nc net.Conn) error {
	uid, err := peerUID(nc)
	if err == nil && uid != os.Getuid() && uid != 0 {
		err = &awp.Error{Code: awp.Denied, Message: fmt.Sprintf("user id %d listens on %s, not this user", uid, nc.RemoteAddr())}
	}
	return err
}

// peerUID returns the user id of the other end, and our own for what is no Unix socket: a
// test's pipe.
func peerUID(nc net.Conn) (int, error) {
	uc, ok := nc.(*net.UnixConn)
	if !ok {
		return os.Getuid(), nil
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("check peer: %w", err)
	}
	var uid int
	var uidErr error
	if err := raw.Control(func(fd uintptr) { uid, uidErr = socketUID(int(fd)) }); err != nil {
		return 0, fmt.Errorf("check peer: %w", err)
	}
	if uidErr != nil {
		return 0, fmt.Errorf("check peer: %w", uidErr)
	}
	return uid, nil
}
