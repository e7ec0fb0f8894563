# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Requests that cannot be executed or answered at once, and answers meanwhile."""
import mmap
import struct
import time

import enums as e
from pyverbs.wr import SendWR

import roce
from roce import psn_add
from target import ALL_ACCESS, WR, Memory, Skip, Userfault, pattern

from . import case
from .batches import batch
from .requester import expect_request, request
from .responder import same

FLUSH_GLOBAL = getattr(e, "IBV_ACCESS_FLUSH_GLOBAL", 1 << 8)
ON_DEMAND = e.IBV_ACCESS_ON_DEMAND


def word(c, i, **fields):
    """An ATOMIC WRITE of @i to the i-th word, as a packet."""
    return c.packet(roce.ATOMIC_WRITE, struct.pack("=Q", i), ackreq=1,
                    va=c.mem.addr + 32768 + 8 * i, rkey=c.mem.rkey, dmalen=8,
                    **fields)


def expect_words(c, first, count):
    for i in range(count):
        c.expect(roce.READ_ONLY, psn=psn_add(first, i), data=b"")
    for i in range(count):
        at = 32768 + 8 * i
        same(c.mem[at:at + 8], struct.pack("=Q", i), f"word {i}")


@case("resp.more_atomic_writes_than_agreed", "IBTA A19.4: requesters that do not "
      "count ATOMIC WRITE among READs and atomics (rxe) have each executed and "
      "answered, in order", table={"at_once": 0, "behind_a_read": 20000})
def more_words(rig, length):
    c = rig.conn(dest_rd_atomic=1)
    if not rig.is_softhca:
        raise Skip("whether an adapter takes them is its own affair")
    c.mem[:32768] = pattern(32768)
    if length:
        p = c.read(length)
    first = c.psn
    batch(c, [word(c, i, psn=psn_add(first, i)) for i in range(6)])
    if length:
        c.expect_response(c.mem[:length], p.psn)
    expect_words(c, first, 6)
    c.psn = psn_add(first, 6)
    c.write(b"behind")
    c.expect_ack(psn_add(first, 6), msn=7 + bool(length))


@case("resp.msn_before_a_read", "C9-148: an acknowledgement that stops before a READ "
      "does not count it as done")
def msn_before_read(rig):
    c = rig.conn()
    first = c.write(b"1", 4096)
    c.expect_ack(first.psn, msn=1)
    p = c.read(600)
    c.write(b"2", 4096, ackreq=0)
    c.expect_response(c.mem[:600], p.psn)
    c.write(b"1", 4096, psn=first.psn)
    c.expect_ack(first.psn, msn=1)
    c.expect_silence()


@case("resp.flush_reserved_bits", "IBTA A19.4.1: reserved bits of FETH are not looked "
      "at", table={f"{bits:08x}": bits for bits in (0x1, 0x5, 0xd, 0xffffffc1)})
def flush_reserved(rig, bits):
    if not rig.is_softhca:
        raise Skip("FLUSH is not offered everywhere")
    c = rig.conn(access=ALL_ACCESS | FLUSH_GLOBAL)
    region = Memory(rig.dev.pd, 4096, ALL_ACCESS | FLUSH_GLOBAL)
    p = c.tx(roce.FLUSH, ackreq=1, feth=bits, va=region.addr, rkey=region.rkey,
             dmalen=8)
    c.expect(roce.READ_ONLY, psn=p.psn, data=b"", msn=1)
    region.mr.close()


def absent(rig):
    """Memory on demand without a present page."""
    try:
        return Memory(rig.dev.pd, 64 << 10, ALL_ACCESS | ON_DEMAND)
    except Exception:
        raise Skip("no memory on demand") from None


@case("resp.memory_not_present", "IBTA 9.7.5.2.8: a request whose memory is not "
      "present draws an RNR NAK at once, as of ConnectX; it is executed and "
      "acknowledged once the memory is there",
      table={k.lower(): k for k in ("WRITE", "READ", "SEND", "FAA")})
