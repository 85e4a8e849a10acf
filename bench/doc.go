// Bench measures the suite against floors taken in the same run, and prints ratios with
// their targets. It builds the programs as they are released, runs them in homes of their
// own under the temporary directory, over Unix sockets (and tailcat), and ends them by their pids.
// Noise never fails it: it exits 0 whatever it measured, and marks what is over target.
//
//	go run ./bench [--only NAME] [--quick] [--json] [--bin DIR]
//
// The floors are measured between the rounds of what is held against them, so that a busy
// machine slows both. A figure is a median unless it says otherwise.
//
//   - startup: a command from its start to its end, with a daemon running, in turns with
//     an empty static Go program. At most 2.2 times the empty one.
//   - ack: one message at a time from one home to another, from the call to the peer's
//     ack, on a kept connection (and, for information, by the command line). The floor is
//     an fdatasync after an append of 512 bytes on the same disk. At most 3 floors and 1 ms:
//     two disk syncs are needed, one a home.
//   - sustained: messages a second that callers, each on a connection of its own, send to
//     one connected peer, until the last is acked. The floor is the same callers' rate to
//     a peer that is away: what one store commits. At least 60 % of it.
//   - file: 50 MiB from the start of awp send --file until the receiver's log says that it
//     is complete; its hash is checked after that. At least 40 MiB/s. The floor is one program
//     that does what cannot be left out: copy the file and sync it, then read, base64, a
//     Unix socket, base64, write, and a sync every 768 KiB. At the end none of the four
//     programs may ever have been larger than 64 MiB (VmHWM).
//   - tailcat (Linux): through tunnels and an awp-relay, in a network namespace with loopback
//     alone. A ping line of 200 bytes and its pong against a line and an echo on bare tailcat:
//     at most 1.3 times. A connect without a link until the first message is acked against
//     a bare dial and one echo: at most 1.5 times, and two syncs. awp-wire with 20 peers that
//     it dialed and nothing to do for a minute: less than 90 MiB and 2 % of a core.
//   - big: a store of 1,000,000 messages in 10,000 threads. From the start of the daemon
//     until awp-store answers less than 1 s; lists and reads of at most 1,000 rows, on a
//     kept connection and decoded as the commands do, less than 20 ms each.
package main
