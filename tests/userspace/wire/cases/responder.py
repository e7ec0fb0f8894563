# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The responder of the reliable connection: requests by the crafted peer."""
import os
import select
import struct
import time

import enums as e
from pyverbs.cq import CQ, CompChannel
from pyverbs.pd import PD
from pyverbs.wr import SGE

import roce
from roce import psn_add
from target import (ALL_ACCESS, MTU, Memory, Wrong, pattern, show,
                    socket_order)

from . import case
from .packets import counted

HALF = 1 << 23


def same(got, wanted, what):
    if got != wanted:
        raise Wrong(f"{what}: {show(got)}, not {show(wanted)}")


def flushed(c, wr_id=1):
    """The QP is in error, and the receive request was not used."""
    c.expect_state("ERR")
    c.recv_wc(wr_id, "WR_FLUSH_ERR")


def failed(c, used):
    """The QP is in error; the status of the receive shows whether it was used."""
    c.expect_state("ERR")
    c.recv_wc(1, "LOC_QP_OP_ERR" if used else "WR_FLUSH_ERR")


def split(data, mtu=MTU):
    return [data[i:i + mtu] for i in range(0, len(data), mtu)] or [b""]


def message(c, data, kind, ackreq=1, psn=None, imm=0, inv=0, **reth):
    """All packets of one SEND or WRITE; returns the last."""
    is_write = kind.startswith("WRITE")
    parts = split(data)
    if is_write:
        reth.setdefault("va", c.mem.addr)
        reth.setdefault("rkey", c.mem.rkey)
        reth.setdefault("dmalen", len(data))
    base = "WRITE" if is_write else "SEND"
    suffix = kind[len(base):]
    for i, part in enumerate(parts):
        first, last = i == 0, i == len(parts) - 1
        place = ("ONLY" if first and last else "FIRST" if first else
                 "LAST" if last else "MIDDLE")
        op = getattr(roce, f"{base}_{place}{suffix if last else ''}")
        fields = dict(reth) if first else {}
        if psn is not None:
            fields["psn"] = psn_add(psn, i)
        packet = c.tx(op, part, ackreq=last and ackreq, imm=imm, inv=inv,
                      **fields)
    return packet


SIZES = (0, 1, 3, 4, 255, 256, 257, 512, 1001)


# ---- valid requests ---------------------------------------------------------


@case("resp.send", "IBTA 9.4.1: a SEND of any length is placed and completes "
      "once, the ACK carries its PSN and the MSN",
      table={f"ipv{v}": v for v in (4, 6)})
def send(rig, version):
    c = rig.conn(version=version)
    for msn, size in enumerate(SIZES, 1):
        data = pattern(size, msn)
        c.mem.fill()
        c.post_recv(wr_id=msn)
        last = message(c, data, "SEND")
        c.expect_ack(last.psn, msn=msn)
        c.recv_wc(msn, byte_len=size, opcode=e.IBV_WC_RECV)
        same(c.mem[:size + 4], data + b"ZZZZ", f"{size} bytes")
    c.expect_silence()


@case("resp.send_imm", "IBTA 9.4.1: immediate data comes with the completion")
def send_imm(rig):
    c = rig.conn()
    for size in 0, 5, 600:
        c.post_recv(wr_id=size)
        last = message(c, pattern(size), "SEND_IMM", imm=0x01020304 + size)
        c.expect_ack(last.psn)
        wc = c.recv_wc(size, byte_len=size, opcode=e.IBV_WC_RECV,
                       imm_data=socket_order(0x01020304 + size))
        same(wc.wc_flags & e.IBV_WC_WITH_IMM, e.IBV_WC_WITH_IMM, "wc_flags")


@case("resp.completion_flags", "IBTA 11.4.2.1: a receive completion of RC says "
      "WITH_IMM where there is immediate data, and no GRH", table={
          "send": (roce.SEND_ONLY, 0), "imm": (roce.SEND_ONLY_IMM,
                                               e.IBV_WC_WITH_IMM)})
def completion_flags(rig, row):
    op, flags = row
    c = rig.conn()
    c.post_recv(wr_id=1)
    p = c.send(b"x", op=op)
    c.expect_ack(p.psn)
    same(c.recv_wc(1).wc_flags, flags, "wc_flags")


@case("resp.write", "IBTA 9.4.3: a WRITE of any length is placed, and no "
      "receive request is used", table={f"ipv{v}": v for v in (4, 6)})
def write(rig, version):
    c = rig.conn(version=version)
    c.post_recv(wr_id=1)
    for msn, size in enumerate(SIZES, 1):
        data = pattern(size, msn)
        c.mem.fill()
        last = message(c, data, "WRITE", va=c.mem.addr + 101)
        c.expect_ack(last.psn, msn=msn)
        same(c.mem[97:101 + size + 4], b"ZZZZ" + data + b"ZZZZ",
             f"{size} bytes")
    c.no_wc()


@case("resp.write_imm", "IBTA 9.4.3: a WRITE with immediate data takes a "
      "receive request, whose buffer it leaves alone")
def write_imm(rig):
    c = rig.conn()
    for size in 0, 5, 600:
        c.mem.fill()
        c.post_recv(offset=8192, wr_id=size)
        last = message(c, pattern(size), "WRITE_IMM", imm=0xa0b0c0d0)
        c.expect_ack(last.psn)
        wc = c.recv_wc(size, byte_len=size,
                       opcode=e.IBV_WC_RECV_RDMA_WITH_IMM,
                       imm_data=socket_order(0xa0b0c0d0))
        same(wc.wc_flags & e.IBV_WC_WITH_IMM, e.IBV_WC_WITH_IMM, "wc_flags")
        same(c.mem[:size + 4], pattern(size) + b"ZZZZ", f"{size} bytes")
        same(c.mem[8192:8196], b"ZZZZ", "receive buffer")


