// Package supervise keeps the programs of a home running: it holds the home's lock, keeps
// the listening sockets open and hands them to the programs, starts these, restarts the
// ones that end, and closes them in order.
//
// It knows neither what the programs do nor what is said on their sockets, never accepts
// a connection, and never kills a process that it did not start. Since it holds the
// sockets, a program's callers wait while it is restarted instead of failing.
//
// # Files
//
// Three files in the home, all locked with flock(2), which the system drops when the last
// holder is gone, however it went:
//
//   - daemon.lock is held by the supervisor and, inherited, by every program it started:
//     free means that nothing of the home runs. A supervisor that was killed leaves
//     programs that notice within moments (see below); the next one waits on this file
//     for the last of them, so that no two stores ever meet.
//   - daemon.pid names the supervisor and is locked by it alone, from before the name is
//     visible until it begins to close. A pid in a locked daemon.pid is therefore never
//     stale, and nobody signals any other.
//   - daemon.start is held while one starts or stops the daemon. Whoever comes second
//     waits for the outcome, then finds a daemon that serves, or none.
//
// # Lifeline
//
// Every program inherits the read end of a pipe of which only the supervisor has the
// write end. It ends when the supervisor does, even by kill -9, on every system; see
// lifeline.Watch. Linux's parent death signal is not used: it fires when the thread
// that forked ends, which in a Go program means nothing, and other systems lack it.
package supervise
