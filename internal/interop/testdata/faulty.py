"""The peer with a fault, named in FAULTS: what a peer with a restored disk, or a poor one,
would do. A correct peer is not disturbed by any of them."""
import os
import awp_peer

FAULTS = os.environ["FAULTS"].split()

if "forgets" in FAULTS:      # tells nothing of what it has seen: all that is not acked comes again
    awp_peer.Store.seen_map = lambda self, key, now: {}
if "repeats" in FAULTS:      # sends everything that it ever sent once more, as if nothing had arrived
    awp_peer.Store.resumed = lambda self, key, seen: None
    awp_peer.Store._drop = lambda self, key, ids, why: None
if "mute" in FAULTS:         # its acks get lost
    put = awp_peer.Link.put
    awp_peer.Link.put = lambda self, t, **fields: t == "ack" or put(self, t, **fields)

raise SystemExit(awp_peer.main())
