# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The other end of an InfiniBand link over Ethernet (docs/infiniband.md), in place of
peer.py's. In a case, IP version 4 means a path by LIDs alone, and 6 one with a GRH.

A device at the same netdev keeps the link up. The crafted peer sends in its name, and
verifies both CRCs of each received packet. A case that is about something which this
link lacks is skipped: ports, IP options, super-packets.
"""
import os
import select
import socket
import struct
import time
import zlib
from ipaddress import ip_address

from pyverbs.addr import GID, AHAttr, GlobalRoute

import roce
from peer import Peer, namespace, netdev_mac
from target import Rig, Skip

ETHERTYPE, DATA, HELLO = 0x88b5, 0x11, 0x12
PEER_LID, STRANGER_LID = 33, 34
LRH, GRH = 8, 40


def _vcrc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0xd008 if byte & 1 else 0)
        table.append(byte)
    return table


VCRC = _vcrc_table()


def vcrc(data):
    """IBTA 7.8.2: generator 0x100b."""
    state = 0xffff
    for byte in data:
        state = state >> 8 ^ VCRC[(state ^ byte) & 0xff]
    return struct.pack("<H", ~state & 0xffff)


def icrc(lower, ib):
    """IBTA 7.8.1: fields that change on the way count as ones."""
    if len(lower) == LRH:
        masked = bytes([lower[0] | 0xf0]) + lower[1:]
    else:
        masked = b"\xff" * LRH + bytes([lower[8] | 15]) + b"\xff" * 3 + lower[12:15] + \
                 b"\xff" + lower[16:]
    return struct.pack("<I", zlib.crc32(ib[:4] + b"\xff" + ib[5:], zlib.crc32(masked)))


class LinkInfo:
    """Fields below the BTH; a case that asks for others is not about this link."""

    def __init__(self, grh):
        if grh:
            word, _, _, self.ttl = struct.unpack_from(">IHBB", grh)
            self.tos, self.label = word >> 20 & 255, word & 0xfffff

    def __getattr__(self, name):
        raise Skip(f"a packet of this link has no {name}")


class IbPeer(Peer):
    """As Peer; @device is at the other end of @netdev's cable, and has LID @lid."""

    ip = False

    def __init__(self, netns, netdev, device, lid, target_mac):
        with namespace(netns):
            self.ether = target_mac + netdev_mac(netdev) + struct.pack(">H", ETHERTYPE)
            self.session = self._session(netdev)
            self.socks = [self.packet_socket(netdev, ETHERTYPE)]
        self.poll = select.poll()
        self.poll.register(self.socks[0], select.POLLIN)
        # Those of the ports; the stranger's GID is nobody's.
        with open(f"/sys/class/infiniband/{device}/ports/1/gids/0", encoding="ascii") as f:
            gid = str(ip_address(bytes.fromhex(f.read().strip().replace(":", ""))))
        self.addresses = {4: PEER_LID, 6: "fe80::1234:5678"}
        self.target = {4: lid, 6: gid}
        self.verified = 0
        self.log = None

    @staticmethod
    def _session(netdev):
        """Of the device at @netdev, whose hellos leave there."""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock:
            sock.bind((netdev, 3))
            sock.settimeout(10 * int(os.environ.get("SHCA_SLOW", "1")))
            while True:
                frame, address = sock.recvfrom(2048)
                if address[2] == socket.PACKET_OUTGOING and \
                   frame[12:15] == struct.pack(">HB", ETHERTYPE, HELLO):
                    return frame[18:22]

    @staticmethod
    def header(src, dst, length, tos=0, ttl=64, label=0):
        """GRH before @length bytes, from BTH to ICRC."""
        return struct.pack(">IHBB16s16s", 6 << 28 | tos << 20 | label, length, 0x1b, ttl,
                           ip_address(src).packed, ip_address(dst).packed)

    def delivered(self, version, length, **fields):
        if version == 4:
            raise Skip("a packet without GRH delivers nothing of it")
        return self.header(self.addresses[6], self.target[6], length, **fields)

    def send(self, packet, version=4, src=None, dst=None, spoil=None, **fields):
        ib = packet if isinstance(packet, bytes) else packet.build()
        unknown = set(fields) - ({"tos", "ttl", "label"} if version == 6 else set())
        if unknown:
            raise Skip(f"a packet of this link has no {' '.join(sorted(unknown))}")
        if len(ib) & 3:
            raise Skip("the LRH counts words of 4 bytes")
        src, dst = src or self.addresses[version], dst or self.target[version]
        grh = b"" if version == 4 else self.header(src, dst, len(ib) + 4, **fields)
        lids = (self.target[4], PEER_LID) if grh else (dst, src)
        lower = struct.pack(">BBHHH", 0, 3 if grh else 2, lids[0],
                            (LRH + len(grh) + len(ib) + 4) // 4, lids[1]) + grh
        payload = bytearray(ib + icrc(lower, ib))
        if spoil:
            spoil(payload)
        raw = lower + bytes(payload)
        if self.log is not None:
            self.log.append(f"> {ib.hex() if ib is packet else packet}")
        raw += vcrc(raw)
        self.socks[0].send(self.ether + struct.pack(">BBH", DATA, 0, len(raw)) +
                           self.session + raw)

    def send_batch(self, packets, version=4, spoil=None):
        raise Skip("packets of this link arrive one by one")

    def send_ip(self, raw):
        raise Skip("there is no IP on this link")

    def receive(self, timeout):
        end = time.monotonic() + timeout
        while True:
            raw = self.frame()
            if raw is None:
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self.poll.poll(left * 1000 + 1)
                continue
            packet = self.unframe(raw)
            if packet:
                packet.at = time.monotonic()
                self.verified += 1
                if self.log is not None:
                    self.log.append(f"< {packet}")
                return packet

    def unframe(self, raw):
        """The packet in a frame, verified; None: a hello, or management."""
        if raw[14] != DATA:
            return None
        length, = struct.unpack_from(">H", raw, 16)
        raw = raw[22:22 + length]
        if len(raw) != length or vcrc(raw[:-2]) != raw[-2:]:
            raise roce.BadPacket("wrong VCRC")
        has_grh = raw[1] & 3 == 3
        lower, ib = (raw[:LRH + GRH], raw[LRH + GRH:-6]) if has_grh else (raw[:LRH], raw[LRH:-6])
        dlid, words, slid = struct.unpack_from(">HHH", raw, 2)
        if raw[0] >> 4 or words * 4 != length - 2 or \
           (has_grh and struct.unpack_from(">H", raw, 12)[0] != len(ib) + 4):
            if raw[0] >> 4 == 15:
                return None
            raise roce.BadPacket(f"lane {raw[0] >> 4}, {words} words of {length} bytes")
        if icrc(lower, ib) != raw[-6:-2]:
            raise roce.BadPacket(f"wrong ICRC: {roce.parse(ib)}")
        packet = roce.parse(ib)
        if packet.dqpn <= 1:
            return None
        if (dlid, slid) != (PEER_LID, self.target[4]):
            raise roce.BadPacket(f"LIDs {slid} to {dlid}")
        packet.ip = LinkInfo(lower[LRH:])
        return packet


class IbRig(Rig):
    """As Rig; @peer is an IbPeer."""
    cnp = roce.CNP_IB

    def __init__(self, device, peer, **options):
        super().__init__(device, peer, gids={4: None, 6: 0},
                         strangers={4: STRANGER_LID, 6: "fe80::99"}, **options)

    def ah_attr(self, version=4, flow_label=0, tclass=0, hop_limit=64):
        if version == 4:
            if flow_label or tclass:
                raise Skip("a path by LIDs has no traffic class and no flow label")
            return AHAttr(port_num=1, dlid=PEER_LID)
        raw = ip_address(self.peer.addresses[6]).packed.hex()
        gid = GID(":".join(raw[i:i + 4] for i in range(0, 32, 4)))
        route = GlobalRoute(dgid=gid, sgid_index=0, flow_label=flow_label,
                            traffic_class=tclass, hop_limit=hop_limit)
        return AHAttr(is_global=1, port_num=1, dlid=PEER_LID, gr=route)
