package doctor

import (
	"strings"

	"github.com/awp-suite/awp"
)

// Disk space below which a home is in danger. A file of the default limit takes 50 MiB
// twice while it travels, and the database's own log up to 64 MiB.
const (
	diskFail   = 64 << 20
	diskWarn   = 512 << 20
	inodesWarn = 1000
)

// programs: all are there, of one release, and what runs is what is installed.
func (j *judge) programs(f Facts) {
	const sideBySide = "install the programs of one release side by side"
	if f.Installed == nil {
		j.fail(Programs, "look at the disk that awp is installed on", "the programs beside awp could not be looked at in time")
	}
	names := []string{"awp"}
	for _, p := range f.Installed {
		names = append(names, p.Name)
		switch {
		case p.Release == "":
			j.fail(Programs, fixOr(p.Trouble, sideBySide), "%s", p.Trouble.Said)
		case p.Release != f.Release:
			j.fail(Programs, sideBySide, "%s is of release %s, awp of %s", p.Path, p.Release, f.Release)
		}
	}
	for _, a := range []Answer{f.Store, f.Wire} {
		switch {
		case a.Code == awp.Skew:
			j.fail(Programs, "awp down, then awp up", "the %s that runs is of another release than awp", a.Program)
		case a.Answered() && a.Release != f.Release:
			j.fail(Programs, "awp down, then awp up", "the %s that runs is of release %s, awp of %s", a.Program, a.Release, f.Release)
		}
	}
	if !j.spoiled(Programs) {
		j.ok(Programs, "%s are of release %s", strings.Join(names, ", "), f.Release)
	}
}

// place: the home and its sockets.
func (j *judge) place(f Facts) {
	p := f.Place
	switch {
	case p == nil:
		j.fail(Home, "look at the disk that holds the home; see: dmesg", "the disk that holds %s does not answer", f.Home)
		j.skip(Sockets)
		return
	case p.Missing:
		j.warn(Home, "awp up makes it; another one: --home DIR or AWP_HOME", "%s does not exist yet", f.Home)
		j.skip(Sockets)
		return
	case p.Trouble.Said != "":
		j.fail(Home, fixOr(p.Trouble, "choose another home: --home DIR or AWP_HOME"), "%s", p.Trouble.Said)
		j.skip(Sockets)
		return
	}
	if !p.Writable {
		j.fail(Home, "chmod 700 "+f.Home+"; is its disk mounted for reading only?", "%s cannot be written", f.Home)
	}
	if p.Mode&0o077 != 0 {
		j.fail(Home, "chmod 700 "+f.Home, "%s is open to other users (mode %o): it holds the agent's key", f.Home, p.Mode)
	}
	for _, name := range p.Open {
		j.fail(Home, "chmod 600 "+f.Home+"/"+name, "%s is open to other users: it is a secret", name)
	}
	if p.Settings.Said != "" {
		j.fail(Home, fixOr(p.Settings, "correct the setting"), "%s", p.Settings.Said)
	}
	for _, w := range p.Warnings {
		j.warn(Home, "correct it there", "%s", w)
	}
	if !j.spoiled(Home) {
		j.ok(Home, "%s is this user's alone and can be written", f.Home)
	}
	j.sockets(f)
}

func (j *judge) sockets(f Facts) {
	for _, s := range f.Place.Sockets {
		switch {
		case s.Foreign:
			j.fail(Sockets, "move it elsewhere", "%s is in the way: it is not a socket", s.Path)
		case !s.Exists && (f.PID != 0 || f.Store.Answered() || f.Wire.Answered()):
			j.fail(Sockets, "awp down, then awp up", "%s is gone although the daemon runs: somebody removed it", s.Path)
		case s.Exists && s.Mode&0o077 != 0:
			j.fail(Sockets, "chmod 600 "+s.Path, "%s is open to other users (mode %o)", s.Path, s.Mode)
		case s.Exists && f.PID == 0 && !f.Store.Answered() && !f.Wire.Answered():
			j.warn(Sockets, "awp up replaces it", "%s is a dead one, of a daemon that was killed", s.Path)
		}
	}
	if j.spoiled(Sockets) {
		return
	}
	where := ""
	if f.Place.Deep {
		where = "; the home's path is too long for them, so they are in a directory that awp.sock.path in the home names"
	}
	if f.Store.Answered() {
		j.ok(Sockets, "the sockets are this user's alone and answer%s", where)
		return
	}
	j.ok(Sockets, "nothing is in the way of the sockets%s", where)
}

// disk: room for what comes.
func (j *judge) disk(f Facts) {
	p := f.Place
	switch {
	case p == nil || p.Missing || p.Trouble.Said != "":
		j.skip(Disk)
	case p.Disk != "":
		j.warn(Disk, "look at the disk that holds "+f.Home, "how much room there is cannot be told: %s", p.Disk)
	case p.Free < diskFail:
		j.fail(Disk, "free some space on the disk that holds "+f.Home, "%s left: messages and files will soon be refused", size(p.Free))
	case p.Counted && p.Inodes < inodesWarn:
		j.warn(Disk, "remove files on the disk that holds "+f.Home, "room for %s only, whatever their size", count(int(p.Inodes), "more file", "more files")) //nolint:gosec // below inodesWarn
	case p.Free < diskWarn:
		j.warn(Disk, "free some space on the disk that holds "+f.Home, "%s left", size(p.Free))
	default:
		j.ok(Disk, "%s free", size(p.Free))
	}
}
