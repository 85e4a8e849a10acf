// Package activation is how a program of the suite gets its listening socket: from
// whoever started it, systemd or the supervisor, by name, in the way that systemd
// defined (LISTEN_FDS, LISTEN_FDNAMES). It is the only reader of those variables. It
// never makes a socket of its own: a socket that was made here would be lost with the
// program, and its callers with it.
package activation

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/awp-suite/awp"
)

// Listener returns the socket called name that was passed to program, and closes all
// others. It can be called once: it clears the variables, so that no child takes the
// sockets for its own. Error: invalid, when there is none of that name.
func Listener(program, name string) (net.Listener, error) {
	passed, err := activation.ListenersWithNames()
	if err != nil {
		return nil, fmt.Errorf("take passed sockets: %w", err)
	}
	return pick(program, name, passed)
}

func pick(program, name string, passed map[string][]net.Listener) (net.Listener, error) {
	var found net.Listener
	for n, listeners := range passed {
		for _, l := range listeners {
			if n == name && found == nil {
				found = l
				continue
			}
			l.Close()
		}
	}
	if found != nil {
		return found, nil
	}
	e := &awp.Error{
		Code:    awp.Invalid,
		Message: fmt.Sprintf("%s was given no socket: it is started by awp daemon or systemd, not by hand", program),
		Hint:    "start everything: awp up",
	}
	if len(passed) > 0 {
		names := slices.Sorted(maps.Keys(passed))
		e.Message = fmt.Sprintf("%s was given no socket called %s, only %s", program, name, strings.Join(names, ", "))
		e.Hint = "look at FileDescriptorName in its systemd socket unit"
	}
	return nil, e
}

// Ready tells whoever started the program, if they want to know, that it serves.
func Ready() { notify(daemon.SdNotifyReady) }

// Stopping tells them that it is about to end.
func Stopping() { notify(daemon.SdNotifyStopping) }

// notify has nobody to complain to: who listens for these words notices their absence.
func notify(state string) { daemon.SdNotify(false, state) } //nolint:errcheck // see above
