// Package awpcmd is the front command: it reads what a person or an agent typed, asks the
// daemon's programs over their sockets, and prints the answer. It keeps nothing and
// decides nothing that lasts; it opens no network, no database and no key.
//
// Manners: stdout is data only. Errors go to stderr as "awp CMD: …", lower case, without
// a full stop, and where a command helps, a line "awp: hint: …" names it. Exit codes are
// the constants in exit.go.
//
// Start-up time counts, since agents run awp after every step: when the name of the
// command is known, only that command is built (root.go).
package awpcmd