def not_present(rig, kind):
    if not rig.is_softhca:
        raise Skip("what ConnectX does; others fail or wait")
    region = absent(rig)
    # long: otherwise the retry would come, and there is none
    c = rig.conn(rnr_timer=26)
    first = c.write(b"1")
    c.expect_ack(first.psn, msn=1)
    if kind == "WRITE":
        p = c.tx(roce.WRITE_ONLY, b"data", va=region.addr + 4096,
                 rkey=region.rkey, dmalen=4)
    elif kind == "SEND":
        c.post_recv(wr_id=1, sge=region.sge(4096, 64))
        p = c.send(b"data", ackreq=0)
    elif kind == "READ":
        p = c.read(600, va=region.addr + 4096, rkey=region.rkey)
    else:
        p = c.atomic(roce.FETCH_ADD, va=region.addr + 4096, rkey=region.rkey,
                     swap=5)
    nak = c.expect(roce.ACK)
    same((nak.syndrome, nak.psn, nak.msn), (0x20 | 26, p.psn, 1), "RNR NAK")
    if kind == "READ":
        c.expect_response(bytes(600), p.psn)
    elif kind == "FAA":
        c.expect(roce.ATOMIC_ACK, psn=p.psn, orig=0, msn=2)
    else:
        c.expect_ack(p.psn, msn=2)
        same(region[4096:4100], b"data", "memory")
    if kind == "SEND":
        c.recv_wc(1, byte_len=4)
    c.expect_silence()
    region.mr.close()


@case("resp.memory_not_present_behind_another", "IBTA 9.7.5.2.8: a request that waits "
      "behind another draws an RNR NAK of its own, once it is its turn and its own "
      "memory is not present")
def not_present_behind(rig):
    region = absent(rig)
    with Userfault(region.addr, mmap.PAGESIZE) as one, \
            Userfault(region.addr + mmap.PAGESIZE, mmap.PAGESIZE) as other:
        c = rig.conn(rnr_timer=26)
        first = c.write(b"data", va=region.addr, rkey=region.rkey)
        second = c.write(b"more", va=other.addr, rkey=region.rkey)
        for done, page, write in (0, one, first), (1, other, second):
            nak = c.expect(roce.ACK)
            if done and nak.psn == first.psn:   # its acknowledgement
                nak = c.expect(roce.ACK)
            same((nak.syndrome, nak.psn, nak.msn), (0x20 | 26, write.psn, done), "RNR NAK")
            page.give(b"given")
        c.expect_ack(second.psn, msn=2)
        c.expect_silence()
        same(region[:5] + region[mmap.PAGESIZE:][:5], b"datanmoren", "memory")
    region.mr.close()


@case("resp.memory_does_not_come", "IBTA 9.7.5.1.4, 9.7.5.1.5, C9-105: while a "
      "request waits for its memory, ACK probes and repeated READs and atomics before "
      "it are answered; the request itself draws an RNR NAK again; what is behind it "
      "draws nothing")
