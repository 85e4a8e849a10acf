#!/usr/bin/env python3
"""An AWP v0 peer in one file, with nothing but Python's standard library.

It was written from the protocol's description alone, to learn whether that is enough and
to check the suite from outside. It is also a way to learn the protocol: read from the
top, every part rests only on those above it.

    encodings    base64url, keys, JSON whose numbers keep their text
    Ed25519      sign and verify, RFC 8032
    ids          ULIDs that only grow
    grants       signed permissions
    Store        what must survive: one journal, appended and synced
    Link         one connection: handshake, resume, acks, ping, bye
    Node         the loop: listen, dial, reconnect
    commands     listen, connect, send, tail, state, status, grant, bye

Two rules carry everything else:

    Nothing is written to any peer between a decision and its commit. The loop decides
    inside `with store.change()`, which appends and syncs at its end, and writes after it.
    So an ack can never speak of something that is not on disk.

    All that is remembered is the journal played from its start. A crash leaves at most a
    torn last line, which the next writer cuts off.

"§" in comments is a section of the protocol's description. Where that left a choice,
doc/protocol-notes.md says what was chosen.
"""
import argparse
import base64
import contextlib
import datetime
import errno
import fcntl
import functools
import hashlib
import ipaddress
import itertools
import json
import json.encoder
import mimetypes
import os
import random
import re
import selectors
import socket
import stat
import sys
import time

# ---- constants, §1 ---------------------------------------------------------------------

MAX_LINE = 1 << 20            # bytes of a line, its \n not counted
CHUNK = 256 << 10             # bytes of a file in one chunk line
BLOB_LIMIT = 50 << 20         # bytes of a file, both ways
RETENTION = 7 * 24 * 3600     # seconds that an unacknowledged line is kept
HANDSHAKE_WITHIN = 30
RESUME_WITHIN = 15
PING_EVERY = 30
TIE_WINDOW = 5
BYE_WITHIN = 5
DRAIN_WITHIN = 1
DIAL_WITHIN = 5               # the description says 30; but our loop waits for it
DIAL_BACK_GRACE = 15
MAX_CONTROL = 4096            # control lines that may wait on one link
MAX_DEPTH = 512               # of nested JSON; the description has no bound
AUTH_CONTEXT = b"awp-auth-v0"
CAPS = ["chat", "blob", "grant", "introduce"]

HANDSHAKE = {"hello", "auth", "resume"}
ACKED = {"msg", "state", "mirror", "private"}
RELIABLE = ACKED | {"chunk", "introduce"}
KNOWN = HANDSHAKE | RELIABLE | {"ack", "ping", "pong", "bye", "err", "grant", "presence"}
CLOSING_ERRS = {"bad_frame", "version", "auth", "too_large"}
OVER = {"done", "failed", "closed"}   # a thread in one of these is not open, §9
# A request is a data part of one of these types, and needs that capability, §17.
REQUESTS = {"application/vnd.awp.%s+json" % mime: cap for mime, cap in
            [("exec", "exec"), ("fs-read", "fs:read"), ("fs-write", "fs:write"), ("admin", "admin")]}


sys.setrecursionlimit(3000)   # room for MAX_DEPTH


class Problem(Exception):
    """Something to tell the person at the command line."""


# ---- encodings, §5 and §6 --------------------------------------------------------------

def b64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text):
    """Decodes either alphabet, padded or not."""
    text = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def spell_key(raw):
    return "ed25519:" + b64url(raw)


def read_key(text):
    """Returns the canonical spelling of a key. Identity is the bytes, so every spelling
    that comes from outside passes through here."""
    if not isinstance(text, str) or not text.startswith("ed25519:"):
        raise ValueError("not a key")
    raw = unb64(text[len("ed25519:"):])
    if len(raw) != 32:
        raise ValueError("not a key")
    return spell_key(raw)


def key_bytes(key):
    return unb64(key[len("ed25519:"):])


def short(key):
    return key[len("ed25519:"):][:10]


class Number(str):
    """A JSON number by its text: what is signed must not be formatted anew."""


def read_count(value):
    """A whole number of at most 15 digits, or -1."""
    return int(value) if isinstance(value, Number) and re.fullmatch("[0-9]{1,15}", value) else -1


def _members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member twice")
    return members


def _depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _constant(text):
    raise ValueError(text + " is not JSON")


