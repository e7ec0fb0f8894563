#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Automatic path migration between two InfiniBand ports of one machine, with four LIDs
each. The netdevs lose packets to one LID, and single packets come from a forger.

  ib-apm.py DEVICE_A NETNS_A NETDEV_A DEVICE_B NETNS_B NETDEV_B

Runs in NETNS_A, and prints a line for each part, for lib.sh. Used by ib/apm.sh.
"""

import errno
import os
import select
import socket
import struct
import subprocess
import sys
import time

from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPAttr

from ib_ends import SIZE, End, check, connect, e, path, post
from ib_link import ETHERTYPE, RC_SEND_ONLY, Link

SLOW = int(os.environ.get("SHCA_SLOW", "1"))
MIGRATED, REARM, ARMED = e.IBV_MIG_MIGRATED, e.IBV_MIG_REARM, e.IBV_MIG_ARMED
MOVED, REFUSED = e.IBV_EVENT_PATH_MIG, e.IBV_EVENT_PATH_MIG_ERR
ALT_PATH, MIG_STATE = e.IBV_QP_ALT_PATH, e.IBV_QP_PATH_MIG_STATE
TIMEOUT, RETRIES = 15, 3        # 0.6 s at least
MIG_REQ = 0x40
MAX_RATE, RATE = 0, 2           # IBV_RATE_MAX; IBV_RATE_2_5_GBPS, of alternate paths


class Cable:
    """What comes to one end of the link, to one of its LIDs, is lost."""

    def __init__(self, netns, netdev):
        self.tc = ["ip", "netns", "exec", netns, "tc"]
        self.netdev = netdev
        subprocess.run(self.tc + ["qdisc", "add", "dev", netdev, "clsact"], check=True)

    def lose(self, lid):
        # From the shim on: 8 bytes, and then the LRH with the DLID in its bytes 2 and 3.
        subprocess.run(self.tc + ["filter", "add", "dev", self.netdev, "ingress", "prio", "1",
                                  "protocol", hex(ETHERTYPE), "u32", "match", "u16",
                                  hex(lid), "0xffff", "at", "10", "action", "drop"],
                       check=True)

    def mend(self):
        subprocess.run(self.tc + ["filter", "del", "dev", self.netdev, "ingress"],
                       check=True)


class Pair:
    """A connection, first on the LIDs without path bits. Its alternate path has others."""

    def __init__(self, kind=e.IBV_QPT_RC, bits_b=1):
        self.bits = {a: 1, b: bits_b}   # (of the end's own LID)
        self.qp = {end: end.qp(kind) for end in (a, b)}
        connect(self.qp[a], self.qp[b].qp_num, path(0, b, 0), TIMEOUT, RETRIES)
        connect(self.qp[b], self.qp[a].qp_num, path(0, a, 0), TIMEOUT, RETRIES)
        self.sent = 0

    def close(self):
        for qp in self.qp.values():
            qp.close()

    def alternate(self, end):
        attr, by = QPAttr(port_num=1), path(self.bits[end], other(end), 1)
        by.static_rate = RATE
        attr.alt_ah_attr = by
        attr.alt_port_num, attr.alt_pkey_index, attr.alt_timeout = 1, 0, TIMEOUT
        attr.path_mig_state = REARM
        return attr

    def load(self, *ends):
        for end in ends:
            self.qp[end].modify(self.alternate(end), ALT_PATH | MIG_STATE)

    def set(self, end, state):
        attr = QPAttr(port_num=1)
        attr.path_mig_state = state
        self.qp[end].modify(attr, MIG_STATE)

    def state(self, end):
        return self.qp[end].query(MIG_STATE)[0].path_mig_state

    def states(self):
        return self.state(a), self.state(b)

    def lids(self, end):
        attr = self.qp[end].query(e.IBV_QP_AV | ALT_PATH)[0]
        return attr.ah_attr.dlid, attr.alt_ah_attr.dlid

    def rates(self, end):
        attr = self.qp[end].query(e.IBV_QP_AV | ALT_PATH)[0]
        return attr.ah_attr.static_rate, attr.alt_ah_attr.static_rate

    def send(self, end, to):
        """One message; None, or what is wrong."""
        self.sent += 1
        data = bytes((self.sent + i) & 0xff for i in range(SIZE))
        end.mr.write(data, SIZE)
        to.mr.write(bytes(SIZE), SIZE)
        to.receive(self.qp[to])
        post(end, self.qp[end])
        done = end.completion(60 * SLOW)
        if done.status != e.IBV_WC_SUCCESS:
            return done.status
        got = to.completion(60 * SLOW)
        if got.status != e.IBV_WC_SUCCESS or to.mr.read(SIZE, 0) != data:
            return "data"
        return None

    def talk(self, times=4):
        return all(self.send(a, b) is None and self.send(b, a) is None
                   for _ in range(times))

    def arm(self):
        self.load(a, b)
        return self.talk(1) and self.states() == (ARMED, ARMED)


def other(end):
    return b if end is a else a


def told(end, wanted):
    """Are these the events of an end, and is there no other for a moment?"""
    found = []
    while select.select(end.events, [], [],
                        10 * SLOW if len(found) < len(wanted) else 0.1)[0]:
        event = end.context.get_async_event()
        found.append(event.event_type)
        event.ack()
    return found == wanted


def both(wanted_a=(), wanted_b=()):
    return told(a, list(wanted_a)) and told(b, list(wanted_b))


def refused(call, *args):
    try:
        call(*args)
    except PyverbsRDMAError as err:
        return err.error_code == errno.EINVAL
    return False


def wrong(field, value):
    attr = pair.alternate(a)
    setattr(attr, field, value)
    return refused(pair.qp[a].modify, attr, ALT_PATH | MIG_STATE)


def mig_bits(call):
    """The MigReq bits of the packets between the ports while something happens."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as tap:
        tap.bind((netdev_a, 3))
        tap.setblocking(False)
        call()
        found = {True: set(), False: set()}
        qpns = {pair.qp[end].qp_num: end is b for end in (a, b)}
        # (hellos never end)
        end_time = time.monotonic() + 0.3
        while time.monotonic() < end_time and select.select([tap], [], [], 0.1)[0]:
            bth = tap.recv(4096)[14 + 8 + 8:]
            dqpn = struct.unpack(">I", b"\0" + bth[5:8])[0] if len(bth) > 12 else 0
            if dqpn in qpns:
                found[qpns[dqpn]].add(bool(bth[1] & MIG_REQ))
    return found[True], found[False]    # (what a has sent, and b)