@case("resp.read", "IBTA 9.4.4, 9.7.5.1: a READ of any length is answered at "
      "its PSN, one PSN per packet", table={f"ipv{v}": v for v in (4, 6)})
def read(rig, version):
    c = rig.conn(version=version)
    data = pattern(2000)
    c.mem[:2000] = data
    for msn, size in enumerate(SIZES, 1):
        p = c.read(size, 77)
        last = c.expect_response(data[77:77 + size], p.psn)
        same(last.msn, msn, "MSN")
    c.expect_silence()


@case("resp.short_last_packet", "A17.3.3: of a long READ response, which the stack "
      "may split late (GSO), each packet has a right ICRC, also a last one that "
      "is shorter", table={f"ipv{v}": v for v in (4, 6)})
def short_last(rig, version):
    c = rig.conn(version=version)
    c.mem[:20000] = pattern(20000)
    with rig.super_packets():
        for size in (40 * MTU + n for n in (1, 2, 3, 4, MTU - 1, MTU)):
            p = c.read(size)
            c.expect_response(pattern(20000)[:size], p.psn)


@case("resp.atomics", "IBTA 9.4.5: the value before comes back, the memory "
      "holds the value after")
def atomics(rig):
    c = rig.conn()
    at = 64

    def value():
        return struct.unpack("=Q", c.mem[at:at + 8])[0]
    for op, before, fields, after in (
            (roce.FETCH_ADD, 5, dict(swap=3), 8),
            (roce.FETCH_ADD, (1 << 64) - 1, dict(swap=2), 1),
            (roce.CMP_SWAP, 5, dict(compare=5, swap=9), 9),
            (roce.CMP_SWAP, 5, dict(compare=6, swap=9), 5),
            (roce.CMP_SWAP, 1 << 63 | 1, dict(compare=1 << 63 | 1, swap=0), 0)):
        c.mem[at:at + 8] = struct.pack("=Q", before)
        p = c.atomic(op, at, **fields)
        c.expect(roce.ATOMIC_ACK, psn=p.psn, orig=before)
        same(value(), after, "value after")


@case("resp.solicited", "IBTA 9.2, 11.4.2.2: a message with the solicited bit wakes a "
      "waiter for solicited events, another one does not")
def solicited(rig):
    before = event_fds()
    channel = CompChannel(rig.dev.ctx)
    fd, = event_fds() - before
    cq = CQ(rig.dev.ctx, 64, channel=channel)
    c = rig.conn(recv_cq=cq)
    for se in 0, 1:
        cq.req_notify(solicited_only=True)
        c.post_recv(wr_id=se)
        p = c.send(b"x", se=se)
        c.expect_ack(p.psn)
        c.recv_wc(se)
        woken = bool(select.select([fd], [], [], 1 if se else rig.quiet)[0])
        same(woken, bool(se), f"woken by SE {se}")
    channel.get_cq_event(cq)
    rig.close()
    channel.close()


def event_fds():
    """Finds descriptors of event queues, which pyverbs hides."""
    fds = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            if "infinibandevent" in os.readlink(f"/proc/self/fd/{fd}"):
                fds.add(int(fd))
        except OSError:
            pass
    return fds


@case("resp.comm_est", "IBTA 11.6.3.1: the first packet of a QP in RTR raises "
      "COMM_EST")
def comm_est(rig):
    c = rig.conn(state="RTR")
    c.post_recv(wr_id=1)
    p = c.send(b"x")
    c.expect_ack(p.psn)
    c.recv_wc(1)
    c.expect_event("COMM_EST")


@case("resp.order_of_answers", "IBTA 9.7.5.1.1: answers leave in the order of "
      "the requests")
def order(rig):
    c = rig.conn()
    for i in range(3):
        c.post_recv(wr_id=i)
    c.mem[:2000] = pattern(2000)
    a = c.send(b"a", ackreq=0)
    b = c.read(1500)
    d = c.send(b"d", ackreq=1)
    f = c.read(10)
    acked = set()
    for wanted in (a, b, d, f):
        if wanted in (a, d):
            # a later answer acknowledges it, too
            continue
        while True:
            p = c.rx()
            if not p:
                raise Wrong(f"no answer to {wanted}")
            if p.op == roce.ACK:
                acked.add(p.psn)
                if wanted is b and p.psn not in (a.psn,):
                    raise Wrong(f"{p} before the READ response")
                continue
            break
        if p.psn != wanted.psn:
            raise Wrong(f"got {p}, wanted the answer to psn {wanted.psn:06x}")
        while p.op not in (roce.READ_LAST, roce.READ_ONLY):
            p = c.rx() or p


@case("resp.ack_only_if_asked", "IBTA 9.7.5.1.2: SENDs and WRITEs without "
      "AckReq need no ACK; the next one that asks stands for all")
def coalesce(rig):
    c = rig.conn()
    for i in range(4):
        c.post_recv(wr_id=i)
    for i in range(3):
        c.send(b"x", ackreq=0)
    p = c.send(b"x")
    while True:
        ack = c.expect(roce.ACK)
        if ack.psn == p.psn:
            break
    same(ack.msn, 4, "MSN")
    for i in range(4):
        c.recv_wc(i)


# ---- sequence ----------------------------------------------------------------


@case("resp.psn_wrap", "IBTA 9.7.1: PSNs are counted modulo 2^24",
      table={"send": "SEND", "write": "WRITE", "read": "READ"})
