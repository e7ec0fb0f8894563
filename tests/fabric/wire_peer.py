# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The other end of a cable by UDP or Unix sockets: frames that are made byte by byte from docs/infiniband.md, right and wrong ones."""

import contextlib
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "guest/helpers"))
# pylint: disable=wrong-import-position
from ib_link import ETHERTYPE, icrc, vcrc

DATA, HELLO, CREDITS = 1, 2, 3
SESSION, MAC, GUID = 0x12345678, b"\x02peer!", 0x0002c903aaaa0000
BROADCAST = b"\xff" * 6


def shim(kind, body, session=SESSION, length=None, version=1, period=0):
    return struct.pack(">BBHI", version << 4 | kind, period, len(body) if length is None else length, session) + body


def frame(content, mac=MAC, ethertype=ETHERTYPE):
    return BROADCAST + mac + struct.pack(">H", ethertype) + content


def hello_body(heard, flags=2, mtu=4096, lanes=4):
    return struct.pack(">QIHBB", GUID, heard, mtu, flags, lanes)


def credit_body(lanes, flags=0, period=0, window=16320, number=8):
    """@lanes: (FCTBS, FCTBS when the period began, ABR, FCCL) of each."""
    body = struct.pack(">BBBBI", number, flags, period, 0, window) + b"".join(struct.pack(">4I", *lane) for lane in lanes)
    return body + vcrc(body)


def packet(dlid=1, slid=2, vl=0, payload=bytes(64), words=None, version=0):
    """From LRH to VCRC: a UD packet without a GRH, whose ICRC nobody looks at."""
    rest = struct.pack(">BBHII", 0x64, 0, 0xffff, 1, 0) + struct.pack(">II", 1, 1) + payload + bytes(4)
    data = struct.pack(">BBHHH", vl << 4 | version, 2, dlid, (8 + len(rest)) // 4 if words is None else words, slid) + rest
    return data + vcrc(data)


def directed(attribute, path=(1,)):
    """From LRH to VCRC: a Get of an attribute of subnet management, for the switch itself if @path has one hop."""
    mad = struct.pack(">BBBBHBBQHHI", 1, 0x81, 1, 1, 0, 1, len(path), 1, attribute, 0, 0).ljust(32, b"\0") + b"\xff" * 4
    mad = (mad.ljust(129, b"\0") + bytes(path)).ljust(256, b"\0")
    rest = struct.pack(">BBHII", 0x64, 0, 0xffff, 0, 0) + struct.pack(">II", 0, 0) + mad
    lower = struct.pack(">BBHHH", 15 << 4, 2, 0xffff, (8 + len(rest) + 4) // 4, 0xffff)
    data = lower + rest + icrc(lower, rest)
    return data + vcrc(data)


class WirePeer:
    """A peer by datagrams: @own and @peer, the process, are pairs of an address and a port."""

    def __init__(self, own, peer):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(own)
        self.sock.connect(peer)
        self.begin()

    def begin(self):
        self.sock.setblocking(False)
        self.heard, self.is_named = 0, False

    def read(self):
        """Return: frames that have come."""
        frames = []
        while True:
            try:
                frames.append(self.sock.recv(5000))
            except (BlockingIOError, ConnectionRefusedError):
                return frames

    def write(self, data):
        try:
            self.sock.send(data)
        except ConnectionRefusedError:
            pass

    def listen(self):
        """Look at the frames that have come. Hellos tell the session of the other end, and whether it knows this one."""
        for data in self.read():
            if data[14] & 0xf == HELLO:
                self.heard, self.is_named = struct.unpack_from(">I", data, 18)[0], struct.unpack_from(">I", data, 30)[0] == SESSION

    def send(self, content, **more):
        self.write(frame(content, **more))

    def hello(self, **more):
        self.send(shim(HELLO, hello_body(self.heard, **more)))

    def up(self, seconds=30):
        """Be a peer until the other end knows it."""
        start = time.monotonic()
        self.is_named = False
        while not self.is_named:
            assert time.monotonic() - start < seconds, "no hello names this end"
            self.listen()
            self.hello()
            time.sleep(0.02)
        # (the session may have come with that very hello)
        self.hello()

    def close(self):
        self.sock.close()


class UnixPeer(WirePeer):
    """A peer by Unix sockets, as QEMU's -netdev dgram is one: @own and @peer, the process, are paths."""

    def __init__(self, own, peer):
        self.sock, self.peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), peer
        Path(own).unlink(missing_ok=True)
        self.sock.bind(own)
        self.begin()

    def write(self, data):
        """Return: was there room? (Without a process, or with one that hears another, a frame is lost.)"""
        try:
            self.sock.sendto(data, self.peer)
        except BlockingIOError:
            return False
        except (ConnectionRefusedError, FileNotFoundError, PermissionError):
            pass
        return True
