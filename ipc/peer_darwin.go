package ipc

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/awp-suite/awp"
)

// checkPeer makes sure that the other end of a Unix socket runs as this user. The
// socket's mode says so too; this holds even where a mode was widened by mistake.
func checkPeer(nc net.Conn) error {
	uc, ok := nc.(*net.UnixConn)
	if !ok {
		return nil // a test's pipe
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return fmt.Errorf("check peer: %w", err)
	}
	var cred *unix.Xucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return fmt.Errorf("check peer: %w", err)
	}
	if credErr != nil {
		return fmt.Errorf("check peer: %w", credErr)
	}
	if int(cred.Uid) != os.Getuid() {
		return &awp.Error{Code: awp.Denied, Message: fmt.Sprintf("this home belongs to user id %d, not %d", os.Getuid(), cred.Uid)}
	}
	return nil
}
