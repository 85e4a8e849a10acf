// Package daemoncmd is the glue of the daemon of a home: what `awp daemon` does ([Run]),
// how a command finds or starts it ([Ensure], [Start]), and how it is stopped ([Down]).
//
// The daemon is the supervisor of the home's programs and nothing else: it makes their
// sockets, starts them, and says when all of them serve. It opens no database, holds no
// key and speaks to no network.
//
// A daemon started on demand tells the command that started it how it went, on a pipe
// (ready.go); nobody polls. Where systemd holds the sockets they always answer, so no
// command ever starts a second daemon there.
package daemoncmd
