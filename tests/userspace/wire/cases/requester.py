# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The requester of the reliable connection: answers by the crafted peer."""
import struct
import time

import enums as e
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE, SendWR

import roce
from roce import NO_CREDITS, psn_add
from target import MTU, QPS, STATUS, WR, Memory, Skip, Wrong, pattern, show

from . import case
from .packets import counted
from .responder import same, split

VA, RKEY = 0x123456789a8, 0x4321  # aligned, as atomics must be
SOFTHCA = 0xffffff, 0x53480001  # vendor and options of ECE


def request(c, kind, length=4, **fields):
    """Posts one request of a kind of operation."""
    fields.setdefault("va", VA)
    fields.setdefault("rkey", RKEY)
    try:
        c.post(getattr(WR, kind), 8 if kind in ("CAS", "FAA") else length,
               **fields)
    except PyverbsRDMAError:
        if kind == "SEND_INV":
            raise Skip("SEND with invalidate is not offered") from None
        raise


def request_ops(kind, length):
    """Opcodes of the packets of a request."""
    if kind in ("READ", "CAS", "FAA"):
        return [{"READ": roce.READ_REQUEST, "CAS": roce.CMP_SWAP,
                 "FAA": roce.FETCH_ADD}[kind]]
    base, _, suffix = kind.partition("_")
    suffix = suffix and "_" + suffix
    count = max(1, -(-length // MTU))
    if count == 1:
        return [getattr(roce, f"{base}_ONLY{suffix}")]
    return ([getattr(roce, f"{base}_FIRST")] +
            [getattr(roce, f"{base}_MIDDLE")] * (count - 2) +
            [getattr(roce, f"{base}_LAST{suffix}")])


def expect_request(c, kind, length=4, psn=None, timeout=None):
    """All packets of one request; returns the last."""
    for i, op in enumerate(request_ops(kind, length)):
        fields = {} if psn is None else {"psn": psn_add(psn, i)}
        packet = c.expect(op, timeout, **fields)
    return packet


def answer(c, kind, p, length=4, data=None):
    """Sends the correct answer to a request whose last packet was @p."""
    if kind in ("CAS", "FAA"):
        c.respond(roce.ATOMIC_ACK, p.psn, orig=77, msn=1)
    elif kind == "READ":
        parts = split(pattern(length) if data is None else data)
        for i, part in enumerate(parts):
            op = (roce.READ_ONLY if len(parts) == 1 else
                  roce.READ_FIRST if i == 0 else
                  roce.READ_LAST if i == len(parts) - 1 else roce.READ_MIDDLE)
            c.respond(op, psn_add(p.psn, i), part, msn=1)
    else:
        c.ack(p.psn, msn=1)


KINDS = ("SEND", "SEND_IMM", "SEND_INV", "WRITE", "WRITE_IMM", "READ", "CAS",
         "FAA")
SIZES = (0, 1, 3, 255, 256, 257, 512, 1001)


# ---- what is sent ----------------------------------------------------------------


@case("req.segments", "IBTA 9.4, 9.7.3: a message is cut at the path MTU; "
      "opcodes, PSNs, RETH, payload, padding; the last packet asks for an ACK",
      table={kind.lower(): kind for kind in KINDS})
def segments(rig, kind):
    for version in 4, 6:
        c = rig.conn(version=version)
        psn = c.sq_psn
        c.mem[:1100] = pattern(1100)
        sizes = (8,) if kind in ("CAS", "FAA") else SIZES
        for size in sizes:
            request(c, kind, size, offset=33, imm=0x01020304, compare=5,
                    swap=6, wr_id=size)
            data = pattern(1100)[33:33 + size]
            ops = request_ops(kind, size)
            for i, op in enumerate(ops):
                p = c.expect(op, psn=psn)
                last = i == len(ops) - 1
                if kind not in ("READ", "CAS", "FAA"):
                    same(p.data, split(data)[i], "payload")
                    same(p.pad, -len(p.data) & 3, "pad count")
                else:
                    same(p.data, b"", "payload of a READ or atomic")
                if op in roce.HAS_RETH:
                    same((p.va, p.rkey, p.dmalen), (VA, RKEY, size), "RETH")
                if op in roce.HAS_IMM:
                    same(p.imm, 0x01020304, "immediate data")
                if op in roce.HAS_INV:
                    same(p.inv, 0x01020304, "key to invalidate")
                if op == roce.CMP_SWAP:
                    same((p.va, p.rkey, p.compare, p.swap), (VA, RKEY, 5, 6),
                         "AtomicETH")
                if op == roce.FETCH_ADD:
                    same((p.va, p.rkey, p.swap), (VA, RKEY, 5), "AtomicETH")
                if last and kind not in ("READ", "CAS", "FAA"):
                    same(p.ackreq, 1, "AckReq of the last packet")
                same(p.se, 0, "SE")
                psn = psn_add(psn, 1)
            answer(c, kind, p, size)
            if kind == "READ":
                psn = psn_add(psn, max(0, -(-size // MTU) - 1))
                c.sent_wc(size, byte_len=size)
                same(c.mem[33:33 + size], pattern(size), "data read")
                c.mem[:1100] = pattern(1100)
            else:
                c.sent_wc(size)


@case("req.short_last_packet", "A17.3.3: of a long message, which the stack may "
      "split late (GSO), each packet has a right ICRC, also a last one that is "
      "shorter", table={kind.lower(): kind for kind in ("SEND", "WRITE",
                                                        "WRITE_IMM")})
def short_last(rig, kind):
    for version in 4, 6:
        c = rig.conn(version=version)
        c.mem[:20000] = pattern(20000)
        with rig.super_packets():
            short_last_of(c, kind)


def short_last_of(c, kind):
    psn = c.sq_psn
    for size in (40 * MTU + n for n in (1, 2, 3, 4, MTU - 1, MTU)):
        request(c, kind, size, wr_id=size)
        ops, parts = request_ops(kind, size), split(pattern(20000)[:size])
        for i, op in enumerate(ops):
            p = c.expect(op, psn=psn, data=parts[i])
            if p.ackreq and i < len(ops) - 1:
                c.ack(p.psn)
            psn = psn_add(psn, 1)
        c.ack(p.psn)
        c.sent_wc(size)


@case("req.solicited", "IBTA 9.2: the solicited bit is in the last packet only",
      table={"only": 4, "long": 600})
def solicited(rig, size):
    c = rig.conn()
    c.post(WR.SEND, size, flags=e.IBV_SEND_SOLICITED)
    for op in request_ops("SEND", size):
        p = c.expect(op)
        same(p.se, int(op in (roce.SEND_ONLY, roce.SEND_LAST)), "SE")
    c.ack(p.psn)
    c.sent_wc()


@case("req.completion_flags", "IBTA 11.4.2.1: flags of a receive are not set in "
      "send completions", table={k.lower(): k for k in ("SEND_IMM",
                                                        "WRITE_IMM", "READ")})
def completion_flags(rig, kind):
    c = rig.conn()
    request(c, kind)
    answer(c, kind, expect_request(c, kind))
    wc = c.sent_wc()
    same(wc.wc_flags, 0, "wc_flags")


@case("req.psn_wrap", "IBTA 9.7.1: PSNs are counted modulo 2^24",
      table={kind.lower(): kind for kind in ("SEND", "WRITE", "READ")})
def psn_wrap(rig, kind):
    for start in 0xfffffe, 0xffffff:
        c = rig.conn(sq_psn=start)
        for i in range(2):
            request(c, kind, 1000, wr_id=i)
        first = expect_request(c, kind, 1000, start)
        if kind == "READ":
            second = c.expect(roce.READ_REQUEST, psn=psn_add(start, 4))
            answer(c, kind, first, 1000)
        else:
            second = expect_request(c, kind, 1000, psn_add(start, 4))
        answer(c, kind, second, 1000)
        for i in range(2):
            c.sent_wc(i)


@case("req.atomic_result", "IBTA 9.4.5: the value of the answer is stored",
      table={"cas": "CAS", "faa": "FAA"})
def atomic_result(rig, kind):
    c = rig.conn()
    c.mem.fill()
    request(c, kind, offset=16)
    p = expect_request(c, kind)
    c.respond(roce.ATOMIC_ACK, p.psn, orig=0x0102030405060708, msn=1)
    c.sent_wc(byte_len=8)
    same(struct.unpack("=Q", c.mem[16:24])[0], 0x0102030405060708, "value")
    same(c.mem[24:28], b"ZZZZ", "memory behind")


@case("req.local_key", "IBTA 9.9.2: own memory that may not be used, by key, "
      "range or protection domain: LOC_PROT_ERR, later requests are flushed",
      table={f"{kind.lower()}_{how}": (kind, how)
             for kind in ("SEND", "WRITE", "READ", "FAA")
             for how in ("unknown_key", "beyond_the_end", "other_pd",
                         "stale_key")})
def local_key(rig, row):
    kind, how = row
    c = rig.conn()
    region, pd = None, None
    if how == "unknown_key":
        sge = SGE(c.mem.addr, 8, c.mem.lkey ^ 0x55)
    elif how == "beyond_the_end":
        sge = SGE(c.mem.addr + c.mem.length - 7, 8, c.mem.lkey)
    else:
        if how == "other_pd":
            pd = PD(rig.dev.ctx)
        region = Memory(pd or rig.dev.pd, 4096)
        sge = region.sge(0, 8)
        if how == "stale_key":
            region.mr.close()
    request(c, kind, sge=sge, wr_id=1)
    request(c, "SEND", wr_id=2)
    if kind in ("READ", "FAA"):  # checked when there is data to place
        answer(c, kind, expect_request(c, kind), 8)
        c.expect(roce.SEND_ONLY)
    c.expect_silence()
    c.sent_wc(1, "LOC_PROT_ERR")
    c.sent_wc(2, "WR_FLUSH_ERR")
    c.expect_state("ERR")
    if region and how != "stale_key":
        region.mr.close()
    if pd:
        pd.close()


@case("req.max_rd_atomic", "IBTA 9.7.3.2: no more READs and atomics outstanding "
      "than agreed upon; SENDs and WRITEs are not held up")
def max_rd_atomic(rig):
    c = rig.conn(rd_atomic=2)
    for i in range(3):
        request(c, "READ", wr_id=i)
    first = c.expect(roce.READ_REQUEST)
    second = c.expect(roce.READ_REQUEST)
    c.expect_silence()
    answer(c, "READ", first)
    c.sent_wc(0)
    third = c.expect(roce.READ_REQUEST)
    answer(c, "READ", second)
    answer(c, "READ", third)
    c.sent_wc(1)
    c.sent_wc(2)


@case("req.fence", "IBTA 10.8.3.3: a fenced request waits for the READs before")
def fence(rig):
    c = rig.conn()
    request(c, "READ", wr_id=1)
    request(c, "SEND", wr_id=2, flags=e.IBV_SEND_FENCE)
    p = c.expect(roce.READ_REQUEST)
    c.expect_silence()
    answer(c, "READ", p)
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.sent_wc(1)
    c.sent_wc(2)


# ---- acknowledgements ---------------------------------------------------------------


@case("req.ack_of_several", "IBTA 9.7.5.1.2: an ACK stands for all before it")
def ack_of_several(rig):
    c = rig.conn()
    for i in range(5):
        request(c, "SEND", wr_id=i)
    packets = [c.expect(roce.SEND_ONLY) for _ in range(5)]
    c.ack(packets[2].psn, msn=3)
    for i in range(3):
        c.sent_wc(i)
    c.no_wc(rig.quiet)
    c.ack(packets[4].psn, msn=5)
    c.sent_wc(3)
    c.sent_wc(4)


@case("req.ack_within_a_message", "IBTA 9.7.5.1.2: an ACK of a FIRST or MIDDLE "
      "does not complete the message")
def ack_within(rig):
    c = rig.conn()
    request(c, "SEND", 700)
    last = expect_request(c, "SEND", 700)
    c.ack(psn_add(last.psn, -1))
    c.no_wc(rig.quiet)
    c.ack(last.psn)
    c.sent_wc()


@case("req.ghost_ack", "IBTA 9.7.5: ACKs of PSNs that are not outstanding are "
      "dropped", table={"never_sent": 1, "far_ahead": (1 << 23) - 1,
                        "before": -1, "far_behind": -(1 << 23)})
def ghost(rig, by):
    c = rig.conn()
    request(c, "SEND", wr_id=1)
    p = c.expect(roce.SEND_ONLY)
    with counted(rig, "rx_stale_responses"):
        c.ack(psn_add(p.psn, by))
        c.no_wc(rig.quiet)
    c.ack(p.psn)
    c.sent_wc(1)


@case("req.duplicate_ack", "IBTA 9.7.5: an ACK again completes nothing again")
def duplicate_ack(rig):
    c = rig.conn()
    request(c, "SEND", wr_id=1)
    p = c.expect(roce.SEND_ONLY)
    for _ in range(3):
        c.ack(p.psn)
    c.sent_wc(1)
    request(c, "SEND", wr_id=2)
    q = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.no_wc(rig.quiet)
    c.ack(q.psn)
    c.sent_wc(2)


@case("req.syndrome.ack", "IBTA 9.7.5.2.3: syndromes 0x00 to 0x1f acknowledge, "
      "whatever the credits say")
def syndrome_ack(rig):
    c = rig.conn()
    for syndrome in range(32):
        request(c, "SEND", wr_id=syndrome)
        p = c.expect(roce.SEND_ONLY)
        c.ack(p.psn, syndrome)
        c.sent_wc(syndrome)


@case("req.syndrome.rnr", "IBTA 9.7.5.2.3, 9.7.5.2.8: syndromes 0x20 to 0x3f are "
      "RNR NAKs: the request is sent again, not before the time of its code")
def syndrome_rnr(rig):
    conns = [rig.conn() for _ in range(32)]
    for code, c in enumerate(conns):
        request(c, "SEND", wr_id=code)
        c.expect(roce.SEND_ONLY)
    started = {}
    for code, c in enumerate(conns):
        started[c.peer_qpn] = code, time.monotonic()
        c.ack(c.sq_psn, 0x20 | code)
    end = time.monotonic() + 1 + rig.patience
    while started:
        p = rig.peer.receive(0.1)
        if p and p.dqpn in started:
            code, start = started.pop(p.dqpn)
            same((p.op, p.psn), (roce.SEND_ONLY, conns[code].sq_psn), "packet")
            if p.at - start < RNR_US[code] / 1e6:
                raise Wrong(f"code {code}: after {(p.at - start) * 1e6:.0f} us")
            conns[code].ack(p.psn)
            conns[code].sent_wc(code)
        elif time.monotonic() > end:
            raise Wrong("not sent again after the RNR NAK of codes "
                        f"{sorted(code for code, _ in started.values())}")


@case("req.syndrome.reserved", "IBTA 9.7.5.2.3: an answer with a reserved syndrome "
      "is dropped: the request neither succeeds nor fails by it", table={
          "40_5f": range(0x40, 0x60), "64_7f": range(0x64, 0x80),
          "80_ff": range(0x80, 0x100)})
def syndrome_reserved(rig, syndromes):
    c = rig.conn()
    request(c, "SEND", wr_id=1)
    p = c.expect(roce.SEND_ONLY)
    for syndrome in syndromes:
        c.ack(p.psn, syndrome)
    c.expect_silence()
    c.no_wc()
    c.ack(p.psn)
    c.sent_wc(1)


@case("req.syndrome.fatal", "IBTA 9.9.2: a fatal NAK completes the request that "
      "it names with its status, earlier ones successfully, later ones flushed",
      table={f"{name}_{kind.lower()}": (syndrome, status, kind)
             for kind in ("SEND", "WRITE", "READ", "FAA")
             for name, syndrome, status in (
                 ("invalid", roce.NAK_INVALID, "REM_INV_REQ_ERR"),
                 ("access", roce.NAK_ACCESS, "REM_ACCESS_ERR"),
                 ("operation", roce.NAK_OPERATION, "REM_OP_ERR"))})
def syndrome_fatal(rig, row):
    syndrome, status, kind = row
    c = rig.conn()
    request(c, "SEND", wr_id=1)
    request(c, kind, wr_id=2)
    request(c, "SEND", wr_id=3)
    c.expect(roce.SEND_ONLY)
    p = expect_request(c, kind)
    c.expect(roce.SEND_ONLY)
    c.ack(p.psn, syndrome)
    c.sent_wc(1)
    c.sent_wc(2, status)
    c.sent_wc(3, "WR_FLUSH_ERR")
    c.expect_state("ERR")
    c.expect_silence()


@case("req.nak_seq", "IBTA 9.7.5.1.2: a sequence NAK acknowledges what is before "
      "it, and sending goes back to its PSN")
def nak_seq(rig):
    c = rig.conn()
    for i in range(5):
        request(c, "SEND", wr_id=i)
    packets = [c.expect(roce.SEND_ONLY) for _ in range(5)]
    c.ack(packets[2].psn, roce.NAK_SEQ, msn=2)
    for i in range(2):
        c.sent_wc(i)
    for i in range(2, 5):
        p = c.expect(roce.SEND_ONLY)
        if p.psn != packets[i].psn or p.data != packets[i].data:
            raise Wrong(f"{p} instead of {packets[i]}")
    c.no_wc()
    c.ack(p.psn)
    for i in range(2, 5):
        c.sent_wc(i)


@case("req.nak_seq_within_a_message", "IBTA 9.7.5.1.2: a message continues where "
      "the NAK says, with the opcodes and data of those packets",
      table={"send": "SEND", "write": "WRITE"})
def nak_within(rig, kind):
    c = rig.conn()
    c.mem[:1100] = pattern(1100)
    request(c, kind, 1000)
    last = expect_request(c, kind, 1000)
    first = psn_add(last.psn, -3)
    c.ack(psn_add(first, 2), roce.NAK_SEQ)
    ops = request_ops(kind, 1000)
    for i in 2, 3:
        p = c.expect(ops[i], psn=psn_add(first, i))
        same(p.data, pattern(1100)[i * MTU:min(1000, (i + 1) * MTU)], "payload")
    c.ack(p.psn)
    c.sent_wc()


# ---- requests without a waiter ------------------------------------------------------


def burst(c, kind, count, signalled=()):
    """Posts @count requests at once, few signalled. Returns their packets."""
    wrs = [None]  # keeps each: the next one only has a pointer to it
    for i in reversed(range(count)):
        wrs.append(SendWR(
            wr_id=i, opcode=getattr(WR, kind), num_sge=1,
            send_flags=e.IBV_SEND_SIGNALED if i in signalled else 0,
            sg=[SGE(c.mem.addr + i, 8, c.mem.lkey)], next_wr=wrs[-1]))
        if kind == "WRITE":
            wrs[-1].set_wr_rdma(RKEY, VA)
    c.qp.post_send(wrs[-1])
    return [c.expect(getattr(roce, f"{kind}_ONLY"), psn=psn_add(c.sq_psn, i))
            for i in range(count)]


def to_softhca(rig, **fields):
    """A connection to a peer that claims to be softhca, if the device supports that."""
    if rig.is_softhca:
        fields["ece"] = SOFTHCA
    return rig.conn(sig_all=False, **fields)


def left_behind(c, rig, kind="SEND"):
    """Packets of requests of which only the first gets an answer."""
    c.mem[:300] = pattern(300)
    # (until something was acknowledged each asks)
    p = burst(c, kind, 1)[0]
    c.answer_slowly()
    c.ack(p.psn)
    c.sq_psn = psn_add(c.sq_psn, 1)
    packets = burst(c, kind, 4)
    if packets[-1].ackreq and not rig.is_softhca:
        raise Skip("each request asks for its acknowledgement")
    # (the first comes after a pause, and might be the last for long)
    same([p.ackreq for p in packets], [1, 0, 0, 0], "AckReq")
    c.ack(packets[0].psn)
    return packets


def expect_probe(c, una):
    """Expects an ACK probe: a duplicate without effect, with AckReq."""
    p = c.expect(roce.WRITE_ONLY, psn=psn_add(una, -1), ackreq=1, dmalen=0)
    same(p.data, b"", "payload")
    return p


@case("req.ackreq", "softhca: a signalled request asks for its "
      "acknowledgement, and of others one in 16", table={"send": "SEND",
                                                          "write": "WRITE"})
def ackreq(rig, kind):
    c = rig.conn(sig_all=False)
    packets = burst(c, kind, 40, signalled=(20,))
    asks = [p.ackreq for p in packets]
    same(asks[20], 1, "AckReq of a signalled request")
    for i in range(40 - 16 + 1):
        if not any(asks[i:i + 16]):
            raise Wrong(f"16 from {i} on, and none asks")
    c.ack(packets[-1].psn)
    c.sent_wc(20)
    c.expect_silence()
    c.no_wc()


@case("req.last_word", "softhca: the last request of a post asks for its "
      "acknowledgement, unless ECE says that the peer is a softhca: another may execute "
      "it and end, and its answer would be all that is ever heard of it", table={
          "stranger": (None, 1), "softhca": (SOFTHCA, 0),
          "later_softhca": ((0xffffff, 0x5348fff1), 0),
          "nobody": ((0xffffff, 1), 1), "others": ((0x15b3, 0x53480001), 1)})
def last_word(rig, row):
    ece, asks = row
    if not rig.is_softhca:
        raise Skip("each request asks for its acknowledgement")
    c = rig.conn(sig_all=False, timeout=19, ece=ece)
    # (until something was acknowledged each asks)
    p = burst(c, "WRITE", 1)[0]
    c.answer_slowly()
    c.ack(p.psn)
    c.sq_psn = psn_add(c.sq_psn, 1)
    packets = burst(c, "WRITE", 4)
    # (the first comes after a pause)
    same([p.ackreq for p in packets[1:]], [0, 0, asks], "AckReq")
    if not asks:
        c.ack(packets[0].psn)
        expect_probe(c, packets[1].psn)
    c.ack(packets[3].psn)
    c.expect_silence()
    c.no_wc()


@case("req.quiet", "softhca: what was sent without asking is probed soon; "
      "what the answer leaves out is sent again, the same, and asks; that is no "
      "time-out and no retry", table={
          f"{lost}_lost_{kind.lower()}": (lost, kind)
          for lost in (0, 1, 3) for kind in ("SEND", "WRITE")})
def quiet(rig, row):
    lost, kind = row
    c = to_softhca(rig, timeout=19, retry_cnt=0)  # 2 s
    if rig.is_softhca:
        before = rig.dev.counter("local_ack_timeout_err")
    packets = left_behind(c, rig, kind)
    start = time.monotonic()
    p = expect_probe(c, packets[1].psn)
    if p.at - start > 1:
        raise Wrong(f"probed after {p.at - start:.3f} s")
    c.ack(packets[3 - lost].psn)
    for q in packets[4 - lost:]:
        p = c.expect(q.op, psn=q.psn, ackreq=1)
        p.ackreq = q.ackreq
        if p.build() != q.build():
            raise Wrong(f"{p} is not {q}")
    c.ack(p.psn if lost else packets[3].psn)
    c.expect_silence()
    c.no_wc()
    request(c, kind, 8, wr_id=9)
    c.ack(c.expect(packets[0].op, psn=psn_add(c.sq_psn, 4), ackreq=1).psn)
    c.sent_wc(9)
    if rig.is_softhca:
        same(rig.dev.counter("local_ack_timeout_err"), before, "time-outs")


@case("req.quiet_and_unanswered", "IBTA 9.7.6.1: from the ACK probe on an answer is "
      "due: without one all is sent again")
def quiet_unanswered(rig):
    c = to_softhca(rig, timeout=19, retry_cnt=1)  # 2 s
    packets = left_behind(c, rig)
    expect_probe(c, packets[1].psn)
    # (the first one comes alone, as it is overdue. An answer so soon may be to its first copy, so
    # one more may come alone; then the others.)
    p = c.expect(packets[1].op, psn=packets[1].psn)
    c.ack(p.psn)
    for before, q in zip(packets[1:], packets[2:]):
        p = c.expect(q.op)
        while p.psn == before.psn:
            p = c.expect(q.op)
        same(p.psn, q.psn, "psn")
        if p.ackreq:
            c.ack(p.psn)
    c.expect_silence()
    c.no_wc()


@case("req.unsignalled_error", "IBTA 11.4.2.1: an unsignalled request that fails "
      "completes with its status, later ones flushed")
def unsignalled_error(rig):
    c = rig.conn(sig_all=False)
    packets = burst(c, "WRITE", 3)
    c.ack(packets[1].psn, roce.NAK_ACCESS)
    c.sent_wc(1, "REM_ACCESS_ERR")
    c.sent_wc(2, "WR_FLUSH_ERR")
    c.expect_state("ERR")
    c.expect_silence()


@case("req.drain_of_unsignalled", "IBTA 10.3.1.5: a queue that drains waits until "
      "unsignalled requests have been acknowledged, too, and sees to that")
def drain_unsignalled(rig):
    c = to_softhca(rig)
    packets = left_behind(c, rig)
    c.modify("STATE EN_SQD_ASYNC_NOTIFY", qp_state=QPS.SQD,
             en_sqd_async_notify=1)
    expect_probe(c, packets[1].psn)
    same(c.dev.events(rig.quiet), [], "events")
    c.ack(packets[3].psn)
    c.expect_event("SQ_DRAINED")


# ---- losses -----------------------------------------------------------------------------


@case("req.lost_ack", "IBTA 9.7.6.1: a request that is not answered in time is "
      "sent again, the same, and completes once", table={
          kind.lower(): kind for kind in KINDS})
def lost_ack(rig, kind):
    c = rig.conn(timeout=12)  # 17 ms
    size = 8 if kind in ("CAS", "FAA") else 600
    request(c, kind, size, wr_id=1, imm=7)
    first = [c.expect(op) for op in request_ops(kind, size)]
    again = [c.expect(op) for op in request_ops(kind, size)]
    for p, q in zip(first, again):
        p.ackreq = q.ackreq = 0
        if p.build() != q.build():
            raise Wrong(f"{q} is not {p}")
    answer(c, kind, again[-1], size)
    c.sent_wc(1)
    c.modify("STATE", qp_state=e.IBV_QPS_ERR)
    c.no_wc()


@case("req.early", "softhca: a request whose answer is overdue by two round trips is "
      "sent again, as one packet with the same contents, long before its time-out; that is no "
      "time-out and no retry", table={kind.lower(): kind for kind in KINDS})
def early(rig, kind):
    if not rig.is_softhca:
        raise Skip("each request waits for its time-out")
    c = rig.conn(timeout=20, retry_cnt=0)  # 4 s
    before = rig.dev.counter("local_ack_timeout_err")
    sent = rig.dev.counter("tx_early_retransmits")
    request(c, "SEND", wr_id=1)
    c.ack(c.expect(roce.SEND_ONLY).psn)
    c.sent_wc(1)
    c.sq_psn = psn_add(c.sq_psn, 1)
    request(c, kind, 8, wr_id=2, imm=7)
    first = c.expect(request_ops(kind, 8)[0])
    again = c.expect(first.op, psn=first.psn, ackreq=1)
    if again.at - first.at > 2:
        raise Wrong(f"sent again after {again.at - first.at:.3f} s")
    if first.build() != again.build():
        raise Wrong(f"{again} is not {first}")
    answer(c, kind, again, 8)
    c.sent_wc(2)
    same(rig.dev.counter("local_ack_timeout_err"), before, "time-outs")
    if rig.dev.counter("tx_early_retransmits") == sent:
        raise Wrong("not counted")


def times_sent(c, status, reply=None):
    """Return: how often the first PSN is sent until its request (wr_id 1) fails so.

    @reply: syndrome of each answer; None: no answer.
    """
    count, end = 0, time.monotonic() + 10 * c.rig.patience
    while True:
        p = c.rx(0.01)
        if p:
            count += p.psn == c.sq_psn
            if count > 20:
                raise Wrong("sent more than 20 times")
            if reply is not None:
                c.ack(p.psn, reply)
            continue
        n, wcs = c.send_cq.poll()
        if n:
            break
        if time.monotonic() > end:
            raise Wrong(f"sent {count} times, then neither sent nor failed")
    same((wcs[0].wr_id, STATUS.get(wcs[0].status)), (1, status), "completion")
    c.expect_silence()
    return count


@case("req.retry_cnt", "IBTA 9.7.6.1: a request is sent 1 + retry_cnt times, then "
      "fails with RETRY_EXC_ERR; 7 is seven",
      table={str(n): n for n in range(8)})
def retry_cnt(rig, n):
    c = rig.conn(timeout=12, retry_cnt=n)
    request(c, "SEND", wr_id=1)
    request(c, "SEND", wr_id=2)
    same(times_sent(c, "RETRY_EXC_ERR"), 1 + n, "times sent")
    c.sent_wc(2, "WR_FLUSH_ERR")
    c.expect_state("ERR")


@case("req.retry_cnt_of_naks", "IBTA 9.7.6.1: sequence NAKs without progress "
      "count as retries too")
def retry_naks(rig):
    c = rig.conn(timeout=13, retry_cnt=3)  # 34 ms
    request(c, "SEND", wr_id=1)
    same(times_sent(c, "RETRY_EXC_ERR", roce.NAK_SEQ), 4, "times sent")


@case("req.retry_begins_anew", "IBTA 9.7.6.1: progress fills the retry counter")
def retry_anew(rig):
    c = rig.conn(timeout=15, retry_cnt=1)  # 134 ms
    for i in range(3):
        request(c, "SEND", wr_id=i)
        c.expect(roce.SEND_ONLY)
        p = c.expect(roce.SEND_ONLY)
        c.ack(p.psn)
        c.sent_wc(i)


@case("req.timeout_0", "IBTA 11.2.4.2: with a timeout of 0 nothing is sent again")
def timeout_0(rig):
    c = rig.conn(timeout=0)
    request(c, "SEND")
    p = c.expect(roce.SEND_ONLY)
    c.expect_silence(0.3)
    c.ack(p.psn)
    c.sent_wc()


# ---- RNR ------------------------------------------------------------------------------------


RNR_US = (655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960,
          1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720,
          40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520)


@case("req.rnr_retry", "IBTA 9.7.5.2.8: after an RNR NAK a request is sent "
      "rnr_retry more times, then fails with RNR_RETRY_EXC_ERR",
      table={str(n): n for n in range(7)})
def rnr_retry(rig, n):
    c = rig.conn(rnr_retry=n)
    request(c, "SEND", wr_id=1)
    same(times_sent(c, "RNR_RETRY_EXC_ERR", 0x21), 1 + n, "times sent")
    c.expect_state("ERR")


@case("req.rnr_retry.7", "IBTA 9.7.5.2.8: rnr_retry 7 is for ever")
def rnr_7(rig):
    c = rig.conn(rnr_retry=7)
    request(c, "SEND", wr_id=1)
    for _ in range(20):
        p = c.expect(roce.SEND_ONLY)
        c.ack(p.psn, 0x21)
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.sent_wc(1)


@case("req.rnr_begins_anew", "IBTA 9.7.5.2.8: progress fills the RNR counter")
def rnr_anew(rig):
    c = rig.conn(rnr_retry=1)
    for i in range(3):
        request(c, "SEND", wr_id=i)
        p = c.expect(roce.SEND_ONLY)
        c.ack(p.psn, 0x21)
        p = c.expect(roce.SEND_ONLY)
        c.ack(p.psn)
        c.sent_wc(i)


@case("req.rnr_wait", "IBTA 9.7.5.2.8: nothing is sent during an RNR wait, which "
      "is at least as long as the code says",
      table={str(code): code for code in (1, 10, 19, 22, 24)})
def rnr_wait(rig, code):
    rnr_wait_of(rig, code)


@case("req.rnr_wait", "IBTA 9.7.5.2.8: nothing is sent during an RNR wait, which "
      "is at least as long as the code says", long=True,
      table={str(code): code for code in range(32)
             if code not in (1, 10, 19, 22, 24)})
def rnr_wait_long(rig, code):
    rnr_wait_of(rig, code)


def rnr_wait_of(rig, code):
    c = rig.conn(rd_atomic=4)
    request(c, "SEND", wr_id=1)
    p = c.expect(roce.SEND_ONLY)
    start = time.monotonic()
    c.ack(p.psn, 0x20 | code)
    for i in range(2, 5):  # must not leave
        request(c, "SEND", wr_id=i)
    q = c.expect(roce.SEND_ONLY, psn=p.psn)
    waited = (q.at - start) * 1e6
    if waited < RNR_US[code]:
        raise Wrong(f"sent again after {waited:.0f} us, not {RNR_US[code]}")
    if waited > RNR_US[code] * 2 + 200000:
        raise Wrong(f"sent again after {waited:.0f} us only")
    c.ack(q.psn)
    c.sent_wc(1)
    for i in range(2, 5):
        p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    for i in range(2, 5):
        c.sent_wc(i)


@case("req.rnr_wait_of_more", "IBTA 9.7.5.2.8: nothing is sent during an RNR wait, "
      "whatever was outstanding or is posted, and no sequence NAK of what followed "
      "ends it")
def rnr_wait_of_more(rig):
    c = rig.conn(rd_atomic=4)
    kinds = ("SEND", "SEND", "WRITE", "READ")
    for i, kind in enumerate(kinds):
        request(c, kind, wr_id=i)
    psns = [expect_request(c, kind).psn for kind in kinds]
    start = time.monotonic()
    c.ack(psns[0], 0x20 | 24)
    c.ack(psns[0], roce.NAK_SEQ)
    c.ack(psns[0], 0x21)
    request(c, "WRITE", wr_id=4)
    p = c.expect(roce.SEND_ONLY, psn=psns[0])
    waited = (p.at - start) * 1e6
    if waited < RNR_US[24]:
        raise Wrong(f"sent again after {waited:.0f} us, not {RNR_US[24]}")
    for kind, psn in zip(kinds[1:], psns[1:]):
        expect_request(c, kind, psn=psn)
    p = c.expect(roce.WRITE_ONLY)
    c.ack(psns[2], msn=3)
    c.respond(roce.READ_ONLY, psns[3], b"data", msn=4)
    c.ack(p.psn, msn=5)
    for i in range(5):
        c.sent_wc(i)


@case("req.rnr_acknowledges_before", "IBTA 9.7.5.2.8: an RNR NAK acknowledges "
      "what is before its PSN; sending continues at it")
def rnr_before(rig):
    c = rig.conn()
    for i in range(3):
        request(c, "SEND", wr_id=i)
    packets = [c.expect(roce.SEND_ONLY) for _ in range(3)]
    c.ack(packets[1].psn, 0x21)
    c.sent_wc(0)
    p = c.expect(roce.SEND_ONLY, psn=packets[1].psn)
    while p.psn != packets[2].psn:
        c.ack(p.psn)
        p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.sent_wc(1)
    c.sent_wc(2)


# ---- READ responses and atomic answers ---------------------------------------------


@case("req.partial_read", "IBTA 9.7.3.1, 9.7.5: when a part of a READ response is "
      "missing, the rest is asked for from there (softhca: what is missing), and nothing "
      "is placed wrongly",
      table={f"{lost}_lost_{how}": (lost, how) for lost in (0, 1, 2, 3)
             for how in ("gap", "timeout") if (lost, how) != (3, "gap")})
def partial_read(rig, row):
    lost, how = row
    # 2 s: the gap should suffice, before the timer expires
    c = rig.conn(timeout=19 if rig.is_softhca or how == "gap" else 14)
    data = pattern(1000)
    c.mem.fill()
    request(c, "READ", 1000, wr_id=1)
    p = c.expect(roce.READ_REQUEST)
    ops = (roce.READ_FIRST, roce.READ_MIDDLE, roce.READ_MIDDLE, roce.READ_LAST)
    parts = split(data)
    if rig.is_softhca:
        c.answer_slowly()
    for i in range(4 if how == "gap" else lost):
        if i != lost:
            c.respond(ops[i], psn_add(p.psn, i), parts[i], msn=1)
    q = c.expect(roce.READ_REQUEST)
    at = lost * MTU
    if q.psn == p.psn and not rig.is_softhca:
        at = 0  # the specification allows this: the whole READ again
    same(q.psn, psn_add(p.psn, at // MTU), "PSN of the repeated request")
    # what is behind a gap was kept
    left = MTU if rig.is_softhca and how == "gap" else 1000 - at
    same((q.va, q.rkey, q.dmalen), (VA + at, RKEY, left), "its RETH")
    c.no_wc()
    rest = split(data[at:at + left])
    for i, part in enumerate(rest):
        op = (roce.READ_ONLY if len(rest) == 1 else
              roce.READ_FIRST if i == 0 else
              roce.READ_LAST if i == len(rest) - 1 else roce.READ_MIDDLE)
        c.respond(op, psn_add(q.psn, i), part, msn=1)
    c.sent_wc(1, byte_len=1000)
    same(c.mem[:1004], data + b"ZZZZ", "data")


@case("req.implied_nak", "IBTA 9.7.5: an ACK beyond a READ or atomic says that "
      "its answer was lost: it is repeated, and does not succeed by the ACK",
      table={"read": "READ", "cas": "CAS", "faa": "FAA"})
def implied_nak(rig, kind):
    c = rig.conn()
    request(c, kind, 8, wr_id=1)
    request(c, "SEND", wr_id=2)
    p = expect_request(c, kind)
    q = c.expect(roce.SEND_ONLY)
    with counted(rig, "implied_nak_seq_err"):
        c.ack(q.psn, msn=2)
        again = expect_request(c, kind)
    c.no_wc()
    same(again.psn, p.psn, "PSN")
    answer(c, kind, again, 8)
    c.sent_wc(1)
    if not rig.is_softhca:  # which has not forgotten the ACK
        q = c.expect(roce.SEND_ONLY)
        c.ack(q.psn, msn=2)
    c.sent_wc(2)
    c.expect_silence()


@case("req.ack_of_a_read", "IBTA 9.7.5: an ACK at the PSN of a READ or atomic says "
      "that its answer was lost: it is repeated, and does not succeed by the ACK", table={"read": "READ", "cas": "CAS", "faa": "FAA"})
def ack_of_a_read(rig, kind):
    c = rig.conn()
    c.mem.fill()
    request(c, kind, 8, wr_id=1)
    p = expect_request(c, kind)
    c.ack(p.psn, msn=1)
    again = expect_request(c, kind)
    same(again.psn, p.psn, "PSN")
    c.no_wc()
    answer(c, kind, again, 8)
    c.sent_wc(1)


def bad_response(c, status="BAD_RESP_ERR"):
    """The first request must fail with this status."""
    c.sent_wc(1, status)
    c.expect_state("ERR")


RESPONSES = {
    # name: bytes of the READ, responses in order
    "only_for_first": (600, [(roce.READ_ONLY, MTU)]),
    "last_for_first": (600, [(roce.READ_LAST, MTU)]),
    "middle_for_first": (600, [(roce.READ_MIDDLE, MTU)]),
    "first_for_only": (100, [(roce.READ_FIRST, 100)]),
    "middle_for_last": (300, [(roce.READ_FIRST, MTU), (roce.READ_MIDDLE, 44)]),
    "last_for_middle": (600, [(roce.READ_FIRST, MTU), (roce.READ_LAST, MTU)]),
    "first_again": (600, [(roce.READ_FIRST, MTU), (roce.READ_FIRST, MTU)]),
    "atomic_ack": (100, [(roce.ATOMIC_ACK, 0)]),
}
LONG_OR_SHORT = {
    "only_too_long": (100, [(roce.READ_ONLY, 104)]),
    "only_too_short": (100, [(roce.READ_ONLY, 96)]),
    "only_empty": (100, [(roce.READ_ONLY, 0)]),
    "first_too_short": (600, [(roce.READ_FIRST, MTU - 4)]),
    "first_too_long": (600, [(roce.READ_FIRST, MTU + 4)]),
    "last_too_long": (300, [(roce.READ_FIRST, MTU), (roce.READ_LAST, 48)]),
    "zero_with_data": (0, [(roce.READ_ONLY, 4)]),
}


@case("req.bad_read_response", "IBTA 9.7.6, 9.9.2: a READ response whose opcode "
      "cannot be fails the READ with BAD_RESP_ERR, and nothing goes beyond its buffer",
      table=RESPONSES)
def bad_read_response(rig, row):
    wrong_read_response(rig, row, "BAD_RESP_ERR")


@case("req.read_response_length", "IBTA 9.9.2: a READ response that is too long or "
      "too short for its place fails the READ with LOC_LEN_ERR, and nothing goes "
      "beyond its buffer", table=LONG_OR_SHORT)
def read_response_length(rig, row):
    wrong_read_response(rig, row, "LOC_LEN_ERR")


def wrong_read_response(rig, row, status):
    size, responses = row
    c = rig.conn()
    c.mem.fill()
    request(c, "READ", size, wr_id=1)
    p = c.expect(roce.READ_REQUEST)
    for i, (op, length) in enumerate(responses):
        c.respond(op, psn_add(p.psn, i), pattern(length), msn=1)
    bad_response(c, status)
    same(c.mem[size:size + 8], b"Z" * 8, "memory behind the buffer")


@case("req.response_to_another", "IBTA 9.7.6: a READ response or atomic answer to "
      "a SEND or WRITE fails it with BAD_RESP_ERR", table={
          f"{op}_to_{kind.lower()}": (getattr(roce, op.upper()), kind)
          for op in ("read_only", "atomic_ack") for kind in ("SEND", "WRITE")})
def response_to_another(rig, row):
    op, kind = row
    c = rig.conn()
    c.mem.fill()
    request(c, kind, wr_id=1)
    p = expect_request(c, kind)
    c.respond(op, p.psn, b"" if op == roce.ATOMIC_ACK else b"1234", msn=1)
    bad_response(c)
    same(c.mem[:4], b"ZZZZ", "memory")


@case("req.read_response_to_atomic", "IBTA 9.7.6: a READ response to an atomic "
      "fails it with BAD_RESP_ERR", table={"cas": "CAS", "faa": "FAA"})
def read_to_atomic(rig, kind):
    c = rig.conn()
    c.mem.fill()
    request(c, kind, wr_id=1)
    p = expect_request(c, kind)
    c.respond(roce.READ_ONLY, p.psn, bytes(8), msn=1)
    bad_response(c)
    same(c.mem[:8], b"Z" * 8, "memory")


@case("req.nak_in_a_read_response", "IBTA 9.9.2: a NAK at a PSN within a READ "
      "fails it with the NAK's status")
def nak_in_read(rig):
    c = rig.conn()
    request(c, "READ", 1000, wr_id=1)
    p = c.expect(roce.READ_REQUEST)
    c.respond(roce.READ_FIRST, p.psn, pattern(MTU), msn=1)
    c.ack(psn_add(p.psn, 1), roce.NAK_ACCESS)
    c.sent_wc(1, "REM_ACCESS_ERR")


@case("req.duplicate_response", "IBTA 9.7.5: a READ response or atomic answer "
      "again is dropped", table={"read": "READ", "faa": "FAA"})
def duplicate_response(rig, kind):
    c = rig.conn()
    request(c, kind, 8, wr_id=1)
    p = expect_request(c, kind)
    answer(c, kind, p, 8)
    c.sent_wc(1)
    c.mem.fill()
    answer(c, kind, p, 8)
    c.no_wc(rig.quiet)
    same(c.mem[:8], b"Z" * 8, "memory")
    request(c, "SEND", wr_id=2)
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.sent_wc(2)


@case("req.response_into_bad_memory", "IBTA 9.9.2: a READ into memory without "
      "local write fails with LOC_PROT_ERR", table={"read": "READ",
                                                    "faa": "FAA"})
def into_bad_memory(rig, kind):
    c = rig.conn()
    region = Memory(rig.dev.pd, 4096, 0)
    region.fill()
    request(c, kind, 8, wr_id=1, sge=region.sge(0, 8))
    answer(c, kind, expect_request(c, kind), 8)
    c.sent_wc(1, "LOC_PROT_ERR")
    same(region[:8], b"Z" * 8, "memory")
    region.mr.close()


@case("req.out_of_order_answers", "IBTA 9.7.5: an answer to the second READ before "
      "the first: the first is asked for again, both end right")
def out_of_order(rig):
    c = rig.conn()
    request(c, "READ", 8, wr_id=1)
    request(c, "READ", 8, wr_id=2, offset=64)
    p = c.expect(roce.READ_REQUEST)
    q = c.expect(roce.READ_REQUEST)
    c.respond(roce.READ_ONLY, q.psn, b"SECOND--", msn=2)
    again = c.expect(roce.READ_REQUEST, psn=p.psn)
    c.respond(roce.READ_ONLY, again.psn, b"FIRST---", msn=1)
    c.sent_wc(1)
    if not rig.is_softhca:  # which has kept the second
        q = c.expect(roce.READ_REQUEST, psn=q.psn)
        c.respond(roce.READ_ONLY, q.psn, b"SECOND--", msn=2)
    c.sent_wc(2)
    same(c.mem[:8] + c.mem[64:72], b"FIRST---SECOND--", "data")


@case("req.answers_in_any_order", "IBTA 9.7.5, softhca: a READ whose packets come in any "
      "order and more than once ends right",
      table={"descending": (7, 6, 5, 4, 3, 2, 1, 0),
             "in_order_but_one": (2, 3, 5, 6, 7, 4, 1, 0),
             "from_the_middle": (4, 3, 5, 2, 6, 1, 7, 0),
             "with_copies": (3, 7, 3, 5, 7, 1, 6, 4, 1, 2, 5, 0)})
def any_order(rig, order):
    # (what is missing is asked for again; nobody answers that here)
    c = rig.conn(timeout=19)
    data = pattern(7 * MTU + 9)
    c.mem.fill()
    request(c, "READ", len(data), wr_id=1)
    p = c.expect(roce.READ_REQUEST)
    parts = split(data)
    ops = (roce.READ_FIRST, *[roce.READ_MIDDLE] * 6, roce.READ_LAST)
    for i in order:
        c.respond(ops[i], psn_add(p.psn, i), parts[i], msn=1)
    if not rig.is_softhca:  # which has kept them
        for i, part in enumerate(parts):
            c.respond(ops[i], psn_add(p.psn, i), part, msn=1)
    c.sent_wc(1, byte_len=len(data))
    same(c.mem[:len(data) + 4], data + b"ZZZZ", "data")


@case("req.local_drop_is_loss", "softhca: a packet that the network stack drops "
      "locally is a loss; the QP goes on and retries",
      table={"netfilter": "netfilter", "qdisc": "qdisc"})
def local_drop(rig, where):
    c = rig.conn(timeout=17)  # 0.5 s
    with rig.nothing_leaves(where):
        request(c, "SEND", wr_id=1)
        c.no_wc(0.05)
        c.expect_silence(0)
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.sent_wc(1)
    c.expect_state("RTS")


@case("req.no_route_is_loss", "softhca: without a route the QP goes on and "
      "retries")
def no_route(rig):
    c = rig.conn(timeout=17, version=6)
    with rig.no_route():
        request(c, "SEND", wr_id=1)
        c.no_wc(0.05)
        c.expect_silence(0)
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.sent_wc(1)
    c.expect_state("RTS")


@case("req.cq_overrun", "IBTA 11.6.3.2: a CQ that overflows by send completions "
      "raises CQ_ERR, the QP goes to error, and no completion is invented")
def send_cq_overrun(rig):
    c = rig.conn(cqe=4)
    room = c.send_cq.cqe
    for i in range(room + 8):
        request(c, "SEND", wr_id=i)
    for i in range(room + 8):
        p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn)
    c.expect_event("CQ_ERR")
    c.expect_state("ERR")
    n, wcs = c.send_cq.poll(room + 8)
    same([wc.wr_id for wc in wcs], list(range(n)), "completions")
    if n != room + rig.is_softhca or any(wc.status for wc in wcs):
        raise Wrong(f"{n} completions in a CQ of {room}")
    c.no_wc()


@case("req.window_and_credits", "IBTA 9.7.7.2: a peer that gives no credits holds "
      "nothing up; a long queue is sent as ACKs come")
def window(rig):
    c = rig.conn()
    for i in range(60):
        request(c, "SEND", 700, wr_id=i)
    done, end = 0, time.monotonic() + 2 * rig.patience
    acked = None
    while done < 60:
        p = c.rx(0.02)
        if p and p.ackreq:
            acked = p.psn
            c.ack(p.psn, NO_CREDITS)
        n, wcs = c.send_cq.poll()
        if n:
            same(wcs[0].status, 0, "status")
            same(wcs[0].wr_id, done, "order")
            done += 1
        if time.monotonic() > end:
            raise Wrong(f"stuck after {done} of 60, last ACK "
                        f"{show(acked) if acked is not None else 'none'}")
