# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Packets that arrive as one super-packet (UDP GSO), as from a sender on the same
machine. Each packet is judged alone, whatever the others are.
"""
import contextlib

from pyverbs.wr import SGE

import roce
from roce import psn_add
from target import MTU, Wrong, pattern

from . import case
from .packets import counted, flip
from .requester import request
from .responder import same, split

RUN = 60  # several times a run, less than a batch
DATA = pattern((RUN + 2) * MTU)


@contextlib.contextmanager
def one_skb(rig):
    """In the body, packets must arrive as one skb; otherwise the case shows nothing."""
    before = rig.arrived()
    yield
    got = rig.arrived() - before
    if got > 3:  # a neighbour may send something meanwhile
        raise Wrong(f"it arrived as {got} packets")


def batch(c, packets, **fields):
    with one_skb(c.rig):
        c.peer.send_batch(packets, version=c.version, **fields)


def middle(c, kind, i, data=None, psn=None, **fields):
    """Packet @i of a message of DATA whose first one was at @psn."""
    return c.packet(getattr(roce, f"{kind}_MIDDLE"),
                    split(DATA)[i] if data is None else data,
                    psn=psn_add(psn, i), **fields)


def begin(c, kind, **reth):
    """The first packet; returns its PSN."""
    first = c.psn
    if kind == "WRITE":
        reth.setdefault("va", c.mem.addr)
        reth.setdefault("rkey", c.mem.rkey)
        reth.setdefault("dmalen", len(DATA))
    c.tx(getattr(roce, f"{kind}_FIRST"), DATA[:MTU], **reth)
    return first


def end(c, kind, first):
    c.tx(getattr(roce, f"{kind}_LAST"), DATA[-MTU:], ackreq=1,
         psn=psn_add(first, RUN + 1))


def setup(rig, kind="WRITE", **fields):
    c = rig.conn(**fields)
    c.mem.fill()
    if kind == "SEND":
        c.post_recv(length=len(DATA), wr_id=1)
    return c


@case("batch.message", "each packet of a batch is placed, and one answer stands for "
      "all", table={f"{kind.lower()}.ipv{v}": (kind, v) for v in (4, 6)
                    for kind in ("SEND", "WRITE")})
def whole(rig, row):
    kind, version = row
    c = setup(rig, kind, version=version, psn=0xfffff0)
    first = begin(c, kind)
    batch(c, [middle(c, kind, i, psn=first) for i in range(1, RUN + 1)])
    end(c, kind, first)
    c.expect_ack(psn_add(first, RUN + 1), msn=1)
    same(c.mem[:len(DATA) + 4], DATA + b"ZZZZ", "data")
    if kind == "SEND":
        c.recv_wc(1, byte_len=len(DATA))
    c.expect_silence()


@case("batch.segments", "a run of packets may end in any segment of a receive")
def segments(rig):
    c = rig.conn()
    c.mem.fill()
    cuts = (0, 1000, 1300, len(DATA))
    sges = [SGE(c.mem.addr + 2 * a, b - a, c.mem.lkey)
            for a, b in zip(cuts, cuts[1:])]
    c.post_recv_list(sges, wr_id=1)
    first = begin(c, "SEND")
    batch(c, [middle(c, "SEND", i, psn=first) for i in range(1, RUN + 1)])
    end(c, "SEND", first)
    c.expect_ack(psn_add(first, RUN + 1), msn=1)
    for a, b in zip(cuts, cuts[1:]):
        same(c.mem[2 * a:a + b], DATA[a:b], f"bytes from {a} on")


@case("batch.asks", "an AckReq in the middle of a batch is answered")
def asks(rig):
    c = setup(rig)
    first = begin(c, "WRITE")
    batch(c, [middle(c, "WRITE", i, psn=first, ackreq=i % 7 == 0)
              for i in range(1, RUN + 1)])
    last = None
    while True:
        packet = c.rx(rig.quiet)
        if not packet:
            break
        last = packet
    same(last and last.psn, psn_add(first, RUN // 7 * 7), "last answer")
    end(c, "WRITE", first)
    c.expect_ack(psn_add(first, RUN + 1))
    same(c.mem[:len(DATA)], DATA, "data")


@case("batch.spoilt", "a packet of a batch whose ICRC is wrong is lost, and those "
      "behind it are ahead", table={str(i): i for i in (1, 2, 5, RUN)})
def spoilt(rig, bad):
    c = setup(rig)
    first = begin(c, "WRITE")
    with counted(rig, "rx_icrc_errors"):
        batch(c, [middle(c, "WRITE", i, psn=first) for i in range(1, RUN + 1)],
              spoil={bad - 1: flip(100)})
        if bad < RUN:
            c.expect_nak(roce.NAK_SEQ, psn_add(first, bad))
    same(c.mem[:bad * MTU + 4], DATA[:bad * MTU] + b"ZZZZ", "what came before")
    batch(c, [middle(c, "WRITE", i, psn=first) for i in range(bad, RUN + 1)])
    end(c, "WRITE", first)
    c.expect_ack(psn_add(first, RUN + 1))
    same(c.mem[:len(DATA)], DATA, "data")


@case("batch.gap", "of a batch with a gap, the packets before the gap are executed")
def gap(rig):
    c = setup(rig)
    first = begin(c, "WRITE")
    batch(c, [middle(c, "WRITE", i, psn=first) for i in range(1, RUN + 1)
              if i != 9])
    c.expect_nak(roce.NAK_SEQ, psn_add(first, 9))
    c.expect_silence()
    same(c.mem[:9 * MTU + 4], DATA[:9 * MTU] + b"ZZZZ", "what came before")


@case("batch.half_new", "of a batch that begins with duplicates, only the new packets "
      "are executed", table={"send": "SEND", "write": "WRITE"})
def half_new(rig, kind):
    c = setup(rig, kind)
    first = begin(c, kind)
    batch(c, [middle(c, kind, i, psn=first) for i in range(1, 9)])
    other = bytes(MTU)
    with counted(rig, "duplicate_request", 5):
        batch(c, [middle(c, kind, i, other if i < 9 else None, psn=first)
                  for i in range(4, RUN + 1)])
        end(c, kind, first)
        c.expect_ack(psn_add(first, RUN + 1), msn=1)
    same(c.mem[:len(DATA)], DATA, "data")


@case("batch.short_packets", "IBTA 9.7.4.1.6: middle packets shorter than the path "
      "MTU are invalid, however many", table={str(n): n for n in (4, 128, 252)})
def short_packets(rig, size):
    c = setup(rig)
    first = begin(c, "WRITE")
    batch(c, [middle(c, "WRITE", i, DATA[:size], psn=first)
              for i in range(1, RUN + 1)])
    c.expect_nak(roce.NAK_INVALID, psn_add(first, 1))
    c.expect_state("ERR")
    same(c.mem[MTU:MTU + 4], b"ZZZZ", "behind the first")


@case("batch.longer_than_announced", "IBTA 9.7.4.1.6: packets beyond the length "
      "that the RETH announced are refused, none is placed behind it")
def too_long(rig):
    c = setup(rig)
    first = begin(c, "WRITE", dmalen=6 * MTU)
    batch(c, [middle(c, "WRITE", i, psn=first) for i in range(1, RUN + 1)])
    # the packet after which nothing is left for a last one (others: the next one)
    nak = c.expect(roce.ACK, syndrome=roce.NAK_INVALID)
    at = 5 if rig.is_softhca or nak.psn == psn_add(first, 5) else 6
    same(nak.psn, psn_add(first, at), "PSN of the NAK")
    c.expect_state("ERR")
    same(c.mem[:at * MTU + 4], DATA[:at * MTU] + b"ZZZZ", "what is within it")


@case("batch.longer_than_the_receive", "IBTA 9.7.4.1.6: packets of a SEND are placed "
      "as long as they fit into the receive, and the first one that does not fit is "
      "refused")
def longer_than_receive(rig):
    c = rig.conn()
    c.mem.fill()
    c.post_recv(length=5 * MTU + 8, wr_id=1)
    first = begin(c, "SEND")
    batch(c, [middle(c, "SEND", i, psn=first) for i in range(1, RUN + 1)])
    c.expect_nak(roce.NAK_INVALID, psn_add(first, 5))
    c.recv_wc(1, "LOC_LEN_ERR")
    same(c.mem[:5 * MTU + 4], DATA[:5 * MTU] + b"ZZZZ", "what is within it")


@case("batch.two_qps", "packets of a batch may be for several QPs")
def two_qps(rig):
    a, b = setup(rig), rig.conn()
    half = 32768
    first = begin(a, "WRITE")
    other = begin(b, "WRITE", va=b.mem.addr + half)
    packets = []
    for i in range(1, RUN // 2 + 1):
        packets.append(middle(a, "WRITE", i, psn=first))
        packets.append(middle(b, "WRITE", i, psn=other))
    batch(a, packets)
    done = RUN // 2
    for c, psn in (a, first), (b, other):
        c.raw(middle(c, "WRITE", done + 1, psn=psn, ackreq=1))
        c.expect_ack(psn_add(psn, done + 1))
    for at in 0, half:
        same(a.mem[at:at + (done + 2) * MTU], DATA[:(done + 2) * MTU], "data")


@case("batch.uc_gap", "IBTA 9.8.2: a message of UC with a gap is lost, the next one "
      "is not")
def uc_gap(rig):
    c = rig.conn("UC")
    c.mem.fill()
    for i in range(2):
        c.post_recv(length=len(DATA), wr_id=i)
    for lost in 9, 0:
        first = begin(c, "SEND")
        # those behind the gap, and the last one, each count
        with counted(rig, "rx_dropped_messages", RUN + 1 - lost if lost else 0):
            batch(c, [middle(c, "SEND", i, psn=first)
                      for i in range(1, RUN + 1) if i != lost])
            end(c, "SEND", first)
            if lost:
                c.no_wc(rig.quiet)
        c.psn = psn_add(first, RUN + 2)
    c.recv_wc(0, byte_len=len(DATA))
    same(c.mem[:len(DATA)], DATA, "data")


@case("batch.response", "a READ response that comes in batches is placed, and asked "
      "for again from what is missing", table={"whole": 0, "gap": 9, "first": 1})
def response(rig, lost):
    c = rig.conn(timeout=20)  # 4 s: not before a slow peer has sent all
    c.mem.fill()
    request(c, "READ", len(DATA), wr_id=1)
    p = c.expect(roce.READ_REQUEST)
    parts, at = split(DATA), 0
    c.answer_slowly()
    if lost:
        c.respond(roce.READ_FIRST, p.psn, parts[0], msn=1)
        batch(c, [c.packet(roce.READ_MIDDLE, parts[i], psn=psn_add(p.psn, i))
                  for i in range(1, RUN + 1) if i != lost])
        q = c.expect(roce.READ_REQUEST)
        at = q.psn - p.psn & 0xffffff
        if at or rig.is_softhca:  # others may ask for all of it again
            same(at, lost, "first packet of the repetition")
        if rig.is_softhca:  # which has kept the others
            same(q.dmalen, MTU, "bytes of the repetition")
            c.respond(roce.READ_ONLY, q.psn, parts[lost], msn=1)
            c.respond(roce.READ_LAST, psn_add(p.psn, RUN + 1), parts[-1], msn=1)
            c.sent_wc(1, byte_len=len(DATA))
            same(c.mem[:len(DATA) + 4], DATA + b"ZZZZ", "data")
            return
        p = q
    c.no_wc()
    parts = parts[at:]
    c.respond(roce.READ_FIRST, p.psn, parts[0], msn=1)
    batch(c, [c.packet(roce.READ_MIDDLE, part, psn=psn_add(p.psn, i))
              for i, part in enumerate(parts[1:-1], 1)])
    c.respond(roce.READ_LAST, psn_add(p.psn, len(parts) - 1), parts[-1], msn=1)
    c.sent_wc(1, byte_len=len(DATA))
    same(c.mem[:len(DATA) + 4], DATA + b"ZZZZ", "data")


@case("batch.response_half_new", "of a batch of responses that begins with "
      "duplicates, only the new ones are placed")
def response_half_new(rig):
    c = rig.conn(timeout=20)  # 4 s: not before a slow peer has sent all
    c.mem.fill()
    request(c, "READ", len(DATA), wr_id=1)
    p = c.expect(roce.READ_REQUEST)
    parts, other = split(DATA), bytes(MTU)
    c.answer_slowly()
    c.respond(roce.READ_FIRST, p.psn, parts[0], msn=1)
    for first, last in (1, 8), (4, RUN):
        batch(c, [c.packet(roce.READ_MIDDLE,
                           other if first == 4 and i < 9 else parts[i],
                           psn=psn_add(p.psn, i))
                  for i in range(first, last + 1)])
    c.respond(roce.READ_LAST, psn_add(p.psn, RUN + 1), parts[-1], msn=1)
    c.sent_wc(1, byte_len=len(DATA))
    same(c.mem[:len(DATA)], DATA, "data")
    c.expect_silence()
