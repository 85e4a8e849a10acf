// Package wirecmd is awp-wire: the program that holds the links to peers. It glues the
// pure machines of packages handshake and link to sockets, timers and awp-store.
//
// One [daemon] lives as long as the program: its listeners, its control socket, the
// number of the next link. One session lives as long as the connection to awp-store: its
// links, its peers, its dialling loops. When awp-store goes away the session goes, with
// every link, and a new one begins once awp-store is back; nothing is lost, because
// nothing was kept.
//
// A connection has three goroutines. The reader cuts lines and parses their envelopes,
// batch by batch. The writer writes what was queued. The third owns both machines and
// decides nothing itself: it feeds them lines, ticks and reports, and does what they ask.
//
// The package never opens the database, holds no key, makes no ack, and never blocks one
// peer because of another.
package wirecmd