def psn_wrap(rig, kind):
    for start in 0xfffffe, 0xffffff, 0:
        c = rig.conn(psn=start)
        c.mem.fill()
        c.post_recv(wr_id=1)
        if kind == "READ":
            c.mem[:1000] = pattern(1000)
            p = c.read(1000)
            c.expect_response(pattern(1000), p.psn)
            c.read(1000, psn=p.psn)  # and again
            c.expect_response(pattern(1000), p.psn)
            continue
        last = message(c, pattern(1000), kind)
        c.expect_ack(last.psn, msn=1)
        same(c.mem[:1000], pattern(1000), "data")
        message(c, bytes(1000), kind, psn=start)  # a duplicate
        c.expect_ack(last.psn, msn=1)
        same(c.mem[:1000], pattern(1000), "data after a duplicate")


@case("resp.psn_ahead", "IBTA 9.7.5.1.2: a PSN ahead of the expected draws one "
      "sequence NAK with the expected PSN, then silence until that has come",
      table={"by_1": 1, "by_2": 2, "by_half_less_1": HALF - 1})
def ahead(rig, by):
    c = rig.conn()
    for i in range(4):
        c.post_recv(wr_id=i)
    expected = c.psn
    with counted(rig, "out_of_sequence", 3):
        for _ in range(3):
            c.send(b"ahead", psn=psn_add(expected, by))
        c.expect_nak(roce.NAK_SEQ, expected)
        c.expect_silence()
    c.no_wc()
    p = c.send(b"now")
    c.expect_ack(p.psn, msn=1)
    c.recv_wc(0, byte_len=3)
    # the next gap draws a NAK again
    c.send(b"ahead", psn=psn_add(c.psn, 1))
    c.expect_nak(roce.NAK_SEQ, c.psn)


@case("resp.kept_for_none", "IBTA 9.7.5.1.2: a peer that another kernel has, also a "
      "softhca, gets the sequence NAK: what is ahead is dropped, and executed when it "
      "comes again", table={"stranger": None, "softhca": (0xffffff, 0x53480001)})
def kept_for_none(rig, ece):
    c = rig.conn(ece=ece)
    for i in range(4):
        c.post_recv(wr_id=i)
    expected = c.psn
    for i in 1, 2:
        c.send(b"ahead", psn=psn_add(expected, i))
    c.expect_nak(roce.NAK_SEQ, expected)
    c.expect_ack(c.send(b"now").psn, msn=1)
    c.recv_wc(0, byte_len=3)
    c.expect_silence()
    c.no_wc()
    c.expect_ack(c.send(b"again").psn, msn=2)
    c.recv_wc(1, byte_len=5)


@case("resp.psn_behind", "IBTA 9.7.1, C9-105: PSNs from -1 to -2^23 are "
      "duplicates: not executed; acknowledged if asked to",
      table={f"{n}_{kind.lower()}": (d, kind)
             for n, d in (("by_1", 1), ("by_2", 2), ("by_half", HALF))
             for kind in ("SEND", "WRITE")})
def behind(rig, row):
    by, kind = row
    c = rig.conn(psn=0x10)
    c.post_recv(wr_id=1)
    c.mem.fill()
    old = psn_add(c.psn, -by)
    with counted(rig, "duplicate_request", 2):
        for ackreq in 0, 1:
            if kind == "SEND":
                c.send(b"old", psn=old, ackreq=ackreq)
            else:
                c.write(b"old", psn=old, ackreq=ackreq)
            if not ackreq:
                c.expect_silence()
        # the latest state, not the duplicate's
        c.expect_ack(psn_add(c.psn, -1), msn=0)
    c.no_wc()
    same(c.mem[:4], b"ZZZZ", "memory")
    p = c.send(b"new")
    c.expect_ack(p.psn, msn=1)
    c.recv_wc(1, byte_len=3)


@case("resp.psn_behind_of_none", "IBTA 9.7.5.1.4, 9.7.5.1.5: a duplicate READ or "
      "atomic that never was is neither executed nor answered",
      table={f"{n}_{kind.lower()}": (d, kind)
             for n, d in (("by_1", 1), ("by_2", 2), ("by_half", HALF))
             for kind in ("READ", "FETCH_ADD", "CMP_SWAP")})
def behind_none(rig, row):
    by, kind = row
    c = rig.conn(psn=0x10)
    c.post_recv(wr_id=1)
    c.mem.fill()
    fields = dict(psn=psn_add(c.psn, -by))
    if kind == "CMP_SWAP":
        fields["compare"] = 0x5a5a5a5a5a5a5a5a
    access_request(c, kind, **fields)
    c.expect_silence()
    same(c.mem[:8], b"Z" * 8, "memory")
    p = c.send(b"new")
    c.expect_ack(p.psn, msn=1)
    c.recv_wc(1, byte_len=3)


@case("resp.reserved_opcode", "IBTA 9.7.4.1.3: a reserved or unsupported "
      "opcode of the transport draws NAK invalid request",
      table={f"{op:02x}": op for op in
             (0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f)})
def reserved(rig, op):
    c = rig.conn()
    c.post_recv(wr_id=1)
    p = c.tx(op, b"1234", ackreq=1, ext=bytes(28) if op > 0x1b else b"")
    if rig.is_softhca or op not in (roce.FLUSH, roce.ATOMIC_WRITE):
        c.expect_nak(roce.NAK_INVALID, p.psn)
    elif c.expect(roce.ACK).syndrome & 0xe0 != 0x60:
        raise Wrong("no NAK")
    flushed(c)


@case("resp.response_opcode", "IBTA 9.6: a response is not for the responder",
      table={roce.NAMES[op].lower(): op for op in sorted(roce.RESPONSES)})
def response_opcode(rig, op):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.tx(op, b"" if op in (roce.ACK, roce.ATOMIC_ACK) else bytes(MTU),
         psn=c.psn, syndrome=roce.NO_CREDITS)
    p = c.send(b"x")
    c.expect_ack(p.psn, msn=1)
    c.recv_wc(1)


# ---- lengths ------------------------------------------------------------------


