package awpcmd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/wire"
)

// misspelled says what is wrong with who, if it looks like an address and is none. A peer
// may be called like that all the same: only where there is no such peer does it count.
func misspelled(who string) error {
	_, err := wire.ParseAddr(who)
	if err == nil {
		return nil
	}
	wrong := strings.TrimPrefix(err.Error(), "parse address: ")
	kind, rest, _ := strings.Cut(who, ":")
	hint := ""
	switch {
	case isPath(who):
		wrong, hint = "a path, not an address", spelledPath(who)
	case kind == wire.KindUnix:
		hint = spelledPath(strings.TrimLeft(rest, "/"))
		if strings.HasPrefix(rest, "/") {
			hint = "spell it unix:/path"
		}
	case kind == wire.KindTCP:
		hint = "spell it tcp:HOST:PORT, an IPv6 address as in tcp:[::1]:7000"
	case kind == wire.KindTailcat:
		hint = "copy it once more: awp address prints it on the other side"
	case isHostPort(kind, rest):
		wrong, hint = "not an address: its kind is missing", "spell it tcp:"+who
	default:
		return nil
	}
	return &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("%s: %s", shownAddress(who), wrong), Hint: hint, Cause: err}
}

func isPath(who string) bool {
	return strings.HasPrefix(who, "/") || strings.HasPrefix(who, "./") || strings.HasPrefix(who, "../") || strings.HasPrefix(who, "~/")
}

// spelledPath spells the address of a socket at a path, as the caller's directory has it.
func spelledPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" || strings.HasPrefix(path, "~/") {
		return "spell it unix:/path"
	}
	return "spell it " + render.Arg("unix:"+abs)
}

func isHostPort(host, port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil && host != "" && host+":" != awp.KeyPrefix
}

// shownAddress is an address as it may stand in an error: a tailcat address, which is a
// secret, not in full.
func shownAddress(who string) string {
	if addr, err := wire.ParseAddr(who); err == nil && addr.Kind == wire.KindTailcat {
		return render.Clip(who, 20)
	}
	return who
}
