#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Packets that an InfiniBand port refuses (docs/infiniband.md), sent from the netdev of
its peer, in the peer's name. Each must be counted as what it is. Then packets of noise.

  ib-frames.py NETDEV DEVICE not-ready|all

NETDEV is the peer's. DEVICE is the port's, active unless the one packet of `not-ready`
is sent. Prints a line for each kind, for lib.sh. Used by ib/opensm.sh.
"""

import random
import sys

from ib_link import BATCH, DATA, MULTICAST, RC_SEND_ONLY, Link, vcrc

netdev, device, what = sys.argv[1:]
link = Link(netdev, device)
packet, lid = link.packet, link.lid
group = b"\xff\x12" + bytes(14)


def check(kind, name, data, session=None, frame=DATA):
    before = link.attribute("hw_counters/" + name)
    link.send(data, session, frame)
    print("ok" if link.counted(name, before) else "not ok", "frame." + kind, flush=True)


def batches():
    """Frames of batches that lie, and packets in them that hide behind the first one."""
    def refused(kind, name, data, session=None):
        check("batch." + kind, name, data, session, BATCH)
    short, good = packet(payload=b""), packet()
    refused("too_many", "rx_malformed", link.batch(*[short] * 61))
    refused("ends_early", "rx_malformed", link.batch(good, good)[:-268])
    refused("odd", "rx_malformed", link.batch(good, good)[:-2])
    refused("longer_first", "rx_malformed", link.batch(good, good)[:100])
    refused("no_packet", "rx_truncated", good[:7])
    refused("no_length", "rx_truncated", good[:4] + b"\0\2" + good[6:])
    refused("lane_15", "rx_malformed", link.batch(packet(vl=15, dqpn=0), packet(vl=15, dqpn=0)))
    refused("unused_lane", "rx_malformed", link.batch(packet(vl=8), good))
    refused("group", "rx_malformed", link.batch(packet(dlid=0xc000, dqpn=MULTICAST), good))
    refused("permissive_lid", "rx_malformed", link.batch(packet(dlid=0xffff), good))
    refused("first_is_smp", "rx_malformed", link.batch(packet(dqpn=0), good))
    refused("hidden_smp", "rx_malformed", link.batch(packet(dqpn=0xfffffe), packet(dqpn=0)))
    refused("hidden_group", "rx_malformed", link.batch(packet(dqpn=0xfffffe), packet(dqpn=MULTICAST)))
    refused("other_session", "rx_path_mismatch", link.batch(good, good), link.peer ^ 1)
    refused("other_lid", "rx_path_mismatch", link.batch(packet(dlid=lid + 7), good))
    refused("second_is_unknown", "rx_unknown_qp", link.batch(good, packet(dqpn=0xfffffe)))
    refused("second_is_damaged", "rx_icrc_errors", link.batch(good, packet(spoil_icrc=1)))
    rand = random.Random(2)
    for _ in range(300):
        data = bytearray(link.batch(*[rand.choice((short, good))] * rand.randrange(1, 4)))
        for _ in range(rand.randrange(1, 6)):
            data[rand.randrange(len(data))] ^= 1 << rand.randrange(8)
        link.send(bytes(data[:rand.choice((len(data), rand.randrange(len(data))))]), kind=BATCH)
    print("ok frame.batch.noise", flush=True)


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
        link.send(bytes(data) + vcrc(data))
    print("ok frame.noise", flush=True)


if what == "not-ready":
    check("before_active", "rx_qp_not_ready", packet())
    sys.exit()
check("other_session", "rx_path_mismatch", packet(), link.peer ^ 1)
check("own_session", "rx_path_mismatch", packet(), link.own)
check("wrong_vcrc", "rx_vcrc_errors", packet(spoil_vcrc=1))
check("wrong_icrc", "rx_icrc_errors", packet(spoil_icrc=1))
check("other_lid", "rx_path_mismatch", packet(dlid=lid + 7))
check("permissive_lid", "rx_path_mismatch", packet(dlid=0xffff))
check("unused_lane", "rx_malformed", packet(vl=8))
check("lane_15_to_qp1", "rx_malformed", packet(vl=15))
check("lane_0_to_qp0", "rx_malformed", packet(dqpn=0))
check("smp_with_grh", "rx_malformed", packet(vl=15, dqpn=0, dgid=bytes(16)))
check("smp_too_long", "rx_malformed", packet(vl=15, dqpn=0, payload=bytes(260)))
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
batches()
