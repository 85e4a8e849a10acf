"""Asks a peer how it reads what the protocol's description leaves open: for each question
one connection, and one line of JSON that says what came back. See doc/protocol-notes.md.

usage: readings.py ADDRESS
"""
import base64
import json
import os
import socket
import sys
import time

import awp_peer as awp


class Caller:
    """A stranger with a key of its own, and a line to the peer."""

    def __init__(self, seed=None):
        self.seed = seed or os.urandom(32)
        self.key = awp.spell_key(awp.public(self.seed))
        self.sock = awp.dial(sys.argv[1])
        self.buffer, self.n = b"", 0
        self.theirs = self.read()

    def read(self, within=5):
        """The next line; nothing when none comes in time; "closed" at the end."""
        self.sock.settimeout(within)
        while b"\n" not in self.buffer:
            try:
                data = self.sock.recv(1 << 20)
            except socket.timeout:
                return None
            except OSError:
                return b"closed"
            if not data:
                return b"closed"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def line(self, t, **members):
        self.n += 1
        members = {"t": t, "id": "x%04d" % self.n, "ts": "2026-01-01T00:00:00Z", **members}
        return json.dumps({name: value for name, value in members.items() if value is not None}).encode()

    def write(self, *lines):
        self.sock.sendall(b"".join(line + b"\n" for line in lines))
        return self

    def hello(self, raw=None, **members):
        self.ours = raw or self.line("hello", **{"v": 0, "key": self.key, "name": "x", "nonce": awp.b64url(os.urandom(32)),
                                                 "caps": [], **members})
        return self.write(self.ours)

    def auth(self):
        proof = b"\0".join([awp.AUTH_CONTEXT, self.ours, self.theirs])
        return self.write(self.line("auth", sig=awp.b64url(awp.sign(self.seed, proof))))

    def up(self, seen=None):
        return self.hello().auth().write(self.line("resume", seen=seen or {}))

    def heard(self):
        """What the peer says, up to its ack of one more message, or the end."""
        end = self.line("msg", **msg("the end"))
        self.write(end)
        said, until = [], time.monotonic() + 5
        while time.monotonic() < until:
            raw = self.read(until - time.monotonic())
            if raw in (None, b"closed"):
                return said + ([raw.decode()] if raw else [])
            line = json.loads(raw)
            if line["t"] == "ack" and line["re"] == json.loads(end)["id"]:
                return said
            if line["t"] not in ("auth", "resume"):
                said.append(" ".join([line["t"]] + [line[m] for m in ("code",) if m in line]))
        return said


def msg(th="t", parts=(), **members):
    return {"th": th, "parts": list(parts), **members}


def chunk(c, ref, **members):
    return c.line("chunk", ref=ref, **{"th": "t", "data": base64.b64encode(b"12345").decode(), **members})


def blob(c, ref, size):
    return c.line("msg", **msg(parts=[{"k": "blob", "ref": ref, "name": "f", "size": size}]))


def live(*lines):
    """A question about lines on a live connection. Each is bytes, or makes them."""
    c = Caller().up()
    c.heard()
    for line in lines:
        c.write(line(c) if callable(line) else line)
    return c.heard()


def greet(**members):
    c = Caller()
    c.hello(**members).auth().write(c.line("resume", seen={}))
    return c.heard()


def before_hello(line):
    c = Caller()
    c.write(line).hello().auth().write(c.line("resume", seen={}))
    return c.heard()


def before_auth(line):
    c = Caller()
    c.hello().write(line).auth().write(c.line("resume", seen={}))
    return c.heard()


def bye():
    c = Caller().up()
    c.heard()
    c.write(c.line("bye", reason="why"))
    said = [c.read(), c.read()]
    return [json.loads(said[0])[m] for m in ("t", "reason")] + [(said[1] or b"open").decode()]