LENGTHS = {
    # name: packets of one message: (op, bytes); the last is refused
    "send_first_short": [(roce.SEND_FIRST, MTU - 4)],
    "send_first_long": [(roce.SEND_FIRST, MTU + 4)],
    "send_first_empty": [(roce.SEND_FIRST, 0)],
    "send_middle_short": [(roce.SEND_FIRST, MTU), (roce.SEND_MIDDLE, MTU - 4)],
    "send_middle_long": [(roce.SEND_FIRST, MTU), (roce.SEND_MIDDLE, MTU + 4)],
    "send_last_empty": [(roce.SEND_FIRST, MTU), (roce.SEND_LAST, 0)],
    "send_last_long": [(roce.SEND_FIRST, MTU), (roce.SEND_LAST, MTU + 4)],
    "send_only_long": [(roce.SEND_ONLY, MTU + 4)],
    "send_only_imm_long": [(roce.SEND_ONLY_IMM, MTU + 4)],
    "write_first_short": [(roce.WRITE_FIRST, MTU - 4)],
    "write_only_long": [(roce.WRITE_ONLY, MTU + 4)],
    "write_middle_short": [(roce.WRITE_FIRST, MTU),
                           (roce.WRITE_MIDDLE, MTU - 4)],
    "write_last_empty": [(roce.WRITE_FIRST, MTU), (roce.WRITE_LAST, 0)],
    "read_with_payload": [(roce.READ_REQUEST, 4)],
    "cmp_swap_with_payload": [(roce.CMP_SWAP, 4)],
}


@case("resp.length", "IBTA 9.7.4.1.6: FIRST and MIDDLE carry a path MTU, LAST "
      "1 to MTU, ONLY 0 to MTU; else NAK invalid request", table=LENGTHS)
def length(rig, packets):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.mem.fill()
    for i, (op, size) in enumerate(packets):
        p = c.tx(op, pattern(size), ackreq=i == len(packets) - 1,
                 va=c.mem.addr, rkey=c.mem.rkey, dmalen=3 * MTU)
    c.expect_nak(roce.NAK_INVALID, p.psn)
    failed(c, used=len(packets) > 1 and packets[0][0] == roce.SEND_FIRST)


@case("resp.write_length", "IBTA 9.7.4.1.6: the payloads of a WRITE add up to "
      "its DMA length; else NAK invalid request", table={
          "only_short": ("WRITE", 100, 101), "only_long": ("WRITE", 100, 99),
          "more_to_come": ("WRITE", 600, 601), "too_much": ("WRITE", 600, 599),
          "first_has_it_all": ("WRITE", 600, 256),
          "only_imm_long": ("WRITE_IMM", 100, 96),
          "zero_with_payload": ("WRITE", 4, 0)})
def write_length(rig, row):
    kind, size, dmalen = row
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.mem.fill()
    message(c, pattern(size), kind, dmalen=dmalen)
    c.expect_nak(roce.NAK_INVALID)
    flushed(c)
    same(c.mem[dmalen:dmalen + 4], b"ZZZZ", "memory beyond the DMA length")


@case("resp.longer_than_2_31", "IBTA 9.7.6: messages are at most 2^31 bytes",
      table={"write": roce.WRITE_FIRST, "read": roce.READ_REQUEST})
def too_long(rig, op):
    c = rig.conn()
    c.post_recv(wr_id=1)
    data = pattern(MTU) if op == roce.WRITE_FIRST else b""
    p = c.tx(op, data, va=c.mem.addr, rkey=c.mem.rkey, dmalen=0x80000001,
             ackreq=1)
    # the key covers less, too, and must not be checked
    c.expect_nak(roce.NAK_INVALID, p.psn)
    flushed(c)


@case("resp.longer_than_the_receive", "IBTA 9.9.3: a SEND longer than the "
      "receive buffer: NAK invalid request, LOC_LEN_ERR, nothing beyond",
      table={"only": (10, 11), "two_packets": (300, 400), "by_1": (512, 513)})
def longer(rig, row):
    room, size = row
    c = rig.conn()
    c.mem.fill()
    c.post_recv(length=room, wr_id=1)
    c.post_recv(wr_id=2)
    message(c, pattern(size), "SEND")
    c.expect_nak(roce.NAK_INVALID)
    c.recv_wc(1, "LOC_LEN_ERR")
    flushed(c, 2)
    same(c.mem[room:room + 4], b"ZZZZ", "memory beyond the buffer")


@case("resp.event_req_err", "IBTA 11.6.3.3: an invalid request raises "
      "QP_REQ_ERR")
def event_req_err(rig):
    c = rig.conn()
    c.tx(roce.SEND_MIDDLE, pattern(MTU), ackreq=1)
    c.expect_nak(roce.NAK_INVALID)
    c.expect_event("QP_REQ_ERR")


# ---- keys, ranges, rights ----------------------------------------------------


def access_request(c, kind, **fields):
    """One request that accesses 8 bytes of remote memory."""
    if kind == "WRITE":
        return c.write(bytes(8), **fields)
    if kind == "WRITE_IMM":
        return c.write(bytes(8), op=roce.WRITE_ONLY_IMM, **fields)
    if kind == "READ":
        return c.read(8, **fields)
    return c.atomic(getattr(roce, kind), **fields)


KINDS = ("WRITE", "WRITE_IMM", "READ", "CMP_SWAP", "FETCH_ADD")
RIGHT = {"WRITE": e.IBV_ACCESS_REMOTE_WRITE,
         "WRITE_IMM": e.IBV_ACCESS_REMOTE_WRITE,
         "READ": e.IBV_ACCESS_REMOTE_READ,
         "CMP_SWAP": e.IBV_ACCESS_REMOTE_ATOMIC,
         "FETCH_ADD": e.IBV_ACCESS_REMOTE_ATOMIC}