device_a, netns_a, netdev_a, device_b, netns_b, netdev_b = sys.argv[1:]
a, b = End(device_a), End(device_b)
cable_a, cable_b = Cable(netns_a, netdev_a), Cable(netns_b, netdev_b)
check("apm.lmc", a.lmc == b.lmc == 2 and len(a.events) == len(b.events) == 1)
check("apm.advertised",
      a.context.query_device().device_cap_flags & e.IBV_DEVICE_AUTO_PATH_MIG)

# What is refused, and the states on the way to ARMED.
pair = Pair()
check("apm.rearm_without_path", refused(pair.set, a, REARM))
check("apm.migrated_at_first", pair.states() == (MIGRATED, MIGRATED))
check("apm.bits_of_migrated", mig_bits(pair.talk) == ({True}, {True}))
check("apm.wrong_attributes",
      wrong("alt_port_num", 2) and wrong("alt_pkey_index", 32) and
      wrong("alt_timeout", 32) and wrong("path_mig_state", ARMED))
pair.load(a)
check("apm.rearm_alone",
      mig_bits(pair.talk) == ({False}, {True}) and pair.states() == (REARM, MIGRATED))
pair.load(b)
check("apm.armed", pair.talk() and pair.states() == (ARMED, ARMED))
check("apm.bits_of_armed", mig_bits(pair.talk) == ({False}, {False}))
check("apm.query", pair.lids(a) == (b.lid, b.lid + 1) and
      pair.lids(b) == (a.lid, a.lid + 1))
check("apm.rate_of_alternate", pair.rates(a) == pair.rates(b) == (MAX_RATE, RATE))
check("apm.no_event_yet", both())