def decode(raw):
    """Decodes the bytes of one line, which must be a JSON object."""
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        value = json.loads(text, parse_int=Number, parse_float=Number,
                           parse_constant=_constant, object_pairs_hook=_members)
        if "\\u" in text:
            encode(value).encode("utf-8")     # fails on half of a surrogate pair
        if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
            raise RecursionError("beyond MAX_DEPTH")
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def encode(value, sort=False):
    """JSON without spaces, escaping only what must be. Sorted, it is the canonical form
    that is signed, §6: members by code point, which is how Python compares strings."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return json.encoder.encode_basestring(value)
    if isinstance(value, dict):
        names = sorted(value) if sort else value
        return "{" + ",".join(encode(n) + ":" + encode(value[n], sort) for n in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(encode(v, sort) for v in value) + "]"
    return json.dumps(value)


def canonical(value):
    return encode(value, sort=True).encode("utf-8")


# ---- Ed25519, RFC 8032 -----------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_1 = pow(2, (P - 1) // 4, P)
# A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.


def _add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _multiply(n, p):
    total = (0, 1, 1, 0)
    while n:
        if n & 1:
            total = _add(total, p)
        p, n = _add(p, p), n >> 1
    return total


def _compress(p):
    inverse = pow(p[2], -1, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decompress(raw):
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * SQRT_MINUS_1 % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("not a point")
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = _decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def _hash(*pieces):
    return int.from_bytes(hashlib.sha512(b"".join(pieces)).digest(), "little")


def _expand(seed):
    h = hashlib.sha512(seed).digest()
    secret = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
    return secret, h[32:]


def public(seed):
    return _compress(_multiply(_expand(seed)[0], BASE))


def sign(seed, message):
    secret, prefix = _expand(seed)
    r = _hash(prefix, message) % ORDER
    first = _compress(_multiply(r, BASE))
    s = (r + _hash(first, public(seed), message) * secret) % ORDER
    return first + s.to_bytes(32, "little")


@functools.lru_cache(1024)
def verify(key, message, signature):
    if len(signature) != 64:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= ORDER:
        return False
    try:
        x, y, z, t = _decompress(key)
    except ValueError:
        return False
    h = _hash(signature[:32], key, message) % ORDER
    expected = _add(_multiply(s, BASE), _multiply(h, (-x % P, y, z, -t % P)))
    return _compress(expected) == signature[:32]


# ---- ids and times, §4 -----------------------------------------------------------------

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ULID = re.compile("[0-7][%s]{25}" % ALPHABET)


class Ids:
    """Makes ULIDs that only grow, whatever the clock does."""

    def __init__(self):
        self.last = 0

    def observe(self, ulid):
        value = 0
        for c in ulid:
            value = value << 5 | ALPHABET.index(c)
        self.last = max(self.last, value)

    def next(self, now):
        ms = int(now * 1000)
        if ms > self.last >> 80:
            self.last = ms << 80 | int.from_bytes(os.urandom(10), "big")
        else:
            self.last += 1
        return "".join(ALPHABET[self.last >> shift & 31] for shift in range(125, -1, -5))


def timestamp(now):
    when = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (when.microsecond // 1000)


def read_time(text):
    """Seconds since 1970 of an RFC 3339 time."""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", text)
    if not m:
        raise ValueError("not a time")
    zone = "+00:00" if m[4] in "Zz" else m[4]
    return datetime.datetime.fromisoformat(m[1] + "T" + m[2] + zone).timestamp() + float(m[3] or 0)


# ---- grants, §13 -----------------------------------------------------------------------

def make_grant(seed, subject, caps, ttl, now, audience=None):
    grant = {"iss": spell_key(public(seed)), "sub": subject, "caps": list(caps),
             "exp": timestamp(now + ttl)[:19] + "Z", "nonce": b64url(os.urandom(16))}
    if audience:
        grant["aud"] = audience
    grant["sig"] = b64url(sign(seed, canonical(grant)))
    return grant


def grant_hash(grant):
    return hashlib.sha256(canonical(grant)).digest()[:16].hex()


def check_grant(grant, now):
    """Returns a grant's issuer, subject, audience and capabilities; ValueError if it is
    not valid at this time."""
    if not isinstance(grant, dict) or not isinstance(grant.get("caps"), list):
        raise ValueError("not a grant")
    issuer, subject = read_key(grant.get("iss")), read_key(grant.get("sub"))
    audience = read_key(grant["aud"]) if grant.get("aud") else None
    if not all(isinstance(c, str) for c in grant["caps"]) or not isinstance(grant.get("sig"), str):
        raise ValueError("not a grant")
    if not isinstance(grant.get("exp"), str) or read_time(grant["exp"]) <= now:
        raise ValueError("expired")
    unsigned = {name: value for name, value in grant.items() if name != "sig"}
    if not verify(key_bytes(issuer), canonical(unsigned), unb64(grant["sig"])):
        raise ValueError("bad signature")
    return issuer, subject, audience, set(grant["caps"])


# ---- Store -----------------------------------------------------------------------------

def safe(name, limit=120):
    """A name for a file here. A name that had to be changed is told apart by its hash."""
    changed = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:limit]
    if changed.startswith(".") or not changed:
        changed = "b_" + changed
    return changed


def safe_ref(ref):
    changed = safe(ref, 100)
    return changed if changed == ref else changed + "-" + hashlib.sha256(ref.encode()).hexdigest()[:16]


def sync_directory(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_whole(path, data):
    """A file that is there whole or not at all."""
    with open(path + ".tmp", "wb", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".tmp", path)
    sync_directory(os.path.dirname(path))


class Peer:
    """What the journal says of one peer."""

    def __init__(self):
        self.name = self.about = ""
        self.addresses = {}   # address -> {"source", "ok": when it last worked}
        self.parked = False   # someone said bye
        self.outbox = {}      # id -> "out" record, in the order of sending
        self.order = []       # every id that was ever in the outbox, in that order
        self.seen = {}        # thread -> (largest id received, when)
        self.received = set() # ids, to drop what comes twice
        self.threads = {}     # thread -> dict, see Store._apply
        self.files = {}       # ref -> dict, files that come
        self.sent = {}        # ref -> dict, files that go


class Store:
    """One directory. Its journal holds a JSON list of records a line, and a line is a
    transaction: appended, synced, and only then spoken of. Several processes may share
    it (a `send` beside a `listen`): each takes the lock, reads what others appended,
    decides, appends."""

    def __init__(self, directory, trust=(), blob_limit=BLOB_LIMIT):
        self.dir, self.trust, self.blob_limit = os.path.abspath(directory), set(trust), blob_limit
        os.makedirs(self.dir, 0o700, exist_ok=True)
        self.fd = os.open(self.path("journal"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with self._locked():
            self.seed = self._identity()
            self.key = spell_key(public(self.seed))
        self.batch, self.after = [], []   # of the transaction that is open
        self._forget()
        self.catch_up()

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def _identity(self):
        path = self.path("identity.json")
        try:
            with open(path) as f:
                identity = json.load(f)
        except FileNotFoundError:
            seed = os.urandom(32)
            write_whole(path, encode({"key": spell_key(public(seed)), "seed": b64url(seed)}).encode())
            return seed
        seed = unb64(identity["seed"])
        if spell_key(public(seed)) != read_key(identity["key"]):
            raise Problem("identity.json: the key does not belong to the seed")
        return seed

    # -- the journal --

    def _forget(self):
        self.position = 0     # bytes of the journal that are played
        self.peers, self.grants, self.events = {}, {}, []
        self.ids = Ids()

    @contextlib.contextmanager
    def _locked(self):
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self.fd, fcntl.LOCK_UN)

    def catch_up(self):
        with self._locked():
            self._play()

    def _play(self):
        """Plays what the journal has beyond what was played, and cuts off a torn end."""
        size = os.fstat(self.fd).st_size
        if size == self.position:
            return
        data = os.pread(self.fd, size - self.position, self.position)
        whole = data.rfind(b"\n") + 1
        for line in data[:whole].splitlines():
            for record in decode(b'{"list":' + line + b"}")["list"]:
                self._apply(record)
        self.position += whole
        if whole < len(data):   # we have the lock, so nobody is writing it
            os.ftruncate(self.fd, self.position)

    @contextlib.contextmanager
    def change(self):
        """A transaction. What is recorded inside is on disk once the block is left, or,
        after an exception, never happened."""
        with self._locked():
            try:
                self._play()
                self.batch, self.after = [], []
                yield
                if self.batch:
                    data = encode(self.batch).encode() + b"\n"
                    while data:
                        written = os.write(self.fd, data)
                        self.position, data = self.position + written, data[written:]
                    os.fsync(self.fd)
            except BaseException:
                if self.batch:
                    self._forget()   # memory is ahead of the disk: play it again
                    self._play()
                raise
        for act in self.after:
            act()

    def record(self, what, key=None, **fields):
        """Records one fact; see _apply for the kinds."""
        fact = {"r": what, "at": Number("%.3f" % time.time()), **fields}
        if key:
            fact["k"] = key
        self.batch.append(fact)
        self._apply(fact)

    def peer(self, key):
        return self.peers.setdefault(key, Peer())

    def _apply(self, fact):
        what, at = fact["r"], float(fact["at"])
        peer = self.peer(fact["k"]) if "k" in fact else None
        if what == "peer":          # a handshake told us name and about
            peer.name, peer.about = fact["name"], fact["about"]
        elif what == "address":
            known = peer.addresses.setdefault(fact["address"], {"source": fact["source"], "ok": 0.0})
            if fact["source"] == "connect":
                known.update(source="connect", ok=at)
        elif what == "park":
            peer.parked = fact["on"]
        elif what == "grant":       # role: issued, held or presented
            key = (grant_hash(fact["grant"]), fact["role"])
            self.grants[key] = {"grant": fact["grant"], "aud": fact["aud"]}
        elif what == "out":         # a reliable line of ours
            peer.outbox[fact["id"]] = fact
            peer.order.append(fact["id"])
            peer.parked = False
            self.ids.observe(fact["id"])
            if fact["t"] in ("msg", "state"):
                self._thread(peer, decode(fact["line"]), "mine", at)
            elif fact["t"] == "chunk":
                peer.sent.setdefault(fact["ref"], {"status": "queued", "name": fact["name"], "th": fact["th"]})
        elif what == "drop":        # lines that leave the outbox
            gone = [peer.outbox.pop(ident, {}) for ident in fact["ids"]]
            if not any("ref" in out for out in gone):
                return self.events.append(fact)
            left = {o["ref"] for o in peer.outbox.values() if o["t"] == "chunk"}
            for ref, file in peer.sent.items():
                if file["status"] == "queued" and ref not in left:
                    file["status"] = "expired" if fact["why"] == "expired" else "sent"
        elif what == "refused":     # the peer does not want a file of ours
            peer.sent[fact["ref"]]["status"] = "refused"
        elif what == "in":          # a reliable line of the peer
            line = decode(fact["line"])
            peer.received.add(line["id"])
            if line["t"] in ("msg", "state"):
                self._thread(peer, line, "theirs", at)
        elif what == "seen":
            peer.seen[fact["th"]] = (max(fact["id"], peer.seen.get(fact["th"], ("", 0))[0]), at)
        elif what == "file":        # what we know of a file that comes
            new = {"status": "pending", "next": 0, "got": 0, "size": None, "name": "", "th": ""}
            peer.files.setdefault(fact["ref"], new).update(
                {name: int(v) if isinstance(v, Number) else v for name, v in fact["set"].items()})
        self.events.append(fact)

    @staticmethod
    def _thread(peer, line, whose, at):
        thread = peer.threads.setdefault(line["th"], {
            "subject": "", "origin": "us" if whose == "mine" else "them",
            "mine": "open", "mine_note": "", "mine_since": at,
            "theirs": "open", "theirs_note": "", "theirs_since": at})
        thread["updated"] = at
        if line["t"] == "msg":
            subject = line.get("subject")
            thread["subject"] = thread["subject"] or (subject if isinstance(subject, str) else "")
        else:
            new = (line["state"], line["note"] if isinstance(line.get("note"), str) else "")
            if new != (thread[whose], thread[whose + "_note"]):
                thread[whose], thread[whose + "_note"] = new
                thread[whose + "_since"] = at

    # -- sending --

    def envelope(self, t, **fields):
        """A new line's members: type, id, time, then the rest."""
        now = time.time()
        return {"t": t, "id": self.ids.next(now), "ts": timestamp(now), **fields}

    def _queue(self, key, line):
        text = encode(line)
        if len(text.encode()) > MAX_LINE:
            raise Problem("the %s does not fit in a line of 1 MiB: send more as a file" % line["t"])
        self.record("out", key, t=line["t"], id=line["id"], th=line["th"], line=text)

    def send(self, key, parts, files=(), th=None, subject=None, reply_to=None):
        """Queues a message, its files' chunks ahead of it, §16. Returns id and thread."""
        if not parts and not files:
            raise Problem("nothing to send")
        copies = [self._copy(path) for path in files]
        with self.change():
            is_new = th is None
            th = th or "thr_" + "".join(random.SystemRandom().choices("abcdefghijkmnpqrstuvwxyz23456789", k=8))
            if is_new and subject is None:
                subject = derive_subject(parts, files)
            for ref, name, mime, size in copies:
                pieces = max(1, -(-size // CHUNK))
                for n in range(pieces):
                    head = self.envelope("chunk")
                    self.record("out", key, t="chunk", id=head["id"], ts=head["ts"], th=th,
                                ref=ref, name=name, n=n, last=n == pieces - 1)
                parts = parts + [{"k": "blob", "ref": ref, "name": name, "mime": mime, "size": size}]
            line = self.envelope("msg", th=th)
            if reply_to:
                line["re"] = reply_to
            if subject:
                line["subject"] = subject
            line["parts"] = parts
            self._queue(key, line)
        return line["id"], th

    def send_state(self, key, th, state, note=None):
        with self.change():
            if th not in self.peer(key).threads:
                raise Problem("no thread %s with that peer" % th)
            line = self.envelope("state", th=th, state=state)
            if note:
                line["note"] = note
            self._queue(key, line)
        return line["id"]

    def _copy(self, path):
        """Copies a file to send, so that its chunks stay the same whatever becomes of it."""
        if not os.path.isfile(path):
            raise Problem("%s is not a file" % path)
        with open(path, "rb") as f:
            data = f.read(self.blob_limit + 1)
        if len(data) > self.blob_limit:
            raise Problem("%s is larger than %d bytes" % (path, self.blob_limit))
        name = os.path.basename(path)
        mime = mimetypes.guess_type(name)[0]
        if mime is None:
            mime = "application/octet-stream" if b"\0" in data[:512] else "text/plain; charset=utf-8"
        ref = "b_" + Ids().next(time.time())
        os.makedirs(self.path("leaving"), 0o700, exist_ok=True)
        write_whole(self.path("leaving", ref), data)
        return ref, name, mime, len(data)

    def line_of(self, out):
        """The bytes of a line in the outbox, the same every time."""
        if out["t"] != "chunk":
            return out["line"].encode()
        with open(self.path("leaving", out["ref"]), "rb") as f:
            f.seek(int(out["n"]) * CHUNK)
            data = f.read(CHUNK)
        return encode({"t": "chunk", "id": out["id"], "ts": out["ts"], "th": out["th"], "ref": out["ref"],
                       "n": out["n"], "last": out["last"], "data": base64.b64encode(data).decode()}).encode()

    # -- what leaves the outbox, §8 --

    def acked(self, key, ident):
        """The cumulative rule: the acked line goes, and with it every earlier chunk and
        introduce of its thread. Nothing else is cumulative."""
        peer = self.peer(key)
        acked = peer.outbox.get(ident)
        if acked is None or acked["t"] not in ACKED:
            return
        gone = []
        for out in peer.outbox.values():
            if out is acked:
                break
            if out["th"] == acked["th"] and out["t"] in ("chunk", "introduce"):
                gone.append(out["id"])
        self._drop(key, gone + [ident], "acked")

    def resumed(self, key, seen):
        """The peer says what it has: per thread, everything up to an id."""
        gone = [out["id"] for out in self.peer(key).outbox.values()
                if ULID.fullmatch(seen.get(out["th"], "")) and out["id"] <= seen[out["th"]]]
        self._drop(key, gone, "seen")

    def expire(self, now):
        for key, peer in self.peers.items():
            old = itertools.takewhile(lambda out: float(out["at"]) < now - RETENTION, peer.outbox.values())
            self._drop(key, [out["id"] for out in old], "expired")

    def refused(self, key, ref):
        peer = self.peer(key)
        if peer.sent.get(ref, {}).get("status") == "queued":
            self.record("refused", key, ref=ref)
            self._drop(key, [i for i, o in peer.outbox.items() if o.get("ref") == ref], "refused")

    def _drop(self, key, ids, why):
        if not ids:
            return
        refs = {o["ref"] for o in self.peer(key).outbox.values() if "ref" in o}
        self.record("drop", key, ids=ids, why=why)
        for ref in refs:
            if self.peer(key).sent[ref]["status"] != "queued":
                self.after.append(lambda path=self.path("leaving", ref): remove(path))

    # -- receiving --

    def seen_map(self, key, now):
        """For our resume: threads of late, the newest first while a line has room."""
        seen, room = {}, MAX_LINE - 1024
        for th, (ident, at) in sorted(self.peer(key).seen.items(), key=lambda item: -item[1][1]):
            room -= len(encode([th, ident]).encode()) + 1
            if at < now - RETENTION or room < 0:
                break
            seen[th] = ident
        return seen

    def see(self, key, line):
        """Notes the largest id durably received of a thread. Never from acks."""
        th = line.get("th")
        if isinstance(th, str) and th and line["id"] > self.peer(key).seen.get(th, ("", 0))[0]:
            self.record("seen", key, th=th, id=line["id"])

    def take(self, key, line, raw, now):
        """Takes a msg, state, mirror, private or introduce. Returns the errs to answer
        with, nothing when the line is known already."""
        self.see(key, line)
        if line["id"] in self.peer(key).received:
            return []
        errs, marks = [], {}
        if line["t"] == "msg":
            for part in line.get("parts") or []:
                mime = part.get("mime")
                cap = REQUESTS.get(mime.strip().lower()) if isinstance(mime, str) else None
                if part.get("k") == "data" and cap:
                    marks[cap] = cap in self.capabilities(key, now)[1]
                    if not marks[cap]:
                        errs.append({"re": line["id"], "code": "forbidden", "detail": "no grant for " + cap})
        self.record("in", key, line=raw.decode(), allowed=marks)
        for part in line.get("parts") or [] if line["t"] == "msg" else []:
            if part.get("k") == "blob" and isinstance(part.get("ref"), str) and part["ref"]:
                errs += self._declare(key, line, part)
        return errs

    def _declare(self, key, line, part):
        """A message names a file, whose chunks may have come, or not yet."""
        ref, file = part["ref"], self.peer(key).files.get(part["ref"], {})
        if file.get("status", "pending") not in ("pending", "received") or file.get("size") is not None:
            return []
        size = read_count(part.get("size", Number("0")))
        name = part.get("name") if isinstance(part.get("name"), str) else ""
        self.record("file", key, ref=ref, set={"size": size, "name": name, "th": line["th"]})
        if not 0 <= size <= self.blob_limit or file.get("got", 0) > size:
            return self._refuse(key, ref, "its size", line["id"])
        if file.get("status") == "received":
            return self._complete(key, ref)
        return []

    def take_chunk(self, key, line):
        """Appends a chunk to its partial file, synced before the commit that counts it.
        A crash between the two is repaired by writing at the offset the journal has."""
        self.see(key, line)
        ref, peer = line["ref"], self.peer(key)
        file = peer.files.get(ref) or {"status": "pending", "next": 0, "got": 0, "size": None}
        if file["status"] not in ("pending", "received"):
            return []
        n, is_last = read_count(line.get("n", Number("0"))), line.get("last", False)
        if n < 0 or not isinstance(is_last, bool):
            return self._refuse(key, ref, "a malformed chunk")
        if file["status"] == "received" or n < file["next"]:
            return []
        if n > file["next"]:
            return self._refuse(key, ref, "a gap before chunk %d" % n)
        try:
            data = unb64(line.get("data", ""))
        except (ValueError, AttributeError):
            return self._refuse(key, ref, "bad base64")
        got = file["got"] + len(data)
        if got > (self.blob_limit if file["size"] is None else file["size"]):
            return self._refuse(key, ref, "more than was declared or is allowed")
        path = self._arriving(key, ref)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            if os.fstat(fd).st_size < file["got"]:
                return self._refuse(key, ref, "the partial file is damaged here")
            os.ftruncate(fd, file["got"])
            os.pwrite(fd, data, file["got"])
            os.fsync(fd)
        finally:
            os.close(fd)
        if n == 0:
            sync_directory(os.path.dirname(path))
        self.record("file", key, ref=ref, set={
            "next": file["next"] + 1, "got": got, "status": "received" if is_last else "pending"})
        if is_last and peer.files[ref]["size"] is not None:
            return self._complete(key, ref)
        return []

    def _arriving(self, key, ref):
        os.makedirs(self.path("arriving", short(key)), 0o700, exist_ok=True)
        return self.path("arriving", short(key), safe_ref(ref))

    def _final(self, key, ref):
        directory = self.path("files", short(key), safe_ref(ref))
        os.makedirs(directory, 0o700, exist_ok=True)
        return os.path.join(directory, safe(self.peer(key).files[ref]["name"] or "file"))

    def _complete(self, key, ref):
        """Data and message are here: the file gets its final path, in this transaction. It
        is a second name, and the first goes after the commit: were it moved, and the
        commit never came, the chunks that come again would find nothing to go on from."""
        file = self.peer(key).files[ref]
        if file["got"] != file["size"]:
            return self._refuse(key, ref, "%d bytes, not the declared %d" % (file["got"], file["size"]))
        path, final = self._arriving(key, ref), self._final(key, ref)
        remove(final)   # of an earlier try that was cut off before its commit
        os.link(path, final)
        sync_directory(os.path.dirname(final))
        self.after.append(lambda: remove(path))
        digest = hashlib.sha256()
        with open(final, "rb") as f:
            for block in iter(lambda: f.read(1 << 20), b""):
                digest.update(block)
        self.record("file", key, ref=ref, set={"status": "complete", "path": final, "sha256": digest.hexdigest()})
        return []

    def _refuse(self, key, ref, why, msg=None):
        self.record("file", key, ref=ref, set={"status": "refused", "why": why})
        self.after.append(lambda: remove(self._arriving(key, ref)))
        err = {"code": "blob_refused", "detail": why, "ref": ref}
        return [{"re": msg, **err} if msg else err]

    # -- grants, §13 --

    def keep_grant(self, grant, role, audience=None):
        if (grant_hash(grant), role) not in self.grants:
            self.record("grant", grant=grant, role=role, aud=audience)

    def valid_grants(self, now, *roles):
        """Yields (grant, issuer, subject, audience, capabilities, role)."""
        for (_, role), kept in self.grants.items():
            if role in roles:
                with contextlib.suppress(ValueError):
                    issuer, subject, audience, caps = check_grant(kept["grant"], now)
                    yield kept["grant"], issuer, subject, kept["aud"] or audience, caps, role

    def capabilities(self, key, now):
        """Whether any grant is honored for the peer, and what they allow together. Ours
        and those of keys we trust count whole. Somebody else's count only as far as he
        may introduce: one level, and never more than he himself was granted."""
        trust = self.trust | {self.key}
        ours = [g for g in self.valid_grants(now, "issued", "presented") if g[3] in (None, self.key)]
        honored, allowed = False, set()
        for _, issuer, subject, _, caps, role in ours:
            if subject != key:
                continue
            if role == "issued" or issuer in trust:
                honored, allowed = True, allowed | caps
                continue
            introducing = [g[4] for g in ours if g[2] == issuer and g[1] in trust and "introduce" in g[4]]
            if introducing:
                passed = set().union(*introducing) - {"introduce"}
                honored, allowed = True, allowed | (caps & passed)
        return honored, allowed

    def grants_to_present(self, key, now):
        return [g for g, issuer, _, audience, _, _ in self.valid_grants(now, "held") if key in (issuer, audience)]

    def wants_link(self, key, now):
        """Unfinished business, §9."""
        peer = self.peer(key)
        return not peer.parked and (bool(peer.outbox) or any(
            t["updated"] > now - RETENTION and not {t["mine"], t["theirs"]} & OVER for t in peer.threads.values()))


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def derive_subject(parts, files):
    for part in parts:
        if part["k"] == "text":
            first = part["text"].strip().split("\n")[0].strip()
            return first if len(first) <= 80 else first[:77] + "..."
    return os.path.basename(files[0]) if files else ""


# ---- addresses, §2 ---------------------------------------------------------------------

NEAR = [ipaddress.ip_network(n) for n in (
    "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
    "169.254.0.0/16", "fe80::/10", "100.64.0.0/10")]


def read_address(text):
    """Returns the canonical form of an address that we can dial or listen on."""
    kind, _, rest = text.partition(":")
    if rest.startswith("//"):
        rest = rest[2:]
    if kind == "unix" and rest.startswith("/"):
        return "unix:" + rest
    host, _, port = rest.rpartition(":")
    if kind == "tcp" and host and re.fullmatch("[0-9]{1,5}", port) and int(port) < 65536:
        return "tcp:" + rest
    raise Problem("%s is not an address: tcp:HOST:PORT or unix:/path" % text)


def _resolve(address):
    host, _, port = address[len("tcp:"):].rpartition(":")
    return socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)


def dial(address):
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(DIAL_WITHIN)
        sock.connect(address[len("unix:"):])
        return sock
    found = _resolve(address)
    if os.environ.get("AWP_ALLOW_PLAINTEXT") != "1":
        for *_, where in found:
            ip = ipaddress.ip_address(where[0].partition("%")[0])
            if not any(ip in network for network in NEAR):
                raise OSError("plain TCP beyond private networks is refused")
    family, kind, proto, _, where = found[0]
    sock = socket.socket(family, kind, proto)
    sock.settimeout(DIAL_WITHIN)
    sock.connect(where)
    return sock


def listen(address):
    """Returns a listening socket and its address, with the port it got."""
    if address.startswith("unix:"):
        path = address[len("unix:"):]
        if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
            with contextlib.suppress(ConnectionRefusedError), contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
                probe.settimeout(1)
                probe.connect(path)
                raise Problem(address + " is in use")
            os.unlink(path)
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(path)
    else:
        family, kind, proto, _, where = _resolve(address)[0]
        sock = socket.socket(family, kind, proto)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        address = "tcp:%s:%d" % (address[len("tcp:"):].rpartition(":")[0], sock.getsockname()[1])
    sock.listen(64)
    sock.setblocking(False)
    return sock, address


# ---- Link: one connection, §3, §7, §8, §10 ---------------------------------------------

class Link:
    """One connection. It moves through hello, auth and live, and ends in closing. What
    it decides it leaves in `control`; the loop writes that after the commit."""

    def __init__(self, node, sock, dialed=None, expect=None):
        self.node, self.store, self.sock = node, node.store, sock
        self.dialed, self.expect = dialed, expect   # the address, and whose it should be
        self.phase, self.key = "hello", None
        self.buffer, self.scanned = bytearray(), 0  # read, and searched for \n
        self.control, self.writing = [], b""        # lines to write first; bytes being written
        self.resumed = False                        # the peer's resume came: its outbox may go
        self.position = 0                           # in Peer.order
        self.granted = set()                        # hashes of grants sent as lines on this link
        self.bye_at = None
        self.opened = self.since = self.heard = self.pinged = time.monotonic()
        self.unanswered = 0
        self.deadline = self.opened + HANDSHAKE_WITHIN
        sock.setblocking(False)
        hello = self.store.envelope("hello", v=0, key=self.store.key, name=node.name,
                                    nonce=b64url(os.urandom(32)), caps=CAPS, about=node.about)
        if node.address:
            hello["addr"] = node.address
        self.our_hello = encode(hello).encode()
        self.control.append(self.our_hello)

    def put(self, t, **fields):
        line = self.store.envelope(t, **{n: v for n, v in fields.items() if v is not None})
        self.control.append(encode(line).encode())
        if len(self.control) > MAX_CONTROL:
            self.close("reads too slowly")

    def err(self, code, detail, re=None, ref=None):
        self.put("err", re=re, code=code, detail=detail, ref=ref)

    def fail(self, code, detail, re=None):
        """An err after which the connection ends: say it, shut our half, drain a moment
        so that the peer gets to read it."""
        if self.phase not in ("closing", "closed"):
            self.err(code, detail, re)
            self.node.say("failed", peer=self.key, code=code, detail=detail)
            self._end(DRAIN_WITHIN, code)

    def _end(self, within, why):
        self.phase, self.deadline = "closing", time.monotonic() + within
        self.node.gone(self, why)

    def close(self, why):
        """Ends the connection at once, without a word."""
        if self.phase == "closed":
            return
        self.control, self.writing, self.phase = [], b"", "closed"
        self.node.gone(self, why)
        self.node.forget(self)
        self.sock.close()

    # -- bytes --

    def readable(self):
        try:
            data = self.sock.recv(256 << 10)
        except BlockingIOError:
            return
        except OSError as e:
            return self.close(os.strerror(e.errno))
        if not data:
            return self.close("closed by the peer")   # a last line without \n is none
        if self.phase == "closing":
            return
        self.buffer += data
        while self.phase not in ("closing", "closed"):
            end = self.buffer.find(b"\n", self.scanned)
            if (len(self.buffer) if end < 0 else end) > MAX_LINE:
                return self.fail("too_large", "a line of more than 1 MiB")
            if end < 0:
                self.scanned = len(self.buffer)
                return
            raw = bytes(self.buffer[:end])
            del self.buffer[:end + 1]
            self.scanned = 0
            self.heard, self.unanswered = time.monotonic(), 0
            if raw.strip():
                self._line(raw)

    def flush(self):
        """Writes what may be written: control lines first, then the outbox in its order."""
        while self.phase != "closed":
            if len(self.writing) < 64 << 10:
                more, self.control = self.control, []
                out = self._next_out() if not more else None
                if out is not None:
                    more = [out]
                self.writing += b"".join(line + b"\n" for line in more)
            if not self.writing:
                break
            try:
                self.writing = self.writing[self.sock.send(self.writing):]
            except BlockingIOError:
                break
            except OSError as e:
                return self.close(os.strerror(e.errno))
        if self.phase == "closing" and not self.writing:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def _next_out(self):
        if self.phase != "live" or not self.resumed or self.bye_at:
            return None
        peer = self.store.peer(self.key)
        while self.position < len(peer.order):
            out = peer.outbox.get(peer.order[self.position])
            self.position += 1
            if out is not None:
                return self.store.line_of(out)
        return None

    # -- lines --

    def _line(self, raw):
        try:
            line = decode(raw)
        except ValueError as e:
            return self.fail("bad_frame", str(e))
        t = line.get("t")
        if not isinstance(t, str) or not t:
            return self.fail("bad_frame", "no type")
        if not self._well_formed(t, line):
            return self.fail("bad_frame", "a malformed " + t, line["id"] if isinstance(line.get("id"), str) else None)
        if self.phase == "live":
            if t in KNOWN - {"hello", "auth", "presence"}:
                getattr(self, "_on_" + t)(line, raw)
        elif t == "err":
            self.node.say("refused", address=self.dialed, code=line["code"], detail=line.get("detail"))
            self.close("err %s: %s" % (line["code"], line.get("detail")))
        elif t == self.phase:
            getattr(self, "_on_" + t)(line, raw)
        elif t in KNOWN - {"ping", "pong"}:
            self.fail("bad_frame" if self.phase == "hello" else "auth", "expected " + self.phase)

    @staticmethod
    def _well_formed(t, line):
        """The members without which a line of ours to judge means nothing, §10."""
        needs = {"msg": ("id", "th"), "state": ("id", "th", "state"), "chunk": ("id", "ref"), "mirror": ("id", "th", "of"),
                 "private": ("id", "th"), "introduce": ("id",), "err": ("code",)}
        if not all(isinstance(line.get(m), str) and line[m] for m in needs.get(t, ())):
            return False
        if t == "msg":
            parts = line.get("parts") or []
            return isinstance(parts, list) and all(isinstance(p, dict) for p in parts)
        shape = {"resume": "seen", "grant": "grant", "introduce": "peer"}.get(t)
        return not shape or isinstance(line.get(shape), dict) or t == "resume" and line.get("seen") is None

    # -- the handshake --

    def _on_hello(self, line, raw):
        if not isinstance(line.get("v", Number("0")), Number) or line.get("v", "0") != "0":
            return self.fail("version", "this peer speaks version 0", line.get("id"))
        try:
            self.their_key = read_key(line.get("key"))
        except ValueError:
            return self.fail("auth", "bad key", line.get("id"))
        if self.their_key == self.store.key:
            return self.fail("auth", "that is our own key", line.get("id"))
        self.their_hello, self.hello = raw, line
        proof = sign(self.store.seed, b"\0".join([AUTH_CONTEXT, self.our_hello, self.their_hello]))
        grants = self.store.grants_to_present(self.their_key, time.time())
        self.put("auth", sig=b64url(proof), grants=grants or None)
        self.phase = "auth"

    def _on_auth(self, line, raw):
        try:
            good = verify(key_bytes(self.their_key), b"\0".join([AUTH_CONTEXT, self.their_hello, self.our_hello]),
                          unb64(line["sig"]))
        except (ValueError, KeyError, AttributeError):
            good = False
        if not good:
            return self.fail("auth", "bad signature")
        now = time.time()
        key, hello = self.their_key, self.hello
        presented = line.get("grants") if isinstance(line.get("grants"), list) else []
        for grant in presented:
            with contextlib.suppress(ValueError):   # a bad grant fails no handshake
                if check_grant(grant, now)[1] == key:
                    self.store.keep_grant(grant, "presented")
        peer = self.store.peer(key)
        name, about = (hello.get(m) if isinstance(hello.get(m), str) else "" for m in ("name", "about"))
        if (name, about) != (peer.name, peer.about):
            self.store.record("peer", key, name=name, about=about)
        if self.expect and self.expect != key:
            return self.close("the address belongs to " + key)
        if self.dialed:
            self.store.record("address", key, address=self.dialed, source="connect")
        elif isinstance(hello.get("addr"), str) and hello["addr"] not in peer.addresses:
            with contextlib.suppress(Problem):
                self.store.record("address", key, address=read_address(hello["addr"]), source="hello")
        if not self.node.admits(key, self.dialed):
            self.node.say("turned away", peer=key, name=name)
            return self.fail("auth", "not admitted")
        self.key = key
        if not self.node.activate(self):
            return self.close("another connection goes on")
        if peer.parked:
            self.store.record("park", key, on=False)
        self.phase, self.since = "live", time.monotonic()
        self.deadline = self.since + RESUME_WITHIN
        self.put("resume", seen=self.store.seen_map(key, now))
        self.node.say("connected", peer=key, name=name, dialed=self.dialed)

    def dialer(self):
        return self.store.key if self.dialed else self.their_key

    def _on_resume(self, line, raw):
        if not self.resumed:   # a second one is ignored
            self.store.resumed(self.key, {th: i for th, i in (line["seen"] or {}).items() if isinstance(i, str)}
                               if "seen" in line else {})
            self._start()

    def _start(self):
        """The peer's resume is processed: the outbox may go, from its beginning."""
        self.resumed, self.position = True, 0
        self.pinged = time.monotonic() + 3 - PING_EVERY   # the first ping measures

    # -- live --

    def _on_msg(self, line, raw):
        """The ack stands in `control`, which is written after the commit and not before.
        After our bye nothing is said any more: what comes is kept, and acked next time."""
        errs = self.store.take(self.key, line, raw, time.time())
        if not self.bye_at:
            self.put("ack", th=line["th"], re=line["id"])
            for err in errs:
                self.put("err", **err)

    _on_state = _on_mirror = _on_private = _on_msg

    def _on_introduce(self, line, raw):
        """Somebody to talk to: remembered, never connected to on its own. Not acked."""
        self.store.take(self.key, line, raw, time.time())
        try:
            key = read_key(line["peer"].get("key"))
        except ValueError:
            return
        if key == self.store.key:
            return
        peer, name = self.store.peer(key), line["peer"].get("name")
        if not peer.name and isinstance(name, str):
            self.store.record("peer", key, name=name, about=peer.about)
        with contextlib.suppress(Problem, TypeError, AttributeError):
            address = read_address(line["peer"].get("address"))
            if address not in peer.addresses:
                self.store.record("address", key, address=address, source="introduce")
        with contextlib.suppress(ValueError):
            issuer, subject = check_grant(line.get("grant"), time.time())[:2]
            if issuer == self.key and subject == self.store.key:
                self.store.keep_grant(line["grant"], "held", audience=key)

    def _on_chunk(self, line, raw):
        for err in self.store.take_chunk(self.key, line):
            if not self.bye_at:
                self.put("err", **err)

    def _on_ack(self, line, raw):
        if isinstance(line.get("re"), str):
            self.store.acked(self.key, line["re"])

    def _on_grant(self, line, raw):
        with contextlib.suppress(ValueError):
            subject = check_grant(line["grant"], time.time())[1]
            if subject in (self.store.key, self.key):
                self.store.keep_grant(line["grant"], "held" if subject == self.store.key else "presented")

    def _on_ping(self, line, raw):
        if not self.bye_at:
            self.put("pong", re=line.get("id"))

    def _on_pong(self, line, raw):
        pass   # that something came was noted already

    def _on_err(self, line, raw):
        self.store.record("err", self.key, line=raw.decode())
        if line["code"] == "blob_refused" and isinstance(line.get("ref"), str):
            self.store.refused(self.key, line["ref"])
        if line["code"] in CLOSING_ERRS:
            self.close("err " + line["code"])

    def _on_bye(self, line, raw):
        self._park(True)
        if self.bye_at:
            return self.close("bye")
        self.put("bye", re=line.get("id"), reason=line.get("reason"))
        self._end(BYE_WITHIN, "bye")

    def _park(self, on):
        if self.store.peer(self.key).parked != on:
            self.store.record("park", self.key, on=on)

    # -- time --

    def tick(self, now):
        """What is due without anybody having written."""
        if self.phase != "live":
            if now > self.deadline:
                self.close("no end of the handshake" if self.phase != "closing" else "ended")
            return
        if self.bye_at:
            if now > self.bye_at + BYE_WITHIN:
                self.close("no answer to bye")
            return
        peer = self.store.peer(self.key)
        if peer.parked:           # `bye` at the command line
            self.put("bye", reason="done")
            self.bye_at = now
            return
        if not self.resumed and now > self.deadline:
            self._start()         # as if its seen were empty
        if self.resumed:          # grants of ours: no ack exists, so all of them on every link
            for grant, _, subject, audience, _, _ in self.store.valid_grants(time.time(), "issued"):
                if subject == self.key and not audience and grant_hash(grant) not in self.granted:
                    self.granted.add(grant_hash(grant))
                    self.put("grant", grant=grant)
        if now - self.pinged >= PING_EVERY and (now - self.heard >= 0.9 * PING_EVERY or self.pinged < self.since):
            if self.unanswered == 2:
                return self.close("no pong")
            self.unanswered += 1
            self.pinged = now
            self.put("ping")


# ---- Node: the loop, §9 and §12 --------------------------------------------------------

class Dial:
    """The attempts to reach one peer, or one address whose owner is not known yet."""

    def __init__(self, at):
        self.at, self.wait, self.todo, self.newest = at, 1, [], None


class Node:
    def __init__(self, store, name, about, listen_on=None, connect_to=(), accept="any", allow=()):
        self.store, self.name, self.about = store, name, about
        self.accept, self.allow, self.address = accept, {read_key(k) for k in allow}, None
        self.links, self.live = set(), {}      # every connection; the one per peer
        self.dials = {address: Dial(0) for address in connect_to}   # by address or key
        self.selector = selectors.DefaultSelector()
        fifo = store.path("kick")
        with contextlib.suppress(FileExistsError):
            os.mkfifo(fifo, 0o600)
        self.kick = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        self.selector.register(self.kick, selectors.EVENT_READ, "kick")
        if listen_on:
            self.listener, self.address = listen(listen_on)
            self.selector.register(self.listener, selectors.EVENT_READ, "listener")
            self.say("listening", address=self.address, key=store.key)

    def say(self, event, **fields):
        print(encode({"event": event, **{n: v for n, v in fields.items() if v is not None}}), flush=True)

    def run(self):
        while True:
            self.step()

    def step(self):
        now = time.monotonic()
        self._dial(now)
        for link in self.links:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.writing or link.control else 0)
            self.selector.modify(link.sock, wanted, link)
        ready = self.selector.select(0.5)
        try:
            with self.store.change():
                for chosen, events in ready:
                    if chosen.data == "kick":
                        os.read(self.kick, 4096)
                    elif chosen.data == "listener":
                        self._accept()
                    elif events & selectors.EVENT_READ and chosen.data in self.links:
                        chosen.data.readable()
                for link in list(self.links):
                    link.tick(time.monotonic())
                self.store.expire(time.time())
        except OSError as e:   # nothing of this round happened: say so, never ack
            for link in list(self.links):
                link.control = []
                link.fail("internal", os.strerror(e.errno or 0))
        for link in list(self.links):
            link.flush()

    def _accept(self):
        with contextlib.suppress(OSError):
            self._add(Link(self, self.listener.accept()[0]))

    def _add(self, link):
        self.links.add(link)
        self.selector.register(link.sock, selectors.EVENT_READ, link)

    def forget(self, link):
        self.links.discard(link)
        self.selector.unregister(link.sock)

    def gone(self, link, why):
        if self.live.get(link.key) is link:
            del self.live[link.key]
            self.say("disconnected", peer=link.key, why=why)

    def admits(self, key, dialed):
        if self.accept == "any" or dialed or key in self.allow | self.store.trust:
            return True
        if any(a["source"] == "connect" for a in self.store.peer(key).addresses.values()):
            return True
        return self.store.capabilities(key, time.time())[0]

    def activate(self, link):
        """One connection a peer: the newer replaces the older, unless both were dialed at
        once; then the one that the smaller key dialed stays, which both sides see alike."""
        self.dials.pop(link.key, None)
        self.dials.pop(link.dialed, None)
        old = self.live.get(link.key)
        if old:
            if time.monotonic() - old.since < TIE_WINDOW and old.dialer() < link.dialer():
                return False
            old.close("replaced by a newer connection")
        self.live[link.key] = link
        return True

    # -- dialling --

    def _dial(self, now):
        wall = time.time()
        for key, peer in self.store.peers.items():
            if key in self.live or not peer.addresses or not self.store.wants_link(key, wall):
                self.dials.pop(key, None)
                continue
            newest = peer.order[-1] if peer.order else None
            dial = self.dials.get(key)
            if dial is None:
                hinted = all(a["source"] == "hello" for a in peer.addresses.values())
                dial = self.dials[key] = Dial(now + (DIAL_BACK_GRACE if hinted and not peer.outbox else 0))
                dial.newest = newest
            elif dial.newest != newest:   # new work: try now
                dial.newest, dial.at, dial.wait = newest, min(dial.at, now), 1
        busy = {link.expect or link.dialed for link in self.links if link.dialed and link.phase in ("hello", "auth")}
        for whom, dial in self.dials.items():
            if whom not in busy and now >= dial.at:
                self._attempt(whom, dial, now)

    def _attempt(self, whom, d, now):
        is_key = whom.startswith("ed25519:")
        if not d.todo:
            d.todo = self._addresses(whom) if is_key else [whom]
        address = d.todo.pop(0)
        if not d.todo:   # the round is over: wait before the next
            d.at = now + d.wait * random.uniform(0.5, 1.5)
            d.wait = min(2 * d.wait, 60)
        try:
            self._add(Link(self, dial(address), address, whom if is_key else None))
        except (OSError, ValueError) as e:   # ValueError: a name or path that cannot be one
            self.say("unreachable", address=address, error=str(e))

    def _addresses(self, key):
        """Best first: what worked last, then by where we have it from, then the newest."""
        rank = {"connect": 0, "introduce": 1, "hello": 2}
        known = list(self.store.peer(key).addresses.items())[::-1]
        return [a for a, how in sorted(known, key=lambda k: (-k[1]["ok"], rank[k[1]["source"]]))]