@case("resp.bad_key", "IBTA 9.7.4.1.4, C9-88: memory that may not be reached "
      "so: NAK remote access error, nothing changed, receives flushed (the one that "
      "a WRITE with immediate data would complete: next case)",
      table={f"{kind.lower()}_{how}": (kind, how) for kind in KINDS for how in
             ("unknown_key", "beyond_the_end", "before_the_start",
              "address_wraps", "right_not_given", "other_pd", "stale_key")})
def bad_key(rig, row):
    kind, how = row
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.mem.fill()
    region, pd = None, None
    fields = {}
    if how == "unknown_key":
        fields["rkey"] = c.mem.rkey ^ 0x55
    elif how == "beyond_the_end":
        fields["va"] = c.mem.addr + c.mem.length - (0 if kind in (
            "CMP_SWAP", "FETCH_ADD") else 7)
    elif how == "before_the_start":
        fields["va"] = c.mem.addr - 8
    elif how == "address_wraps":
        fields["va"] = (1 << 64) - 8
    elif how == "right_not_given":
        region = Memory(rig.dev.pd, 4096, ALL_ACCESS & ~RIGHT[kind])
    elif how == "other_pd":
        pd = PD(rig.dev.ctx)
        region = Memory(pd, 4096)
    else:
        region = Memory(rig.dev.pd, 4096)
        region.mr.close()
    if region:
        region.fill()
        fields.update(va=region.addr, rkey=region.rkey)
    p = access_request(c, kind, **fields)
    c.expect_nak(roce.NAK_ACCESS, p.psn)
    if kind == "WRITE_IMM":
        c.expect_state("ERR")
        c.recv_wc(1, "LOC_ACCESS_ERR")
    else:
        flushed(c)
    for mem in filter(None, (c.mem, region)):
        if mem[:] != b"Z" * mem.length:
            raise Wrong("memory was changed")
    if region and how != "stale_key":
        region.mr.close()
    if pd:
        pd.close()


@case("resp.write_imm_bad_key", "IBTA 11.6.2: a WRITE with immediate data and a "
      "bad key: NAK remote access error, and its receive request completes with "
      "LOC_ACCESS_ERR", table={"key": 0x55, "range": 0})
def write_imm_bad_key(rig, xor):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.post_recv(wr_id=2)
    c.write(b"x", op=roce.WRITE_ONLY_IMM, rkey=c.mem.rkey ^ xor,
            va=c.mem.addr + (0 if xor else c.mem.length))
    c.expect_nak(roce.NAK_ACCESS)
    c.recv_wc(1, "LOC_ACCESS_ERR")
    flushed(c, 2)


@case("resp.long_write_imm_bad_key", "IBTA 9.9.3: where the first of several packets "
      "has the bad key, nobody knows yet that immediate data would follow: the "
      "receive request is not used")
def long_write_imm_bad_key(rig):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.tx(roce.WRITE_FIRST, pattern(MTU), va=c.mem.addr, rkey=c.mem.rkey ^ 0x55,
         dmalen=MTU + 1, ackreq=1)
    c.expect_nak(roce.NAK_ACCESS)
    flushed(c)


@case("resp.event_access_err", "IBTA 11.6.3.3: an access violation raises "
      "QP_ACCESS_ERR")
def event_access_err(rig):
    c = rig.conn()
    c.write(b"x", rkey=c.mem.rkey ^ 0x55)
    c.expect_nak(roce.NAK_ACCESS)
    c.expect_event("QP_ACCESS_ERR")


@case("resp.range_of_a_long_message", "IBTA 9.7.4.1.4: the whole range of the "
      "RETH is checked before the first byte moves",
      table={"write": "WRITE", "read": "READ"})
def long_range(rig, kind):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.mem.fill()
    va = c.mem.addr + c.mem.length - 600
    if kind == "WRITE":
        c.tx(roce.WRITE_FIRST, pattern(MTU), va=va, rkey=c.mem.rkey, dmalen=601)
    else:
        c.read(601, va=va)
    c.expect_nak(roce.NAK_ACCESS)
    flushed(c)
    same(c.mem[c.mem.length - 600:c.mem.length - 590], b"Z" * 10, "memory")


@case("resp.zero_length_ignores_the_key", "C9-88: a zero-length request is not "
      "checked against key, address and rights", table={
          "write": "WRITE", "write_imm": "WRITE_IMM", "read": "READ"})
def zero_length(rig, kind):
    for fields in (dict(rkey=0, va=0), dict(rkey=0x123456, va=(1 << 64) - 1)):
        c = rig.conn()
        c.post_recv(wr_id=1)
        if kind == "READ":
            p = c.read(0, **fields)
            c.expect_response(b"", p.psn)
            continue
        op = roce.WRITE_ONLY_IMM if kind == "WRITE_IMM" else roce.WRITE_ONLY
        p = c.write(b"", op=op, **fields)
        c.expect_ack(p.psn, msn=1)
        if kind == "WRITE_IMM":
            c.recv_wc(1, byte_len=0)


@case("resp.right_of_the_qp", "IBTA 9.7.4.1.3, 9.7.5.2.4: an operation that the "
      "QP does not permit is not supported: NAK invalid request",
      table={kind.lower(): kind for kind in KINDS})
def right_of_the_qp(rig, kind):
    c = rig.conn(access=ALL_ACCESS & ~RIGHT[kind])
    c.post_recv(wr_id=1)
    c.mem.fill()
    p = access_request(c, kind)
    c.expect_nak(roce.NAK_INVALID, p.psn)
    flushed(c)
    same(c.mem[:8], b"Z" * 8, "memory")


