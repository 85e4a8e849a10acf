package awpcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/doctor"
	"github.com/awp-suite/awp/ipc"
)

// secretFiles of a home are nobody else's to read.
var secretFiles = []string{"identity.json", "tailcat.json", "awp.db"}

// lookAt looks at a home on its disk, and changes nothing. A disk that hangs makes it
// hang.
func lookAt(home string) (p doctor.Place) {
	fi, err := os.Stat(home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Missing = true
		return p
	case err != nil:
		p.Trouble.Said = fmt.Sprintf("%s cannot be looked at: %v", home, err)
		return p
	case !fi.IsDir():
		p.Trouble = doctor.Words{Said: home + " is not a directory", Hint: "move that file, or choose another home: --home DIR or AWP_HOME"}
		return p
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		p.Trouble = doctor.Words{
			Said: fmt.Sprintf("%s belongs to user id %d, this is %d", home, st.Uid, os.Getuid()),
			Hint: "run awp as its owner, or choose another home: --home DIR or AWP_HOME",
		}
		return p
	}
	p.Mode = uint32(fi.Mode().Perm())
	p.Writable = unix.Access(home, unix.W_OK|unix.X_OK) == nil
	set, err := config.Load(home, os.Getenv)
	if err != nil {
		p.Settings = doctor.Words{Said: err.Error(), Hint: awp.HintOf(err)}
	}
	p.Warnings = set.Warnings
	for _, name := range secretFiles {
		if fi, err := os.Lstat(filepath.Join(home, name)); err == nil && fi.Mode().Perm()&0o077 != 0 {
			p.Open = append(p.Open, name)
		}
	}
	for _, name := range []string{ipc.StoreSocket, ipc.WireSocket} {
		s := doctor.Socket{Name: name, Path: ipc.SocketPath(home, name)}
		if fi, err := os.Lstat(s.Path); err == nil {
			s.Exists, s.Foreign, s.Mode = true, fi.Mode()&fs.ModeSocket == 0, uint32(fi.Mode().Perm())
		}
		p.Sockets = append(p.Sockets, s)
	}
	p.Deep = ipc.TooDeep(home)
	var disk unix.Statfs_t
	if err := unix.Statfs(home, &disk); err != nil {
		p.Disk = err.Error()
		return p
	}
	p.Free = disk.Bavail * uint64(disk.Bsize)                 //nolint:unconvert,gosec // macOS has another type
	p.Inodes, p.Counted = disk.Ffree, disk.Files > disk.Ffree // not all file systems count
	return p
}

// offload is what tailcat goes by; awp-wire switches it off where nobody set it.
const offload = "TS_DEBUG_DISABLE_UDP_GSO"

// offloadOn returns the setting that switches UDP segmentation offload on, if any.
func offloadOn() string {
	set := os.Getenv(offload)
	if off, err := strconv.ParseBool(set); set == "" || err == nil && off {
		return ""
	}
	return offload + "=" + set
}