# ---- commands --------------------------------------------------------------------------

def show(value):
    print(encode(value), flush=True)


def kick(store):
    """Tells a process that holds the links to look at the journal, if there is one."""
    with contextlib.suppress(OSError):
        fd = os.open(store.path("kick"), os.O_WRONLY | os.O_NONBLOCK)
        os.write(fd, b"k")
        os.close(fd)


def find_peer(store, who):
    with contextlib.suppress(ValueError):
        return read_key(who)
    found = [k for k, p in store.peers.items() if who == p.name or len(who) >= 4 and short(k).startswith(who)]
    if len(found) != 1:
        raise Problem("%s peer is called %s" % ("no" if not found else "more than one", who))
    return found[0]


def do_node(args, store):
    with open(store.path("lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem("a listen or connect runs on this directory already") from None
        address = read_address(args.address)
        on, to = (address, ()) if args.command == "listen" else (args.listen and read_address(args.listen), [address])
        with store.change():   # connecting takes back a bye
            for key, peer in store.peers.items():
                if peer.parked and set(to) & set(peer.addresses):
                    store.record("park", key, on=False)
        Node(store, args.name, args.about, on, to, args.accept, args.allow).run()


def do_send(args, store):
    key = find_peer(store, args.peer)
    parts = [{"k": "text", "text": " ".join(args.text)}] if args.text else []
    parts += [{"k": "data", "mime": args.mime, "data": decode('{"d":%s}' % d)["d"]} for d in args.data]
    ident, th = store.send(key, parts, args.file, args.th, args.subject, args.re)
    kick(store)
    until = time.monotonic() + args.wait
    while ident in store.peer(key).outbox and time.monotonic() < until:
        time.sleep(0.05)
        store.catch_up()
    show({"id": ident, "th": th, "peer": key, "acked": ident not in store.peer(key).outbox})


def do_state(args, store):
    key = find_peer(store, args.peer)
    show({"id": store.send_state(key, args.th, args.state, args.note), "th": args.th, "peer": key})
    kick(store)


def do_tail(args, store):
    """Prints the lines that came, and files that are complete; with --all everything."""
    shown = 0
    while True:
        for fact in store.events[shown:]:
            complete = fact["r"] == "file" and fact["set"].get("status") == "complete"
            if args.all or complete or fact["r"] == "in":
                event = {"event": fact["r"], "at": timestamp(float(fact["at"])), "peer": fact.get("k")}
                rest = {n: v for n, v in fact.items() if n not in ("r", "at", "k", "line", "set")}
                line = {"line": decode(fact["line"])} if "line" in fact else {}
                show({**event, **rest, **line, **fact.get("set", {})})
        shown = len(store.events)
        if not args.follow:
            return
        time.sleep(0.1)
        store.catch_up()


def do_status(args, store):
    show({"key": store.key, "peers": {key: {
        "name": p.name, "about": p.about, "parked": p.parked, "addresses": p.addresses, "outbox": len(p.outbox),
        "granted": sorted(store.capabilities(key, time.time())[1]), "threads": p.threads,
        "files": {"in": p.files, "out": p.sent}} for key, p in store.peers.items()}})


def do_grant(args, store):
    key = find_peer(store, args.peer)
    audience = read_key(args.aud) if args.aud else None
    grant = make_grant(store.seed, key, args.caps, args.ttl, time.time(), audience)
    with store.change():
        store.keep_grant(grant, "issued", audience)
    kick(store)
    show({"hash": grant_hash(grant), "grant": grant})


def do_grants(args, store):
    for (digest, role), kept in store.grants.items():
        show({"hash": digest, "role": role, "aud": kept["aud"], "grant": kept["grant"]})


def do_bye(args, store):
    key = find_peer(store, args.peer)
    with store.change():
        store.record("park", key, on=True)
    kick(store)
    show({"peer": key, "parked": True})


def main(argv=None):
    parser = argparse.ArgumentParser(description="An AWP v0 peer. Output is JSON, one object a line.")
    parser.add_argument("--dir", default=os.environ.get("AWP_PY_DIR", "awp-peer"), help="where everything is kept")
    parser.add_argument("--trust", action="append", default=[], metavar="KEY", help="honor grants of this key")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, run, text):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    for name, text in [("listen", "wait for peers, until killed"), ("connect", "connect to a peer and stay, until killed")]:
        sub = command(name, do_node, text)
        sub.add_argument("address", help="tcp:HOST:PORT or unix:/path")
        sub.add_argument("--name", default="awp-py@" + socket.gethostname())
        sub.add_argument("--about", default="")
        sub.add_argument("--accept", choices=["any", "allowlist"], default="any")
        sub.add_argument("--allow", action="append", default=[], metavar="KEY")
        if name == "connect":
            sub.add_argument("--listen", metavar="ADDRESS", help="listen, too")
    sub = command("send", do_send, "queue a message")
    sub.add_argument("peer")
    sub.add_argument("text", nargs="*")
    sub.add_argument("--th")
    sub.add_argument("--subject")
    sub.add_argument("--re")
    sub.add_argument("--file", action="append", default=[])
    sub.add_argument("--data", action="append", default=[], metavar="JSON")
    sub.add_argument("--mime", default="application/json", help="of the data")
    sub.add_argument("--wait", type=float, default=0, metavar="SECONDS", help="wait for the ack")
    sub = command("tail", do_tail, "print what came, from the beginning")
    sub.add_argument("--follow", action="store_true")
    sub.add_argument("--all", action="store_true", help="everything in the journal")
    sub = command("state", do_state, "tell the peer how a thread stands")
    for name in ("peer", "th", "state"):
        sub.add_argument(name)
    sub.add_argument("--note")
    command("status", do_status, "print key, peers, threads, files")
    sub = command("grant", do_grant, "sign a grant, and give it to the peer")
    sub.add_argument("peer")
    sub.add_argument("caps", nargs="*")
    sub.add_argument("--ttl", type=float, default=3600, metavar="SECONDS")
    sub.add_argument("--aud", metavar="KEY", help="who is to honor it, if not we")
    command("grants", do_grants, "print grants issued, held and presented")
    sub = command("bye", do_bye, "end the connection, and stay away until there is something to say")
    sub.add_argument("peer")
    args = parser.parse_args(argv)
    try:
        args.run(args, Store(args.dir, {read_key(k) for k in args.trust}))
    except (Problem, ValueError) as e:
        print("awp_peer: %s" % e, file=sys.stderr)
        return 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