@case("resp.misaligned_atomic", "IBTA 9.4.5: an atomic is naturally aligned; "
      "else NAK invalid request",
      table={"cmp_swap": roce.CMP_SWAP, "fetch_add": roce.FETCH_ADD})
def misaligned(rig, op):
    c = rig.conn()
    c.mem.fill()
    p = c.atomic(op, va=c.mem.addr + 4, swap=1, compare=0x5a5a5a5a5a5a5a5a)
    c.expect_nak(roce.NAK_INVALID, p.psn)
    same(c.mem[:16], b"Z" * 16, "memory")


@case("resp.rd_atomic_0", "IBTA 9.7.4.1.3: with max_dest_rd_atomic 0 no READ "
      "and no atomic is supported: NAK invalid request",
      table={"read": "READ", "fetch_add": "FETCH_ADD"})
def rd_atomic_0(rig, kind):
    c = rig.conn(dest_rd_atomic=0)
    c.post_recv(wr_id=1)
    p = access_request(c, kind)
    c.expect_nak(roce.NAK_INVALID, p.psn)
    flushed(c)


@case("resp.more_reads_than_agreed", "IBTA 9.7.4.1.3, 9.7.5.2.4: one READ more at "
      "a time than max_dest_rd_atomic draws NAK invalid request, after the answers "
      "to those before it", table={"1": 1, "2": 2, "4": 4})
def more_reads(rig, agreed):
    c = rig.conn(dest_rd_atomic=agreed)
    data = pattern(c.mem.length)
    c.mem[:] = data
    # as one skb, so that none is answered before all have come
    reads = [c.packet(roce.READ_REQUEST, va=c.mem.addr + i * 8, rkey=c.mem.rkey,
                      dmalen=3 * MTU, psn=psn_add(c.psn, 3 * i))
             for i in range(agreed + 1)]
    c.peer.send_batch(reads, version=c.version)
    for i, p in enumerate(reads[:agreed]):
        c.expect_response(data[i * 8:i * 8 + 3 * MTU], p.psn)
    c.expect_nak(roce.NAK_INVALID, reads[agreed].psn)
    c.expect_state("ERR")


@case("resp.bad_receive_buffer", "IBTA 9.9.3: a receive request that names "
      "memory wrongly: NAK remote operational error, LOC_PROT_ERR here",
      table={"lkey": "lkey", "range": "range", "no_local_write": "right"})
def bad_receive(rig, how):
    c = rig.conn()
    region = None
    c.mem.fill()
    if how == "lkey":
        sge = SGE(c.mem.addr, 64, c.mem.lkey ^ 0x55)
    elif how == "range":
        sge = SGE(c.mem.addr + c.mem.length - 1, 64, c.mem.lkey)
    else:
        region = Memory(rig.dev.pd, 4096, 0)
        sge = region.sge(0, 64)
    c.post_recv(sge=sge, wr_id=1)
    c.post_recv(wr_id=2)
    p = c.send(b"12345678")
    c.expect_nak(roce.NAK_OPERATION, p.psn)
    c.recv_wc(1, "LOC_PROT_ERR")
    flushed(c, 2)
    if region:
        region.mr.close()


@case("resp.send_inv_bad_key", "IBTA 9.4.1.1: a SEND that invalidates what may "
      "not be invalidated draws NAK remote access error; its receive request "
      "completes with LOC_ACCESS_ERR (see Decided)", table={
          "unknown": 0x55, "region_of_a_process": 0})
def send_inv(rig, xor):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.post_recv(wr_id=2)
    message(c, b"x", "SEND_INV", inv=c.mem.rkey ^ xor)
    c.expect_nak(roce.NAK_ACCESS)
    c.recv_wc(1, "LOC_ACCESS_ERR")
    flushed(c, 2)


# ---- RNR ----------------------------------------------------------------------


@case("resp.rnr", "IBTA 9.7.5.2.8: without a receive request: RNR NAK with the "
      "PSN and the QP's timer; what follows is dropped silently; the retry is "
      "executed", table={
          "send": ("SEND", 100), "long_send": ("SEND", 700),
          "write_imm": ("WRITE_IMM", 100), "zero_send": ("SEND", 0)})
def rnr(rig, row):
    kind, size = row
    c = rig.conn(rnr_timer=9)
    start = c.psn
    with counted(rig, "out_of_buffer"):
        message(c, pattern(size), kind)
        after = c.psn
        c.send(b"behind")
        c.send(b"behind")
        c.expect_nak(0x20 | 9, start)
    c.expect_silence()
    c.no_wc()
    c.post_recv(wr_id=1)
    c.psn = start
    last = message(c, pattern(size), kind)
    same(c.psn, after, "PSN")
    c.expect_ack(last.psn, msn=1)
    c.recv_wc(1, byte_len=size)
    c.expect_silence()


@case("resp.rnr_again", "IBTA 9.7.5.2.8: each retry that finds no receive "
      "request draws an RNR NAK")
def rnr_again(rig):
    c = rig.conn()
    start = c.psn
    for _ in range(4):
        c.send(b"x", psn=start)
        c.expect_nak(0x21, start)
    c.post_recv(wr_id=1)
    c.send(b"x")
    c.expect_ack(start, msn=1)
    c.recv_wc(1, byte_len=1)


@case("resp.rnr_in_mid_message", "IBTA 9.7.5.2.8: a WRITE with immediate data "
      "takes its receive request with the last packet: the RNR NAK is about "
      "that one, what came before stays")
def rnr_mid(rig):
    c = rig.conn()
    c.mem.fill()
    data = pattern(600)
    last = message(c, data, "WRITE_IMM", imm=7)
    nak = c.expect(roce.ACK)
    same(nak.syndrome, 0x21, "syndrome")
    same(nak.psn, last.psn, "PSN of the RNR NAK")
    same(c.mem[:512], data[:512], "first packets")
    c.post_recv(offset=8192, wr_id=1)
    c.tx(roce.WRITE_LAST_IMM, data[512:], psn=last.psn, imm=7, ackreq=1)
    c.expect_ack(last.psn, msn=1)
    c.recv_wc(1, byte_len=600, imm_data=socket_order(7))
    same(c.mem[:604], data + b"ZZZZ", "data")