def does_not_come(rig):
    region = absent(rig)
    with Userfault(region.addr, mmap.PAGESIZE) as page:
        c = rig.conn(rnr_timer=26)
        c.mem[:4096] = pattern(4096)
        write = c.write(b"1", 2048)
        c.expect_ack(write.psn, msn=1)
        read = c.read(600)
        c.expect_response(c.mem[:600], read.psn)
        atomic = c.atomic(roce.FETCH_ADD, offset=1024, swap=5)
        before = c.expect(roce.ATOMIC_ACK, psn=atomic.psn, msn=3).orig
        after = c.mem[1024:1032]
        late = dict(va=region.addr, rkey=region.rkey)
        waits = c.write(b"late", **late)
        behind = c.write(b"2", 2049)

        def refused(timer):
            p = c.expect(roce.ACK)
            same((p.syndrome, p.psn, p.msn), (0x20 | timer, waits.psn, 3),
                 "RNR NAK")
        refused(26)
        c.expect_silence()
        # each time four times as long, up to the second longest
        for timer in 30, 31:
            # the ACK probe of a requester, and a WRITE before a READ
            c.write(b"", psn=psn_add(waits.psn, -1))
            c.expect_ack(psn_add(waits.psn, -1), msn=3)
            c.write(b"1", 2048, psn=write.psn)
            c.expect_ack(write.psn, msn=1)
            c.read(600, psn=read.psn)
            c.expect_response(c.mem[:600], read.psn)
            c.atomic(roce.FETCH_ADD, offset=1024, swap=5, psn=atomic.psn)
            c.expect(roce.ATOMIC_ACK, psn=atomic.psn, orig=before)
            c.write(b"late", psn=waits.psn, **late)
            refused(timer)
            c.write(b"2", 2049, psn=behind.psn)
            c.expect_silence()
        same(c.mem[1024:1032], after, "word")
        same(c.mem[2048:4096], b"1" + pattern(4096)[2049:], "what was written")
        page.give(b"given")
        ack = c.expect_ack()
        if ack.psn == waits.psn:
            ack = c.expect_ack()
        same((ack.psn, ack.msn), (behind.psn, 5), "acknowledgement")
        same(region[:5], b"laten", "memory")
        same(c.mem[2048:2050], b"12", "what was written")
        c.expect_silence()
    region.mr.close()


@case("req.nak_behind_a_read", "IBTA 9.9.2: after a fatal NAK the responder answers "
      "nothing more: an earlier READ whose response is lost ends at once, with the "
      "status of the NAK",
      table={"access": (roce.NAK_ACCESS, "REM_ACCESS_ERR", "READ"),
             "invalid": (roce.NAK_INVALID, "REM_INV_REQ_ERR", "FAA"),
             "operation": (roce.NAK_OPERATION, "REM_OP_ERR", "READ")})
def nak_behind(rig, row):
    syndrome, status, kind = row
    c = rig.conn(timeout=0)
    request(c, kind, wr_id=1)
    request(c, "SEND", wr_id=2)
    expect_request(c, kind)
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn, syndrome, msn=1)
    c.sent_wc(1, status)
    c.sent_wc(2, "WR_FLUSH_ERR")
    c.expect_state("ERR")
    c.expect_silence()


@case("req.rnr_does_not_restart_retries", "IBTA 9.7.5.2.8: RNR NAKs and retries are "
      "counted apart: only what comes through restarts retry_cnt")
def rnr_and_retries(rig):
    c = rig.conn(timeout=12, retry_cnt=2)
    request(c, "SEND", wr_id=1)
    sent = 0
    end = time.monotonic() + rig.patience
    while time.monotonic() < end:
        if not c.rx(0.2):
            break
        sent += 1
        if sent == 2:
            c.ack(c.sq_psn, 0x21)
    # once, a retry and its RNR NAK, again; the last retry; and no more
    same(sent, 4, "times sent")
    c.sent_wc(1, "RETRY_EXC_ERR")


@case("req.asks_until_acknowledged", "softhca: until something was acknowledged each "
      "request asks, and none is probed: the PSN before the first one belongs to an "
      "earlier connection of the peer's QP")
def asks(rig):
    c = rig.conn(sig_all=False)
    if not rig.is_softhca:
        raise Skip("others need not probe")
    for i in range(3):
        c.qp.post_send(SendWR(wr_id=i, opcode=WR.SEND, num_sge=1,
                              sg=[c.mem.sge(0, 4)]))
        c.expect(roce.SEND_ONLY, psn=psn_add(c.sq_psn, i), ackreq=1)
    c.expect_silence(0.1)
    c.ack(psn_add(c.sq_psn, 2))
    c.expect_silence()
