#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Packets that an InfiniBand port refuses (docs/infiniband.md), sent from the netdev of
its peer, in the peer's name. Each must be counted as what it is. Then packets of noise.

  ib-frames.py NETDEV DEVICE not-ready|all

NETDEV is the peer's. DEVICE is the port's, active unless the one packet of `not-ready`
is sent. Prints a line for each kind, for lib.sh. Used by ib-opensm.sh.
"""

import os
import random
import socket
import struct
import sys
import time
import zlib

ETHERTYPE, DATA, HELLO = 0x88b5, 1, 2
UD_SEND_ONLY, RC_SEND_ONLY = 0x64, 0x04
GSI_QKEY, MULTICAST = 0x80010000, 0xffffff

netdev, device, what = sys.argv[1:]
port = f"/sys/class/infiniband/{device}/ports/1/"


def attribute(name):
    with open(port + name, encoding="ascii") as file:
        return int(file.read(), 0)


def vcrc(data):
    state = 0xffff
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0xd008 if state & 1 else 0)
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


def packet(dlid=None, vl=0, dqpn=1, dgid=None, payload=256, opcode=UD_SEND_ONLY,
           qkey=GSI_QKEY, pkey=0xffff, spoil_icrc=0, spoil_vcrc=0):
    """One datagram, from LRH to VCRC."""
    rest = struct.pack(">BBHII", opcode, 0, pkey, dqpn, 0)
    rest += struct.pack(">II", qkey, 1) + bytes(payload)
    words = (8 + (40 if dgid else 0) + len(rest) + 4) // 4
    lower = struct.pack(">BBHHH", vl << 4, 3 if dgid else 2,
                        lid if dlid is None else dlid, words, 2)
    if dgid:
        lower += struct.pack(">IHBB", 6 << 28, len(rest) + 4, 0x1b, 1)
        lower += bytes(16) + dgid
    crc = bytearray(icrc(lower, rest))
    crc[3] ^= spoil_icrc
    data = lower + rest + crc
    crc = bytearray(vcrc(data))
    crc[0] ^= spoil_vcrc
    return data + crc


def send(data, session):
    shim = struct.pack(">BBHI", 1 << 4 | DATA, 0, len(data), session)
    sock.send(b"\xff" * 6 + mac + struct.pack(">H", ETHERTYPE) + shim + data)


def sessions():
    """Those of the peer and of the port, from their hellos."""
    found = {}
    while len(found) < 2:
        frame, address = sock.recvfrom(2048)
        if frame[12:15] == struct.pack(">HB", ETHERTYPE, 1 << 4 | HELLO):
            outgoing = address[2] == socket.PACKET_OUTGOING
            found[outgoing] = struct.unpack_from(">I", frame, 18)[0]
    return found[True], found[False]


def counted(name, before):
    end = time.monotonic() + 10 * int(os.environ.get("SHCA_SLOW", "1"))
    while time.monotonic() < end:
        if attribute("hw_counters/" + name) > before:
            return True
        time.sleep(0.05)
    return False


def check(kind, name, data, session=None):
    before = attribute("hw_counters/" + name)
    send(data, peer if session is None else session)
    print("ok" if counted(name, before) else "not ok", "frame." + kind, flush=True)


def noise():
    """Packets whose sums are right and whose headers may be anything."""
    rand = random.Random(1)
    kinds = [dict(), dict(vl=15, dqpn=0), dict(dgid=b"\xff" * 16, dlid=0xc000,
                                               dqpn=MULTICAST)]
    for _ in range(300):
        data = bytearray(packet(**rand.choice(kinds))[:-2])
        for _ in range(rand.randrange(1, 6)):
            data[rand.randrange(len(data))] ^= 1 << rand.randrange(8)
        data = data[:rand.choice((len(data), rand.randrange(len(data)) & ~3))]
        send(bytes(data) + vcrc(data), peer)
    print("ok frame.noise", flush=True)


sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sock.bind((netdev, 3))
sock.settimeout(60)
mac = sock.getsockname()[4]
lid = attribute("lid")
peer, own = sessions()
group = b"\xff\x12" + bytes(14)

if what == "not-ready":
    check("before_active", "rx_qp_not_ready", packet())
    sys.exit()
check("other_session", "rx_path_mismatch", packet(), peer ^ 1)
check("own_session", "rx_path_mismatch", packet(), own)
check("wrong_vcrc", "rx_vcrc_errors", packet(spoil_vcrc=1))
check("wrong_icrc", "rx_icrc_errors", packet(spoil_icrc=1))
check("other_lid", "rx_path_mismatch", packet(dlid=lid + 7))
check("permissive_lid", "rx_path_mismatch", packet(dlid=0xffff))
check("unused_lane", "rx_malformed", packet(vl=1))
check("lane_15_to_qp1", "rx_malformed", packet(vl=15))
check("lane_0_to_qp0", "rx_malformed", packet(dqpn=0))
check("smp_with_grh", "rx_malformed", packet(vl=15, dqpn=0, dgid=bytes(16)))
check("smp_too_long", "rx_malformed", packet(vl=15, dqpn=0, payload=260))
check("smp_to_other_lid", "rx_path_mismatch", packet(vl=15, dqpn=0, dlid=lid + 7))
check("group_without_grh", "rx_malformed", packet(dlid=0xc000, dqpn=MULTICAST))
check("group_lid_to_qp", "rx_malformed", packet(dlid=0xc000, dgid=group))
check("group_of_no_gid", "rx_malformed",
      packet(dlid=0xc000, dqpn=MULTICAST, dgid=bytes(16)))
check("own_lid_to_group", "rx_malformed", packet(dqpn=MULTICAST, dgid=group))
check("unknown_qp", "rx_unknown_qp", packet(dqpn=0xfffffe))
check("other_transport", "rx_transport_mismatch", packet(opcode=RC_SEND_ONLY))
check("other_partition", "rx_pkey_mismatch", packet(pkey=0x9234))
check("other_qkey", "rx_qkey_mismatch", packet(qkey=5))
check("other_qkey_with_grh", "rx_qkey_mismatch", packet(qkey=5, dgid=bytes(16)))
noise()