@case("resp.rnr_timer_codes", "IBTA 9.7.5.2.8, table 45: each timer code goes "
      "to the wire as it is")
def rnr_codes(rig):
    c = rig.conn()
    for code in range(32):
        c.modify("MIN_RNR_TIMER STATE", min_rnr_timer=code,
                 qp_state=e.IBV_QPS_RTS)
        c.send(b"x", psn=c.psn)
        c.expect_nak(0x20 | code, c.psn)


@case("resp.rnr_then_write", "IBTA 9.7.5.2.8: while an RNR NAK stands, only "
      "the refused PSN goes on")
def rnr_then_write(rig):
    c = rig.conn()
    c.mem.fill()
    first = c.send(b"x")
    c.expect_nak(0x21, first.psn)
    c.write(b"late")
    c.expect_silence()
    same(c.mem[:4], b"ZZZZ", "memory")


# ---- repeated requests: lost answers -----------------------------------------


@case("resp.lost_ack", "C9-105: a request repeated since its ACK was lost is "
      "acknowledged, and executed once",
      table={"send": ("SEND", 100), "send_imm": ("SEND_IMM", 300),
             "write": ("WRITE", 700), "write_imm": ("WRITE_IMM", 300),
             "zero_send": ("SEND", 0)})
def lost_ack(rig, row):
    kind, size = row
    c = rig.conn()
    start = c.psn
    for i in range(3):
        c.post_recv(offset=8192, wr_id=i)
    last = message(c, pattern(size), kind)
    c.expect_ack(last.psn, msn=1)
    if kind != "WRITE":
        c.recv_wc(0, byte_len=size)
    c.mem.fill()
    for _ in range(2):
        message(c, pattern(size), kind, psn=start)
        c.expect_ack(last.psn, msn=1)
    c.no_wc()
    same(c.mem[:size + 4], b"Z" * (size + 4), "memory")
    same(c.mem[8192:8200], b"Z" * 8, "receive buffer")


@case("resp.lost_atomic_ack", "IBTA 9.7.5.1.5: a repeated atomic returns what "
      "the first one returned, and is executed once", table={
          "cmp_swap": (roce.CMP_SWAP, dict(compare=7, swap=8), 8),
          "fetch_add": (roce.FETCH_ADD, dict(swap=5), 12)})
def lost_atomic(rig, row):
    op, fields, after = row
    c = rig.conn()
    c.mem[:8] = struct.pack("=Q", 7)
    p = c.atomic(op, **fields)
    c.expect(roce.ATOMIC_ACK, psn=p.psn, orig=7)
    for _ in range(3):
        c.atomic(op, psn=p.psn, **fields)
        c.expect(roce.ATOMIC_ACK, psn=p.psn, orig=7)
    same(struct.unpack("=Q", c.mem[:8])[0], after, "value")


@case("resp.repeated_atomics", "IBTA 9.7.5.1.5: as many READs and atomics as "
      "agreed upon can be repeated; a later one of their order still answers")
def repeated_atomics(rig):
    c = rig.conn(dest_rd_atomic=4)
    c.mem[:8] = bytes(8)
    first = [c.atomic(roce.FETCH_ADD, swap=1) for _ in range(12)]
    for i, p in enumerate(first):
        c.expect(roce.ATOMIC_ACK, psn=p.psn, orig=i)
    for i in (8, 9, 10, 11):
        c.atomic(roce.FETCH_ADD, psn=first[i].psn, swap=1)
        c.expect(roce.ATOMIC_ACK, psn=first[i].psn, orig=i)
    # a result that is no longer kept: do not execute again
    c.atomic(roce.FETCH_ADD, psn=first[0].psn, swap=1)
    c.expect_silence()
    same(struct.unpack("=Q", c.mem[:8])[0], 12, "counter")


@case("resp.repeated_read", "IBTA 9.7.5.1.4: a READ repeated in whole or from "
      "one of its packets on is answered from there, in any order", table={
          "whole": (0,), "from_1": (1,), "last": (3,), "from_2_then_whole":
          (2, 0), "whole_from_1_whole": (0, 1, 0), "last_twice_then_whole":
          (3, 3, 0)})
def repeated_read(rig, starts):
    c = rig.conn()
    data = pattern(1000)
    c.mem[:1000] = data
    p = c.read(1000)
    c.expect_response(data, p.psn)
    for start in starts:
        at = start * MTU
        c.read(1000 - at, at, psn=psn_add(p.psn, start))
        c.expect_response(data[at:], psn_add(p.psn, start))
    q = c.read(5)
    c.expect_response(data[:5], q.psn)


@case("resp.repeated_zero_read", "IBTA 9.7.5.1.4: a zero-length READ can be "
      "repeated")
def repeated_zero_read(rig):
    c = rig.conn()
    p = c.read(0, rkey=0, va=0)
    c.expect_response(b"", p.psn)
    q = c.read(8)
    c.expect_response(c.mem[:8], q.psn)
    c.read(0, rkey=0, va=0, psn=p.psn)
    c.expect_response(b"", p.psn)
    c.read(8, psn=q.psn)
    c.expect_response(c.mem[:8], q.psn)


@case("resp.repeated_read_reads_again", "IBTA 9.7.5.1.4: memory may change "
      "between two answers; the repeated READ shows it as it is")
