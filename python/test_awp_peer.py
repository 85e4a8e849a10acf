"""Tests of awp_peer.py: python3 test_awp_peer.py"""
import base64
import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import awp_peer as awp

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "..", "wire", "testdata", "vectors.json"), encoding="utf-8") as f:
    VECTORS = json.load(f)
SEEDS = {name: awp.unb64(pair["seed"]) for name, pair in VECTORS["keys"].items()}
KEYS = {name: pair["key"] for name, pair in VECTORS["keys"].items()}
B = KEYS["B"]
NOW = 1_800_000_000.0


class InDirectory(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="awp")
        self.addCleanup(shutil.rmtree, self.dir)

    def store(self, **options):
        return awp.Store(os.path.join(self.dir, "a"), **options)


class TestVectors(unittest.TestCase):
    def test_keys(self):
        for name, seed in SEEDS.items():
            self.assertEqual(awp.spell_key(awp.public(seed)), KEYS[name])

    def test_auth(self):
        auth = VECTORS["auth"]
        a, b = auth["hello_a"].encode(), auth["hello_b"].encode()
        payload = b"\0".join([awp.AUTH_CONTEXT, a, b])
        self.assertEqual(len(payload), auth["payload_a_len"])
        self.assertEqual(hashlib.sha256(payload).hexdigest(), auth["payload_a_sha256"])
        self.assertEqual(awp.b64url(awp.sign(SEEDS["A"], payload)), auth["sig_a"])
        self.assertEqual(awp.b64url(awp.sign(SEEDS["B"], b"\0".join([awp.AUTH_CONTEXT, b, a]))), auth["sig_b"])
        self.assertTrue(awp.verify(awp.public(SEEDS["A"]), payload, awp.unb64(auth["sig_a"])))

    def test_canonical(self):
        want = VECTORS["canonical"]
        got = awp.canonical(awp.decode(json.dumps(want["value"])))
        self.assertEqual(got.decode(), want["bytes"])
        self.assertEqual(hashlib.sha256(got).hexdigest(), want["sha256"])

    def test_numbers_keep_their_text(self):
        self.assertEqual(awp.canonical(awp.decode('{"b":2.50,"a":1E+2,"c":-0}')), b'{"a":1E+2,"b":2.50,"c":-0}')

    def test_grants(self):
        for name in ("grant_plain", "grant_aud"):
            grant = awp.decode(json.dumps(VECTORS[name]["grant"]))
            self.assertEqual(awp.grant_hash(grant), VECTORS[name]["hash"])
            issuer, subject, audience, caps = awp.check_grant(grant, NOW)
            self.assertEqual((issuer, subject, audience), (grant["iss"], grant["sub"], grant.get("aud")))
            self.assertEqual(caps, set(grant["caps"]))
            unsigned = {n: v for n, v in grant.items() if n != "sig"}
            self.assertEqual(awp.canonical(unsigned).decode(), VECTORS[name]["canonical"])
            for change in ({"caps": ["admin"]}, {"sub": KEYS["A"]}, {"more": awp.Number("1")}, {"exp": "2001-01-01T00:00:00Z"}):
                with self.assertRaises(ValueError):
                    awp.check_grant({**grant, **change}, NOW)

    def test_presence(self):
        doc = awp.decode(VECTORS["presence"]["doc_wire"])
        sig = awp.unb64(doc.pop("sig"))
        self.assertEqual(awp.canonical(doc).decode(), VECTORS["presence"]["canonical"])
        self.assertTrue(awp.verify(awp.public(SEEDS["A"]), awp.canonical(doc), sig))


