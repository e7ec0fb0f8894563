# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The other end of an InfiniBand port on Ethernet (docs/infiniband.md): packets that are
made byte by byte, sent from the netdev of its peer, in the peer's name."""

import os
import socket
import struct
import time
import zlib

ETHERTYPE, DATA, HELLO, BATCH = 0x88b5, 1, 2, 4
UD_SEND_ONLY, RC_SEND_ONLY = 0x64, 0x04
GSI_QKEY, MULTICAST = 0x80010000, 0xffffff


def of_byte(state):
    for _ in range(8):
        state = state >> 1 ^ (0xd008 if state & 1 else 0)
    return state


VCRC = [of_byte(byte) for byte in range(256)]


def vcrc(data):
    state = 0xffff
    for byte in data:
        state = state >> 8 ^ VCRC[(state ^ byte) & 0xff]
    return struct.pack("<H", ~state & 0xffff)


def icrc(lower, rest):
    masked = bytearray(lower)
    if len(lower) == 8:
        masked[0] |= 0xf0
    else:
        masked[:8] = b"\xff" * 8
        masked[8] |= 0x0f
        masked[9:12] = b"\xff" * 3
        masked[15] = 0xff
    rest = bytearray(rest)
    rest[4] = 0xff
    return struct.pack("<I", zlib.crc32(masked + rest))


class Link:
    """NETDEV is the peer's, DEVICE the port that is tested."""

    def __init__(self, netdev, device):
        self.port = f"/sys/class/infiniband/{device}/ports/1/"
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.bind((netdev, 3))
        self.sock.settimeout(60)
        self.mac = self.sock.getsockname()[4]
        self.lid = self.attribute("lid")
        self.peer, self.own = self._sessions()

    def attribute(self, name):
        with open(self.port + name, encoding="ascii") as file:
            return int(file.read(), 0)

    def packet(self, dlid=None, vl=0, dqpn=1, dgid=None, payload=bytes(256),
               opcode=UD_SEND_ONLY, qkey=GSI_QKEY, pkey=0xffff, slid=2, sqpn=1, mig=0, psn=0,
               spoil_icrc=0, spoil_vcrc=0):
        """One datagram, from LRH to VCRC."""
        rest = struct.pack(">BBHII", opcode, mig << 6, pkey, dqpn, psn)
        rest += struct.pack(">II", qkey, sqpn) + payload
        words = (8 + (40 if dgid else 0) + len(rest) + 4) // 4
        lower = struct.pack(">BBHHH", vl << 4, 3 if dgid else 2,
                            self.lid if dlid is None else dlid, words, slid)
        if dgid:
            lower += struct.pack(">IHBB", 6 << 28, len(rest) + 4, 0x1b, 1)
            lower += bytes(16) + dgid
        crc = bytearray(icrc(lower, rest))
        crc[3] ^= spoil_icrc
        data = lower + rest + crc
        crc = bytearray(vcrc(data))
        crc[0] ^= spoil_vcrc
        return data + crc

    @staticmethod
    def batch(*packets):
        """One frame of them: the LRH of the first, and each from BTH to ICRC."""
        return packets[0][:8] + b"".join(packet[8:-2] for packet in packets)

    def send(self, data, session=None, kind=DATA):
        shim = struct.pack(">BBHI", 1 << 4 | kind, 0, len(data),
                           self.peer if session is None else session)
        self.sock.send(b"\xff" * 6 + self.mac + struct.pack(">H", ETHERTYPE) +
                       shim + data)

    def _sessions(self):
        """Those of the peer and of the port, from their hellos."""
        found = {}
        while len(found) < 2:
            frame, address = self.sock.recvfrom(2048)
            if frame[12:15] == struct.pack(">HB", ETHERTYPE, 1 << 4 | HELLO):
                outgoing = address[2] == socket.PACKET_OUTGOING
                found[outgoing] = struct.unpack_from(">I", frame, 18)[0]
        return found[True], found[False]

    def counted(self, name, before):
        end = time.monotonic() + 10 * int(os.environ.get("SHCA_SLOW", "1"))
        while time.monotonic() < end:
            if self.attribute("hw_counters/" + name) > before:
                return True
            time.sleep(0.05)
        return False