def read_again(rig):
    c = rig.conn()
    c.mem[:8] = b"12345678"
    p = c.read(8)
    c.expect_response(b"12345678", p.psn)
    c.mem[:8] = b"abcdefgh"
    c.read(8, psn=p.psn)
    c.expect_response(b"abcdefgh", p.psn)


@case("resp.repeated_read_of_other_memory", "IBTA 9.7.5.1.4: a repeated READ "
      "lies within the first one; else it is not answered", table={
          "other_address": dict(va=2048), "longer": dict(dmalen=2000),
          "other_key": dict(rkey=1)})
def other_read(rig, change):
    c = rig.conn()
    c.mem[:4096] = pattern(4096)
    p = c.read(1000)
    c.expect_response(pattern(1000), p.psn)
    fields = dict(change)
    if "va" in fields:
        fields["va"] += c.mem.addr
    if "rkey" in fields:
        fields["rkey"] = c.mem.rkey ^ 0x55
    c.read(1000, psn=p.psn, **fields)
    c.expect_silence()


@case("resp.repeated_after_gap", "IBTA 9.7.5.1.2: go-back-N: after a loss the "
      "requests from there on are executed once, in order")
def after_gap(rig):
    c = rig.conn()
    for i in range(6):
        c.post_recv(wr_id=i, offset=i * 64)
    packets = [c.packet(roce.SEND_ONLY, b"%d" % i, psn=psn_add(c.psn, i),
                        ackreq=1) for i in range(6)]
    for i in (0, 1, 3, 4, 5):  # 2 is lost
        c.raw(packets[i])
    c.expect_ack(packets[0].psn)
    c.expect_ack(packets[1].psn)
    c.expect_nak(roce.NAK_SEQ, packets[2].psn)
    for i in range(2, 6):
        c.raw(packets[i])
    while True:
        if c.expect_ack().psn == packets[5].psn:
            break
    for i in range(6):
        c.recv_wc(i, byte_len=1)
        same(c.mem[i * 64:i * 64 + 1], b"%d" % i, "data")
    c.no_wc()


@case("resp.cq_overrun", "IBTA 11.6.3.2: a CQ that overflows raises CQ_ERR, the "
      "QP goes to error, and no completion is invented")
def cq_overrun(rig):
    c = rig.conn(cqe=4)
    room = c.recv_cq.cqe
    for i in range(room + 8):
        c.post_recv(wr_id=i)
    for _ in range(room + 8):
        c.send(b"x")
    c.expect_event("CQ_ERR")
    c.expect_state("ERR")
    n, wcs = c.recv_cq.poll(room + 8)
    same([wc.wr_id for wc in wcs], list(range(n)), "completions")
    # The ring is a power of two; one more than advertised fits, as with mlx5.
    if n != room + rig.is_softhca or any(wc.status for wc in wcs):
        raise Wrong(f"{n} completions in a CQ of {room}")
    c.no_wc()


@case("resp.key_gone_before_the_answer", "IBTA 9.9.3: where the key of a READ is "
      "revoked before all of the answer is sent, a NAK remote access error stands in "
      "place of the rest, and the QP is in error")
def revoked(rig):
    c = rig.conn()
    region = Memory(rig.dev.pd, 64 << 20)
    p = c.read(region.length, va=region.addr, rkey=region.rkey)
    c.expect(roce.READ_FIRST, psn=p.psn)  # the answer is in flight
    region.mr.close()
    c.expect_state("ERR")
    # The next packets may be lost, because this reader is so slow.
    answer, last = c.rx(), psn_add(p.psn, region.length // MTU - 1)
    while answer and answer.op == roce.READ_MIDDLE:
        answer = c.rx()
    if not answer or answer.op != roce.ACK:
        raise Wrong(f"the answer ends with {answer}")
    same(answer.syndrome, roce.NAK_ACCESS, "syndrome")
    if not 0 < (answer.psn - p.psn) & 0xffffff <= (last - p.psn) & 0xffffff:
        raise Wrong(f"{answer}: not within the answer")
    c.expect_silence()


@case("resp.repeated_read_of_a_revoked_key", "IBTA 9.7.5.1.4: a READ that comes "
      "again after its key was revoked is not answered, and the QP goes on")
def revoked_duplicate(rig):
    c = rig.conn()
    region = Memory(rig.dev.pd, 4096)
    p = c.read(8, va=region.addr, rkey=region.rkey)
    c.expect(roce.READ_ONLY, psn=p.psn)
    region.mr.close()
    c.read(8, va=region.addr, rkey=region.rkey, psn=p.psn)
    c.expect_silence()
    q = c.read(8)
    c.expect_response(c.mem[:8], q.psn)


@case("resp.nak_invalid_then_silence", "IBTA 9.9.3: after a fatal NAK the QP is "
      "in error: nothing more is executed or answered")
def after_nak(rig):
    c = rig.conn()
    c.mem.fill()
    c.tx(roce.SEND_LAST, b"x", ackreq=1)
    c.expect_nak(roce.NAK_INVALID)
    c.write(b"late")
    c.read(4)
    c.send(b"x", psn=psn_add(c.psn, -4))
    c.expect_silence()
    same(c.mem[:4], b"ZZZZ", "memory")


@case("resp.max_run", "IBTA 9.7.5.1.1: a burst of requests is executed in order, "
      "each once, with one ACK or several")
def burst(rig):
    c = rig.conn()
    for i in range(32):
        c.post_recv(wr_id=i, offset=64 * i, length=64)
    start = time.monotonic()
    for i in range(32):
        p = c.send(struct.pack("=I", i), ackreq=i % 8 == 7)
    while c.expect_ack().psn != p.psn:
        if time.monotonic() - start > rig.patience:
            raise Wrong("the last one was not acknowledged")
    for i in range(32):
        c.recv_wc(i)
        same(struct.unpack("=I", c.mem[64 * i:64 * i + 4])[0], i, "order")