def padded():
    """The same key, spelled in two ways: is it one peer? It is when the msg is known."""
    c = Caller().up()
    c.write(c.line("msg", **msg(id="same"))).heard()
    d = Caller(c.seed)
    d.hello(key=d.key + "=").auth()
    while True:
        raw = d.read()
        if raw in (None, b"closed") or json.loads(raw)["t"] == "err":
            return ["refused"]
        if json.loads(raw)["t"] == "resume":
            return ["one peer" if json.loads(raw)["seen"] else "two peers"]


def line(t, **members):
    return lambda c: c.line(t, **members)


def in_msg(text):
    return b'{"t":"msg","id":"i","ts":"","th":"t","parts":[{"k":"data","data":' + text + b"}]}"


QUESTIONS = {
    "a blank line": lambda: live(b"", b"\r"),
    "an object without t": lambda: live(b"{}"),
    "a member twice": lambda: live(b'{"t":"msg","id":"a","id":"b","ts":"","th":"t","parts":[]}'),
    "half a surrogate pair": lambda: live(in_msg(b'"\\ud800"')),
    "300 levels": lambda: live(in_msg(b"[" * 300 + b"]" * 300)),
    "600 levels": lambda: live(in_msg(b"[" * 600 + b"]" * 600)),
    "a ping before hello": lambda: before_hello(b'{"t":"ping","id":"a","ts":""}'),
    "an unknown type before hello": lambda: before_hello(b'{"t":"someday","id":"a","ts":""}'),
    "a ping between hello and auth": lambda: before_auth(b'{"t":"ping","id":"a","ts":""}'),
    "an unknown type between hello and auth": lambda: before_auth(b'{"t":"someday","id":"a","ts":""}'),
    "hello without v": lambda: greet(v=None),
    "hello with v as a string": lambda: greet(v="0"),
    "hello with v 0.0": lambda: greet(v=0.0),
    "hello without name and caps": lambda: greet(name=None, caps=None),
    "a key with padding": padded,
    "a second hello": lambda: live(line("hello", v=0, key="x")),
    "a second resume": lambda: live(line("resume", seen={})),
    "seen that is no id": lambda: live(line("resume", seen={"t": 5})),
    "a bye": bye,
    "an empty id": lambda: live(line("msg", **msg(id=""))),
    "an id of 2000 bytes": lambda: live(line("msg", **msg(id="x" * 2000))),
    "a msg without parts": lambda: live(b'{"t":"msg","id":"i","ts":"","th":"t"}'),
    "a part that is no object": lambda: live(line("msg", **msg(parts=[5]))),
    "a part without k": lambda: live(line("msg", **msg(parts=[{}]))),
    "a subject that is no string": lambda: live(line("msg", **msg(subject=5))),
    "a ping without id": lambda: live(b'{"t":"ping","ts":""}'),
    "an ack without re": lambda: live(b'{"t":"ack","id":"i","ts":""}'),
    "a second chunk without n": lambda: live(lambda c: chunk(c, "a", n=0), lambda c: chunk(c, "a", last=True), lambda c: blob(c, "a", 10)),
    "a gap between chunks": lambda: live(lambda c: chunk(c, "b", n=1)),
    "a chunk with n -1": lambda: live(lambda c: chunk(c, "c", n=-1)),
    "a chunk with n 0.5": lambda: live(lambda c: chunk(c, "c", n=0.5)),
    "a chunk without th": lambda: live(lambda c: chunk(c, "d", th=None)),
    "bad base64": lambda: live(lambda c: chunk(c, "e", data="!")),
    "a chunk of a refused file": lambda: live(lambda c: chunk(c, "f", n=1), lambda c: chunk(c, "f", n=2)),
    "less than declared, msg first": lambda: live(lambda c: blob(c, "g", 6), lambda c: chunk(c, "g", last=True)),
    "less than declared, chunks first": lambda: live(lambda c: chunk(c, "h", last=True), lambda c: blob(c, "h", 6)),
    "more than declared, chunks first": lambda: live(lambda c: chunk(c, "i", last=True), lambda c: blob(c, "i", 4)),
    "a negative size": lambda: live(lambda c: blob(c, "j", -1)),
}

for name, ask in QUESTIONS.items():
    print(json.dumps({"question": name, "answer": ask()}), flush=True)