# The path to b is lost: a's retries are exhausted, and b follows.
cable_b.lose(b.lid)
check("apm.traffic_goes_on", pair.talk())
check("apm.both_are_told", both([MOVED], [MOVED]))
check("apm.migrated", pair.states() == (MIGRATED, MIGRATED) and
      pair.lids(a) == (b.lid + 1, b.lid) and pair.lids(b) == (a.lid + 1, a.lid))
check("apm.rate_migrates", pair.rates(a) == pair.rates(b) == (RATE, MAX_RATE))
check("apm.bits_after", mig_bits(pair.talk) == ({True}, {True}))
cable_b.mend()
# Back by the path that was left, which is loaded already; it is b that finds out.
pair.set(a, REARM)
pair.set(b, REARM)
check("apm.armed_again", pair.talk(1) and pair.states() == (ARMED, ARMED))
cable_a.lose(a.lid + 1)
check("apm.migrates_back", pair.send(b, a) is None and pair.talk() and
      both([MOVED], [MOVED]) and pair.lids(a) == (b.lid, b.lid + 1))
cable_a.mend()
# Once more, with the alternate path loaded anew; then both paths are lost.
check("apm.armed_with_new_path", pair.arm() and pair.states() == (ARMED, ARMED))
cable_b.lose(b.lid)
cable_b.lose(b.lid + 1)
check("apm.migrates_once", pair.send(a, b) == e.IBV_WC_RETRY_EXC_ERR and
      both([MOVED]) and pair.lids(a)[0] == b.lid + 1)
cable_b.mend()
pair.close()

# Without an alternate path: as ever.
pair = Pair()
cable_b.lose(b.lid)
check("apm.none_loaded", pair.send(a, b) == e.IBV_WC_RETRY_EXC_ERR and
      both())
cable_b.mend()
pair.close()

# The program migrates: an unreliable connection has no other cause of its own.
for kind, name in ((e.IBV_QPT_RC, "rc"), (e.IBV_QPT_UC, "uc")):
    pair = Pair(kind)
    check(f"apm.{name}_is_armed", pair.arm())
    pair.set(a, MIGRATED)
    check(f"apm.{name}_by_the_program", pair.send(a, b) is None and
          both([MOVED], [MOVED]) and pair.talk() and
          pair.lids(b) == (a.lid + 1, a.lid))
    pair.close()

# The ends do not agree about the alternate path: b says so once, and stays.
pair = Pair(bits_b=2)
check("apm.other_path_is_armed", pair.arm())
cable_b.lose(b.lid)
check("apm.other_path_is_refused", pair.send(a, b) == e.IBV_WC_RETRY_EXC_ERR and
      both([MOVED], [REFUSED]) and pair.state(b) == ARMED)
cable_b.mend()
pair.close()

# Somebody who is not the peer, or whose packet is not intact, makes nobody migrate.
pair = Pair()
check("apm.forger_finds_it_armed", pair.arm())
link = Link(netdev_a, device_b)
forged = {"opcode": RC_SEND_ONLY, "dqpn": pair.qp[b].qp_num, "mig": 1}
for bad in ({"slid": a.lid + 2}, {"slid": a.lid + 4}, {"dlid": b.lid + 3, "slid": a.lid + 9},
            {"spoil_icrc": 1}, {"spoil_vcrc": 1}, {"pkey": 0x8001}, {"mig": 0},
            {"opcode": 0x24}):
    link.send(link.packet(**{"dlid": b.lid + 1, "slid": a.lid + 1, **forged, **bad}))
time.sleep(0.2)
check("apm.forger_is_no_peer", both() and pair.state(b) == ARMED)
forged.update(dlid=b.lid + 1, slid=a.lid + 1)
link.send(link.packet(dgid=bytes(16), **forged))
link.send(link.packet(dgid=bytes(16), **forged))
check("apm.peer_by_a_third_path", told(b, [REFUSED]) and pair.state(b) == ARMED)
link.send(link.packet(**forged))
check("apm.peer_migrates_it", told(b, [MOVED]) and pair.state(b) == MIGRATED)
check("apm.and_it_takes_the_other_along", pair.send(b, a) is None and
      told(a, [MOVED]) and pair.talk())
pair.close()