class TestEncodings(unittest.TestCase):
    def test_rfc8032(self):
        seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
        key, sig = awp.public(seed), awp.sign(seed, b"")
        self.assertEqual(key.hex(), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        self.assertEqual(sig.hex(), "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc"
                                    "61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
        self.assertFalse(awp.verify(key, b"x", sig))
        again = int.from_bytes(sig[32:], "little") + awp.ORDER   # the same signature, spelled otherwise
        self.assertFalse(awp.verify(key, b"", sig[:32] + again.to_bytes(32, "little")))
        self.assertFalse(awp.verify(b"\xff" * 32, b"", sig))

    def test_key_spellings(self):
        raw = awp.key_bytes(B)
        for spelling in (B, B + "=", "ed25519:" + base64.b64encode(raw).decode()):
            self.assertEqual(awp.read_key(spelling), B)
        for bad in (None, 5, "", "ed25519:", B[:-1], B + "A", "rsa:" + B[8:], B[:-1] + "é"):
            with self.assertRaises(ValueError):
                awp.read_key(bad)

    def test_what_is_no_line(self):
        for bad in (b"", b"[]", b"1", b'"x"', b"{", b"{}x", b'{"a":NaN}', b'{"a":1,"a":2}', b'{"a":"\xff"}',
                    b'{"a":"\\ud800"}', b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"a":' + b"[" * 600 + b"]" * 600 + b"}"):
            with self.assertRaises(ValueError, msg=bad[:40]):
                awp.decode(bad)

    def test_times(self):
        self.assertEqual(awp.timestamp(0.25), "1970-01-01T00:00:00.250Z")
        for text in ("1970-01-01T01:00:00.5+01:00", "1970-01-01t00:00:00.500z"):
            self.assertEqual(awp.read_time(text), 0.5)

    def test_ids_grow(self):
        ids, last = awp.Ids(), ""
        for now in (NOW, NOW, NOW + 1, NOW - 3600, NOW + 0.5):
            ident = ids.next(now)
            self.assertRegex(ident, awp.ULID)
            self.assertGreater(ident, last)
            last = ident


def text(words):
    return [{"k": "text", "text": words}]


class TestStore(InDirectory):
    def test_identity_stays(self):
        self.assertEqual(self.store().key, self.store().key)

    def test_ids_survive(self):
        with mock.patch("time.time", return_value=NOW):
            first, th = self.store().send(B, text("x"))
        with mock.patch("time.time", return_value=NOW - 86400):
            self.assertGreater(self.store().send(B, text("y"), th=th)[0], first)

    def test_torn_end(self):
        ident, th = self.store().send(B, text("kept"))
        path = os.path.join(self.dir, "a", "journal")
        whole = os.path.getsize(path)
        self.store().send(B, text("torn"), th=th)
        os.truncate(path, os.path.getsize(path) - 1)
        store = self.store()
        self.assertEqual((list(store.peer(B).outbox), os.path.getsize(path)), ([ident], whole))
        store.send(B, text("after"), th=th)
        self.assertEqual(len(self.store().peer(B).outbox), 2)

    def test_failed_commit_never_happened(self):
        store = self.store()
        ident, th = store.send(B, text("kept"))
        with mock.patch("os.write", side_effect=OSError(28, "full")), self.assertRaises(OSError):
            store.send(B, text("lost"), th=th)
        self.assertEqual(list(store.peer(B).outbox), [ident])

    def test_two_processes(self):
        one, other = self.store(), self.store()
        th = one.send(B, text("1"))[1]
        other.send(B, text("2"), th=th)
        one.send(B, text("3"), th=th)
        other.catch_up()
        self.assertEqual(one.peer(B).order, other.peer(B).order)
        self.assertEqual(one.peer(B).order, sorted(one.peer(B).order))

    def file(self, size):
        path = os.path.join(self.dir, "data.bin")
        with open(path, "wb") as f:
            f.write(os.urandom(size))
        return path

    def test_cumulative_rule(self):
        store = self.store()
        first, th = store.send(B, text("1"))
        with_file = store.send(B, text("2"), [self.file(600_000)], th=th)[0]
        elsewhere = store.send(B, text("3"), [self.file(5)])[0]
        self.assertEqual([o["t"] for o in store.peer(B).outbox.values()],
                         ["msg", "chunk", "chunk", "chunk", "msg", "chunk", "msg"])
        with store.change():
            store.acked(B, "unknown")
            store.acked(B, next(i for i, o in store.peer(B).outbox.items() if o["t"] == "chunk"))
            store.acked(B, with_file)
        left = list(store.peer(B).outbox)
        self.assertEqual((left[0], left[2], len(left)), (first, elsewhere, 3))
        self.assertEqual([f["status"] for f in store.peer(B).sent.values()], ["sent", "queued"])
        self.assertEqual(len(os.listdir(store.path("leaving"))), 1)

    def test_resume(self):
        store = self.store()
        th = store.send(B, text("1"))[1]
        second = store.send(B, text("2"), [self.file(5)], th=th)[0]
        other = store.send(B, text("3"))[0]
        with store.change():
            store.resumed(B, {th: "~ not an id of ours"})
        self.assertEqual(len(store.peer(B).outbox), 4)
        with store.change():
            store.resumed(B, {th: second, "thr_unknown": second})
        self.assertEqual(list(self.store().peer(B).outbox), [other])

    def test_line_of_a_chunk_is_the_same_every_time(self):
        store = self.store()
        path = self.file(5)
        store.send(B, [], [path])
        chunk = next(iter(store.peer(B).outbox.values()))
        line = store.line_of(chunk)
        os.unlink(path)
        again = self.store()
        self.assertEqual(again.line_of(next(iter(again.peer(B).outbox.values()))), line)

    def test_retention(self):
        store = self.store()
        store.send(B, text("1"), [self.file(5)])
        with store.change():
            store.expire(time.time() + awp.RETENTION + 1)
        self.assertEqual([f["status"] for f in self.store().peer(B).sent.values()], ["expired"])

    def test_too_large(self):
        with self.assertRaises(awp.Problem):
            self.store().send(B, text("x" * awp.MAX_LINE))
        self.assertEqual(len(self.store().peer(B).outbox), 0)

    def test_subject(self):
        self.assertEqual(awp.derive_subject(text("\n first \nsecond"), []), "first")
        self.assertEqual(awp.derive_subject(text("x" * 81), []), "x" * 77 + "...")
        self.assertEqual(awp.derive_subject([], ["/a/b.txt"]), "b.txt")


class TestFiles(InDirectory):
    def setUp(self):
        super().setUp()
        self.data, self.got, self.n = os.urandom(25), self.store(blob_limit=50), 0

    def chunk(self, n, data, last=False, ref="r/1"):
        self.n += 1
        line = {"t": "chunk", "id": "id%03d" % self.n, "th": "t", "ref": ref, "n": awp.Number(n), "last": last,
                "data": base64.b64encode(data).decode()}
        with self.got.change():
            return self.got.take_chunk(B, line)

    def message(self, size, ref="r/1", name="../a b.txt"):
        self.n += 1
        line = {"t": "msg", "id": "id%03d" % self.n, "th": "t",
                "parts": [{"k": "blob", "ref": ref, "name": name, "size": size}]}
        with self.got.change():
            return self.got.take(B, awp.decode(json.dumps(line)), json.dumps(line).encode(), NOW)

    def complete(self, ref="r/1"):
        file = self.store().peer(B).files[ref]
        self.assertEqual(file["status"], "complete")
        self.assertTrue(file["path"].startswith(os.path.join(self.dir, "a", "files")))
        self.assertEqual(os.path.basename(file["path"]), "b_.._a_b.txt")
        with open(file["path"], "rb") as f:
            self.assertEqual(f.read(), self.data)

    def test_any_order(self):
        for order in ((0, 1, 2, "msg"), ("msg", 0, 1, 2), (0, "msg", 1, 0, 2, 2, 1)):
            for step in order:
                errs = self.message(25, str(order)) if step == "msg" else self.chunk(
                    step, self.data[step * 10:step * 10 + 10], step == 2, str(order))
                self.assertEqual(errs, [])
            self.complete(str(order))
        self.assertEqual(self.got.peer(B).seen["t"][0], "id%03d" % self.n)

    def test_restart_in_the_middle(self):
        self.chunk(0, self.data[:10])
        part = self.got._arriving(B, "r/1")
        with open(part, "ab") as f:
            f.write(b"more, written before a crash and never committed")
        self.got = self.store(blob_limit=50)
        self.chunk(1, self.data[10:], True)
        self.message(25)
        self.complete()

    def test_crash_before_the_commit_of_everything(self):
        """The rest of the chunks and the message in one batch, which is lost once."""
        self.chunk(0, self.data[:10])
        for broken in (True, False):
            self.n = 1
            change, self.got.change = self.got.change, contextlib.nullcontext
            fail = mock.patch("os.write", side_effect=OSError(28, "full")) if broken else contextlib.nullcontext()
            with fail, self.assertRaises(OSError) if broken else contextlib.nullcontext(), change():
                self.chunk(1, self.data[10:20])
                self.chunk(2, self.data[20:], True)
                self.message(25)
            self.got = self.store(blob_limit=50)
        self.complete()
        self.assertEqual(os.listdir(os.path.join(self.dir, "a", "arriving", awp.short(B))), [])

    def test_partial_file_lost(self):
        self.chunk(0, self.data[:10])
        os.unlink(self.got._arriving(B, "r/1"))
        self.refused(self.chunk(1, self.data[10:], True))

    def test_crash_between_move_and_commit(self):
        self.message(25)
        with mock.patch("os.write", side_effect=OSError(28, "full")), self.assertRaises(OSError):
            self.chunk(0, self.data, True)
        self.got = self.store(blob_limit=50)
        self.assertEqual(self.chunk(0, self.data, True), [])
        self.complete()

    def test_crash_between_move_and_commit_of_the_message(self):
        self.chunk(0, self.data, True)
        with mock.patch("os.write", side_effect=OSError(28, "full")), self.assertRaises(OSError):
            self.message(25)
        self.got = self.store(blob_limit=50)
        self.assertEqual(self.message(25), [])
        self.complete()

    def refused(self, errs, ref="r/1"):
        self.assertEqual([(e["code"], e["ref"]) for e in errs], [("blob_refused", ref)])
        self.assertEqual(self.store().peer(B).files[ref]["status"], "refused")
        self.assertEqual(os.listdir(os.path.dirname(self.got._arriving(B, ref))), [])
        self.assertEqual(self.chunk(1, b"later", ref=ref), [])

    def test_refused(self):
        self.chunk(0, b"x")
        self.refused(self.chunk(2, b"gap"))
        self.refused(self.chunk(0, b"x" * 51, ref="2"), "2")
        self.message(5, "3")
        self.refused(self.chunk(0, b"x" * 6, ref="3"), "3")
        self.refused(self.message(51, "4"), "4")
        self.chunk(0, b"x" * 5, True, "5")
        self.refused(self.message(4, "5"), "5")
        self.message(5, "6")
        self.refused(self.chunk(0, b"x" * 4, True, "6"), "6")
        with self.got.change():
            errs = self.got.take_chunk(B, {"id": "x", "ref": "7", "data": "!"})
        self.refused(errs, "7")

    def test_refs_do_not_collide(self):
        self.assertEqual(len({awp.safe_ref(r) for r in ("a/b", "a_b", "a\\b", "x" * 200, "x" * 201, ".a", "b_.a", "", "..")}), 9)


class TestGrants(InDirectory):
    def grant(self, iss, sub, caps, aud=None):
        return awp.make_grant(SEEDS.get(iss) or self.s.seed, KEYS[sub], caps, 3600, time.time(), aud)

    def test_honoring(self):
        self.s = self.store(trust=[KEYS["A"]])
        for issued, presented, want in (
                ([], [], (False, set())),
                ([("me", "B", ["exec"])], [], (True, {"exec"})),
                ([], [("me", "B", ["exec"])], (True, {"exec"})),
                ([], [("A", "B", ["exec"])], (True, {"exec"})),
                ([], [("C", "B", ["exec"])], (False, set())),                         # nobody knows C
                ([("me", "C", ["exec"])], [("C", "B", ["exec"])], (False, set())),    # who may not introduce
                ([("me", "C", ["introduce"])], [("C", "B", ["exec"])], (True, set())),
                ([("me", "C", ["introduce", "exec"])], [("C", "B", ["exec", "admin"])], (True, {"exec"})),
                ([("me", "C", ["introduce", "exec"])], [("C", "B", ["introduce"])], (True, set())),
                ([], [("A", "C", ["introduce", "exec"]), ("C", "B", ["exec"])], (True, {"exec"})),
                ([("me", "B", ["exec"], KEYS["C"])], [], (False, set()))):            # for C to honor
            with self.subTest(issued=issued, presented=presented):
                self.s.grants = {}
                with self.s.change():
                    for role, grants in (("issued", issued), ("presented", presented)):
                        for grant in grants:
                            self.s.keep_grant(self.grant(*grant), role)
                self.assertEqual(self.s.capabilities(B, time.time()), want)
        self.assertEqual(self.s.capabilities(B, time.time() + 7200), (False, set()))

    def test_presented(self):
        self.s = self.store()
        with self.s.change():
            for_b = self.grant("B", "A", ["exec"])
            by_c = self.grant("C", "A", ["exec"], B)
            for grant in (for_b, by_c, self.grant("C", "A", ["exec"])):
                self.s.keep_grant(grant, "held")
        self.assertEqual(self.store().grants_to_present(B, time.time()), [for_b, by_c])


class Caller:
    """The other end of a Link: B, by hand, line by line."""

    def __init__(self, node, seed=SEEDS["B"]):
        self.node, self.seed, self.key = node, seed, awp.spell_key(awp.public(seed))
        self.sock, theirs = socket.socketpair()
        self.sock.setblocking(False)
        self.link = awp.Link(node, theirs)
        node._add(self.link)
        self.read, self.n = b"", 0

    def write(self, *lines):
        for line in lines:
            if isinstance(line, dict):
                self.n += 1
                line = json.dumps({"id": "x%04d" % self.n, "ts": "", **line}, ensure_ascii=False).encode()
            self.last = line
            self.write_bytes(line + b"\n")
        return self

    def write_bytes(self, data):
        while data:
            try:
                data = data[self.sock.send(data):]
            except BlockingIOError:
                self.node.step()
            except BrokenPipeError:
                return

    def lines(self):
        """What the node says to all that was written so far."""
        for _ in range(6):
            self.node.step()
            with contextlib.suppress(BlockingIOError, ConnectionResetError):
                self.read += self.sock.recv(1 << 22)
        whole, _, self.read = self.read.rpartition(b"\n")
        return [json.loads(line) for line in whole.split(b"\n") if line]

    def errs(self):
        return [line["code"] for line in self.lines() if line["t"] == "err"]

    def hello(self, **more):
        self.node.step()
        self.their_hello = self.sock.recv(1 << 20)[:-1]
        return self.write({"t": "hello", "v": 0, "key": self.key, "name": "b", "nonce": "bm9uY2U", "caps": [], **more})

    def auth(self, **more):
        proof = b"\0".join([awp.AUTH_CONTEXT, self.last, self.their_hello])
        return self.write({"t": "auth", "sig": awp.b64url(awp.sign(self.seed, proof)), **more})

    def up(self, seen=None):
        self.hello().auth()
        return self.write({"t": "resume", "seen": seen or {}}).lines()


class TestLink(InDirectory):
    def setUp(self):
        super().setUp()
        self.s = self.store()
        self.make()
        select = mock.patch.object(awp.selectors.DefaultSelector, "select", lambda s, timeout, f=awp.selectors.DefaultSelector.select: f(s, 0.01))
        select.start()
        self.addCleanup(select.stop)

    def make(self, **options):
        self.node = awp.Node(self.s, "a", "about", **options)
        self.node.say = lambda *args, **fields: None
        self.addCleanup(lambda node: [link.sock.close() for link in node.links], self.node)

    def test_handshake(self):
        caller = Caller(self.node)
        auth, resume = caller.up()
        self.assertEqual((auth["t"], resume["t"], resume["seen"]), ("auth", "resume", {}))
        self.assertNotIn("grants", auth)
        signed = b"\0".join([awp.AUTH_CONTEXT, caller.their_hello, caller.link.their_hello])
        self.assertTrue(awp.verify(awp.key_bytes(self.s.key), signed, awp.unb64(auth["sig"])))
        hello = json.loads(caller.their_hello)
        self.assertEqual((hello["v"], hello["key"], hello["caps"]), (0, self.s.key, awp.CAPS))
        self.assertIn(B, self.node.live)

    def test_tolerated(self):
        caller = Caller(self.node)
        caller.node.step()
        caller.their_hello = caller.sock.recv(1 << 20)[:-1]
        caller.write(b"", b" \r", {"t": "ping"}, {"t": "someday"})
        caller.write({"t": "hello", "key": B + "="})   # v missing counts as 0, and so does padding
        hello = caller.last
        caller.write({"t": "pong"})
        caller.last = hello
        caller.auth().write({"t": "resume", "seen": None}, {"t": "someday"}, {"t": "presence"}, {"t": "ping", "id": "p"})
        self.assertEqual([(l["t"], l.get("re")) for l in caller.lines()], [("auth", None), ("resume", None), ("pong", "p")])

    def test_refused(self):
        auth = {"t": "auth", "sig": awp.b64url(bytes(64))}
        for name, want, lines in (
                ("version", "version", [{"t": "hello", "v": 1, "key": B}]),
                ("bad key", "auth", [{"t": "hello", "v": 0, "key": "ed25519:AAAA"}]),
                ("own key", "auth", [{"t": "hello", "v": 0, "key": self.s.key}]),
                ("no hello", "bad_frame", [{"t": "msg", "th": "t", "parts": []}]),
                ("auth first", "bad_frame", [auth]),
                ("no auth", "auth", [{"t": "hello", "v": 0, "key": B}, {"t": "msg", "th": "t", "parts": []}]),
                ("two hellos", "auth", [{"t": "hello", "v": 0, "key": B}, {"t": "hello", "v": 0, "key": B}]),
                ("bad signature", "auth", [{"t": "hello", "v": 0, "key": B}, auth]),
                ("no JSON", "bad_frame", [b"GET / HTTP/1.1"]),
                ("no type", "bad_frame", [b"{}"]),
                ("too large", "too_large", [b" " * (awp.MAX_LINE + 1)])):
            with self.subTest(name):
                caller = Caller(self.node)
                said = caller.write(*lines).lines()
                self.assertEqual([l["code"] for l in said if l["t"] == "err"], [want])
                self.assertIn(caller.link.phase, ("closing", "closed"))
                if name == "version":
                    self.assertNotIn("auth", [l["t"] for l in said])
        self.assertEqual(self.node.live, {})
        self.assertEqual(self.s.peers, {})

    def test_too_large_before_its_end(self):
        caller = Caller(self.node)
        caller.up()
        caller.write_bytes(b"x" * (awp.MAX_LINE + 1))
        self.assertEqual(caller.errs(), ["too_large"])

    def test_a_line_of_just_1_mib(self):
        caller = Caller(self.node)
        caller.up()
        line = {"t": "msg", "id": "big", "th": "t", "parts": text("")}
        line["parts"][0]["text"] = "x" * (awp.MAX_LINE - len(json.dumps({"ts": "", **line})))
        raw = json.dumps({"ts": "", **line}).encode()
        self.assertEqual(len(raw), awp.MAX_LINE)
        caller.write(raw)
        self.assertEqual([l["re"] for l in caller.lines() if l["t"] == "ack"], ["big"])

    def test_malformed(self):
        for line in ({"t": "msg", "th": ""}, {"t": "msg", "th": "t", "parts": 5}, {"t": "state", "th": "t"}, {"t": "chunk", "th": "t"},
                     {"t": "mirror", "th": "t"}, {"t": "private"}, {"t": "resume", "seen": 1}, {"t": "grant"}, {"t": "err"}):
            with self.subTest(line=line):
                caller = Caller(self.node)
                caller.hello().auth()
                self.assertEqual(caller.write(line).errs(), ["bad_frame"])

    def test_ack_and_duplicates(self):
        caller = Caller(self.node)
        caller.up()
        lines = [{"t": "msg", "id": "m", "th": "t", "parts": text("hi")}, {"t": "state", "id": "s", "th": "t", "state": "odd"},
                 {"t": "private", "id": "p", "th": "t"}, {"t": "mirror", "id": "r", "th": "u", "of": "x"}]
        acks = caller.write(*lines, *lines).lines()
        self.assertEqual([(l["t"], l["re"], l["th"]) for l in acks], 2 * [("ack", l["id"], l["th"]) for l in lines])
        self.assertEqual(len({l["id"] for l in acks}), 8)
        self.assertEqual([e["r"] for e in self.s.events].count("in"), 4)
        self.assertEqual(self.s.seen_map(B, time.time()), {"t": "s", "u": "r"})
        self.assertEqual(Caller(self.node).up()[1]["seen"], {"t": "s", "u": "r"})

    def test_no_ack_without_commit(self):
        caller = Caller(self.node)
        caller.up()
        with mock.patch("os.fsync", side_effect=OSError(5, "broken")):
            said = caller.write({"t": "msg", "th": "t", "parts": []}).lines()
        self.assertEqual([(l["t"], l["code"]) for l in said], [("err", "internal")])
        self.assertIn(caller.link.phase, ("closing", "closed"))

    def test_replay(self):
        first, th = self.s.send(B, text("1"))
        second = self.s.send(B, text("2"), th=th)[0]
        caller = Caller(self.node)
        caller.hello().auth()
        self.assertEqual([l["t"] for l in caller.lines()], ["auth", "resume"])   # nothing before the peer's resume
        caller.write({"t": "resume", "seen": {th: first}})
        self.assertEqual([l["id"] for l in caller.lines()], [second])
        caller.write({"t": "resume", "seen": {th: second}})                      # a second one is ignored
        self.assertEqual((caller.lines(), len(self.s.peer(B).outbox)), ([], 1))
        again = Caller(self.node)
        self.assertEqual([l["id"] for l in again.up()[2:]], [second])
        again.write({"t": "ack", "th": th, "re": second}).lines()
        self.assertEqual(list(self.store().peer(B).outbox), [])

    def test_peer_without_resume(self):
        ident = self.s.send(B, text("1"))[0]
        caller = Caller(self.node)
        caller.hello().auth().lines()
        caller.link.deadline = 0
        self.assertEqual([l["id"] for l in caller.lines()], [ident])

    def test_requests(self):
        caller = Caller(self.node)
        caller.up()
        request = {"t": "msg", "th": "t", "parts": [{"k": "data", "mime": " application/vnd.AWP.exec+json", "data": {}}]}
        self.assertEqual([l.get("code") for l in caller.write(request).lines()], [None, "forbidden"])
        with self.s.change():
            self.s.keep_grant(awp.make_grant(self.s.seed, B, ["exec"], 60, time.time()), "issued")
        self.assertEqual([l["t"] for l in caller.write(request).lines()], ["ack", "grant"])
        self.assertEqual([e["allowed"] for e in self.s.events if e["r"] == "in"], [{"exec": False}, {"exec": True}])

    def test_grants(self):
        self.s = self.store()
        self.make(accept="allowlist")
        mine = awp.make_grant(self.s.seed, B, [], 60, time.time())
        for grants, want in (([], ["auth"]), ([{**mine, "caps": ["exec"]}, 5, {}], ["auth"]), ([mine], [])):
            caller = Caller(self.node)
            caller.hello().auth(grants=grants)
            self.assertEqual(caller.errs(), want)
        held = awp.make_grant(SEEDS["B"], self.s.key, ["exec"], 60, time.time())
        caller.write({"t": "grant", "grant": held}, {"t": "grant", "grant": {"iss": 1}}).lines()
        self.assertEqual(Caller(self.node).up()[0]["grants"], [held])

    def test_introduce(self):
        caller = Caller(self.node)
        caller.up()
        line = {"t": "introduce", "th": "t", "peer": {"key": KEYS["C"], "name": "c", "address": "unix:/c"},
                "grant": awp.make_grant(SEEDS["B"], self.s.key, ["exec"], 60, time.time(), KEYS["C"])}
        self.assertEqual(caller.write(line, {**line, "peer": {"key": "odd"}}, {**line, "peer": {"key": self.s.key}}).lines(), [])
        peer = self.s.peer(KEYS["C"])
        self.assertEqual((peer.name, list(peer.addresses)), ("c", ["unix:/c"]))
        self.assertEqual(len(self.s.grants_to_present(KEYS["C"], time.time())), 1)

    def test_bye_from_the_peer(self):
        caller = Caller(self.node)
        caller.up()
        said = caller.write({"t": "bye", "id": "z", "reason": "why"}).lines()
        self.assertEqual([(l["t"], l["re"], l["reason"]) for l in said], [("bye", "z", "why")])
        self.assertTrue(self.store().peer(B).parked)
        self.s.send(B, text("something to say"))
        self.assertFalse(self.store().peer(B).parked)

    def test_bye_from_us(self):
        caller = Caller(self.node)
        caller.up()
        with self.s.change():
            self.s.record("park", B, on=True)
        said = caller.lines() + caller.write({"t": "msg", "id": "m", "th": "t", "parts": []}, {"t": "ping"}).lines()
        self.s.send(B, text("later"))
        said += caller.lines()
        self.assertEqual([l["t"] for l in said], ["bye"])                     # not even an ack after it
        self.assertEqual(self.s.seen_map(B, time.time()), {"t": "m"})         # but it is kept
        caller.write({"t": "bye"}).lines()
        self.assertEqual(self.node.links, set())

    def test_blob_refused_by_the_peer(self):
        path = os.path.join(self.dir, "f")
        with open(path, "wb") as f:
            f.write(b"x")
        ident = self.s.send(B, [], [path])[0]
        ref = next(iter(self.s.peer(B).sent))
        caller = Caller(self.node)
        caller.up()
        caller.write({"t": "err", "code": "blob_refused", "ref": ref}, {"t": "err", "code": "odd"}).lines()
        self.assertEqual(self.s.peer(B).sent[ref]["status"], "refused")
        self.assertEqual(list(self.s.peer(B).outbox), [ident])
        self.assertEqual(caller.link.phase, "live")

    def test_silence(self):
        caller = Caller(self.node)
        caller.up()
        for want in (["ping"], ["ping"], []):
            caller.link.pinged -= 31
            caller.link.heard -= 31
            self.assertEqual([l["t"] for l in caller.lines()], want)
        self.assertEqual(caller.link.phase, "closed")

    def test_newer_replaces_older(self):
        old = Caller(self.node)
        old.up()
        Caller(self.node).up()
        self.assertEqual((old.link.phase, len(self.node.links)), ("closed", 1))

    def test_dialed_at_once(self):
        """Of two that were dialed at once, the one that the smaller key dialed stays."""
        for old_dialer, new_dialer, goes_on in ((self.s.key, B, "smaller"), (B, self.s.key, "smaller")):
            old, new = (mock.Mock(key=B, since=time.monotonic(), dialed=None, **{"dialer.return_value": d})
                        for d in (old_dialer, new_dialer))
            self.node.live = {B: old}
            self.assertEqual(self.node.activate(new), new_dialer < old_dialer)
            old.since -= 6
            self.node.live = {B: old}
            self.assertTrue(self.node.activate(new))


class TestProcesses(InDirectory):
    def test_kill(self):
        """Two processes, each killed while a message with a file is on its way."""
        address, running = "unix:" + os.path.join(self.dir, "s"), {}
        run = [sys.executable, "-B", os.path.join(HERE, "awp_peer.py"), "--dir"]
        data = os.path.join(self.dir, "data.bin")
        with open(data, "wb") as f:
            f.write(os.urandom(3_000_000))

        def start(side):
            what = ["listen"] if side == "a" else ["connect"]
            running[side] = subprocess.Popen(run + [os.path.join(self.dir, side)] + what + [address], stdout=subprocess.DEVNULL)

        def stop(side):
            running[side].kill()
            running[side].wait()

        stores = {side: awp.Store(os.path.join(self.dir, side)) for side in "ab"}
        for side in "ab":
            start(side)
            self.addCleanup(stop, side)
        sent = []
        for n, victim in enumerate("abab"):
            sent.append(stores["a"].send(stores["b"].key, text(str(n)), [data])[0])
            time.sleep(0.05 * n)
            stop(victim)
            start(victim)
        until = time.monotonic() + 60
        while stores["a"].peer(stores["b"].key).outbox and time.monotonic() < until:
            time.sleep(0.1)
            stores["a"].catch_up()
        stores["b"].catch_up()
        got = [awp.decode(e["line"])["id"] for e in stores["b"].events if e["r"] == "in"]
        self.assertEqual(got, sent)
        with open(data, "rb") as f:
            want = hashlib.sha256(f.read()).hexdigest()
        files = stores["b"].peer(stores["a"].key).files.values()
        self.assertEqual([(f["status"], f["sha256"]) for f in files], 4 * [("complete", want)])

    def test_commands(self):
        def run(*args):
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
                code = awp.main(["--dir", os.path.join(self.dir, "a"), *args])
            return code, [json.loads(line) for line in out.getvalue().splitlines()]

        code, (sent,) = run("send", B, "hello", "world", "--data", '{"a":1.50}')
        self.assertEqual((code, sent["acked"]), (0, False))
        self.assertEqual(run("state", B, sent["th"], "working", "--note", "on it")[0], 0)
        self.assertEqual(run("state", B, "thr_none", "working")[0], 1)
        self.assertEqual(run("send", "nobody", "x")[0], 1)
        self.assertEqual(run("send", B)[0], 1)
        self.assertEqual(run("listen", "http://x")[0], 1)
        self.assertEqual(run("grant", B, "exec")[1][0]["grant"]["sub"], B)
        self.assertEqual([g["role"] for g in run("grants")[1]], ["issued"])
        self.assertEqual(run("tail")[1], [])
        self.assertEqual([e["event"] for e in run("tail", "--all")[1]], ["out", "out", "grant"])
        (status,) = run("status")[1]
        self.assertEqual(status["peers"][B]["threads"][sent["th"]]["mine"], "working")
        run("bye", B)
        self.assertTrue(run("status")[1][0]["peers"][B]["parked"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
