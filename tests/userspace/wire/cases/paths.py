# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Effects of a connected QP's address vector on the headers below the BTH."""
import enums as e

import roce
from target import WR, Wrong, pattern

from . import case
from .requester import RKEY, VA
from .responder import message, same

# Expedited forwarding: not symmetric, not zero, and no ECN bit.
TCLASS = 46 << 2


def same_below(packet, tclass, label, version):
    same(packet.ip.tos, tclass, f"traffic class of {packet}")
    if version == 6:
        same(packet.ip.label, label, f"flow label of {packet}")


@case("req.traffic_class", "A17.3.2: the traffic class of the address vector is the "
      "DSCP of each request, first, middle and last, and of what is repeated",
      table={"ipv4": 4, "ipv6": 6})
def requests_have_the_class(rig, version):
    c = rig.conn(version=version, tclass=TCLASS, flow_label=0x12345, timeout=14)
    c.mem[:600] = pattern(600)
    for kind in "SEND", "WRITE":
        c.post(getattr(WR, kind), 600, va=VA, rkey=RKEY, wr_id=1)
        for _ in range(2):  # the second one, because the first gets no answer
            for place in "FIRST", "MIDDLE", "LAST":
                p = c.expect(getattr(roce, f"{kind}_{place}"))
                same_below(p, TCLASS, 0x12345, version)
        c.ack(p.psn)
        c.sent_wc(1)
        while c.rx(rig.quiet):  # a third time, from before the ACK
            pass
    c.post(WR.READ, 8, va=VA, rkey=RKEY, wr_id=2)
    p = c.expect(roce.READ_REQUEST)
    same_below(p, TCLASS, 0x12345, version)
    c.respond(roce.READ_ONLY, p.psn, b"12345678")
    c.sent_wc(2)
    c.post(WR.FAA, 8, va=VA & ~7, rkey=RKEY, compare=1, wr_id=3)
    p = c.expect(roce.FETCH_ADD)
    same_below(p, TCLASS, 0x12345, version)
    c.respond(roce.ATOMIC_ACK, p.psn)
    c.sent_wc(3)


@case("resp.traffic_class", "A17.3.2: ACKs, NAKs, READ and atomic responses have the "
      "traffic class of the responder's own address vector, not the request's",
      table={"ipv4": 4, "ipv6": 6})
def answers_have_the_class(rig, version):
    c = rig.conn(version=version, tclass=TCLASS, flow_label=0x54321)
    below = {"tos": 0x20}
    c.post_recv(wr_id=1)
    p = c.tx(roce.SEND_ONLY, b"x", below, ackreq=1)
    same_below(c.expect_ack(p.psn), TCLASS, 0x54321, version)
    c.recv_wc(1)
    reth = dict(va=c.mem.addr, rkey=c.mem.rkey)
    p = c.tx(roce.READ_REQUEST, b"", below, dmalen=600, **reth)
    for place in "FIRST", "MIDDLE", "LAST":
        same_below(c.expect(getattr(roce, f"READ_{place}")), TCLASS, 0x54321,
                   version)
    p = c.tx(roce.FETCH_ADD, b"", below, ackreq=1, swap=1,
             psn=roce.psn_add(p.psn, 3), **reth)
    same_below(c.expect(roce.ATOMIC_ACK, psn=p.psn), TCLASS, 0x54321, version)
    c.tx(roce.SEND_ONLY, b"x", below, ackreq=1, psn=roce.psn_add(p.psn, 9))
    nak = c.expect(roce.ACK)
    same(nak.syndrome, roce.NAK_SEQ, "syndrome")
    same_below(nak, TCLASS, 0x54321, version)


@case("uc.traffic_class", "A17.3.2: the traffic class of the address vector is the "
      "DSCP of each packet", table={"ipv4": 4, "ipv6": 6})
def unreliable_has_the_class(rig, version):
    c = rig.conn("UC", version=version, tclass=TCLASS, flow_label=0x777)
    for kind in "SEND", "WRITE":
        c.post(getattr(WR, kind), 600, va=VA, rkey=RKEY)
        for place in "FIRST", "MIDDLE", "LAST":
            same_below(c.expect(getattr(roce, f"{kind}_{place}")), TCLASS, 0x777,
                       version)
        c.sent_wc()


@case("req.source_port_by_flow", "A17.3.2: the UDP source port spreads flows: it "
      "follows the address vector's flow label, and stays the connection's",
      table={f"{kind.lower()}_ipv{v}": (kind, v) for kind in ("RC", "UC")
             for v in (4, 6)})
def port_by_label(rig, row):
    kind, version = row
    ports = {}
    for label in (1, 2, 3, 0x12345, 0xfffff, 1, 0xfffff):
        c = rig.conn(kind, version=version, flow_label=label)
        for _ in range(3):
            c.post(WR.SEND, 4)
            p = c.expect(roce.SEND_ONLY)
            if kind == "RC":
                c.ack(p.psn)
            c.sent_wc()
            if p.ip.sport < 0xc000:
                raise Wrong(f"source port {p.ip.sport:#x}")
            same(p.ip.sport, ports.setdefault(label, p.ip.sport),
                 f"source port of flow label {label:#x}")
    if len(set(ports.values())) < 4:
        raise Wrong(f"source ports {ports}")


@case("resp.source_port_by_flow", "A17.3.2: answers have the source port of the "
      "responder's address vector", table={"ipv4": 4, "ipv6": 6})
def answer_port_by_label(rig, version):
    ports = set()
    for label in (1, 2, 3, 0x12345, 0xfffff):
        c = rig.conn(version=version, flow_label=label)
        c.post_recv(wr_id=1)
        last = message(c, b"x", "SEND")
        ack = c.expect_ack(last.psn)
        same(c.recv_wc(1).opcode, e.IBV_WC_RECV, "opcode")
        c.read(4)
        same(c.expect(roce.READ_ONLY).ip.sport, ack.ip.sport,
             "source port of the READ response")
        ports.add(ack.ip.sport)
    if len(ports) < 4:
        raise Wrong(f"source ports {ports}")
