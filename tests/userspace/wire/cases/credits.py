# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""End-to-end credits (IBTA 9.7.7.2), of both sides of the reliable connection."""
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR

import roce
from roce import NO_CREDITS, psn_add
from target import MTU, Wrong

from . import case
from .requester import request
from .responder import same

# IBTA table 48: receive requests of each code
COUNTS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def code_of(count):
    return max(code for code, n in enumerate(COUNTS) if n <= count)


@case("resp.credits", "IBTA 9.7.7.2, table 48: an acknowledgement tells how many "
      "receive requests are posted, rounded down to a code",
      table={str(n): n for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 63, 64, 300)})
def resp_credits(rig, count):
    c = rig.conn(recv_wr=512)
    for i in range(count + 1):
        c.post_recv(wr_id=i)
    p = c.send(b"x")
    c.expect_ack(p.psn, msn=1, syndrome=code_of(count))
    p = c.write(b"x")
    c.expect_ack(p.psn, msn=2, syndrome=code_of(count))
    c.post_recv(wr_id=0)
    p = c.send(b"x")
    c.expect_ack(p.psn, msn=3, syndrome=code_of(count))


@case("resp.credits_of_responses", "IBTA 9.7.7.2: READ responses and atomic answers "
      "tell it, too; a message in progress has its receive request still")
def resp_credits_of_responses(rig):
    c = rig.conn()
    for i in range(3):
        c.post_recv(wr_id=i)
    c.read(2 * MTU)
    c.expect(roce.READ_FIRST, syndrome=3)
    c.expect(roce.READ_LAST, syndrome=3)
    c.atomic(roce.FETCH_ADD)
    c.expect(roce.ATOMIC_ACK, syndrome=3)
    p = c.send(bytes(MTU), op=roce.SEND_FIRST)
    c.expect_ack(p.psn, syndrome=3)
    p = c.send(b"x", op=roce.SEND_LAST)
    c.expect_ack(p.psn, syndrome=2)


@case("resp.credits_of_an_srq", "IBTA 9.7.7.2: with an SRQ credits are invalid: its "
      "requests are nobody's in particular")
def resp_credits_of_an_srq(rig):
    with SRQ(rig.dev.pd, SrqInitAttr(SrqAttr(max_wr=4, max_sge=1))) as srq:
        c = rig.conn(srq=srq)
        for i in range(3):
            srq.post_recv(RecvWR(wr_id=i, num_sge=1, sg=[c.mem.sge(0, 64)]))
        p = c.send(b"x")
        c.expect_ack(p.psn, msn=1, syndrome=NO_CREDITS)
        rig.conns.remove(c)
        c.close()


def told(c, code):
    """A SEND was acknowledged with this code."""
    request(c, "SEND")
    p = c.expect(roce.SEND_ONLY)
    c.ack(p.psn, code, msn=1)
    c.sent_wc()
    return p.psn


def expect_sends(c, count):
    """Return: the last of @count SENDs, behind which nothing comes."""
    for _ in range(count):
        p = c.expect(roce.SEND_ONLY)
    c.expect_silence()
    return p


@case("req.credits", "IBTA 9.7.7.2: not more messages that take a receive request "
      "are outstanding than there are credits, and one; it asks for an ACK",
      table={str(code): code for code in (0, 1, 2, 3, 4, 5, 7, 8)})
def req_credits(rig, code):
    c = rig.conn()
    told(c, code)
    count = COUNTS[code] + 1
    for i in range(count + 6):
        request(c, "SEND", wr_id=i)
    p = expect_sends(c, count)
    same(p.ackreq, 1, "AckReq of the last one")
    c.ack(p.psn, 2, msn=count + 1)
    p = expect_sends(c, 3)
    c.ack(p.psn, NO_CREDITS, msn=count + 4)
    p = expect_sends(c, 3)
    c.ack(p.psn, NO_CREDITS, msn=count + 7)
    for i in range(count + 6):
        c.sent_wc(i)


@case("req.credits_first_packet", "IBTA 9.7.7.2: of a SEND without credit the first "
      "packet leaves and asks; the rest follows its answer, also after an RNR NAK")
def req_credits_first_packet(rig):
    c = rig.conn()
    told(c, 0)
    request(c, "SEND", 3 * MTU, wr_id=1)
    p = c.expect(roce.SEND_FIRST, ackreq=1)
    c.expect_silence()
    c.ack(p.psn, 0x21, msn=1)
    c.expect(roce.SEND_FIRST, ackreq=1, psn=p.psn)
    c.expect_silence()
    c.ack(p.psn, 0, msn=1)
    c.expect(roce.SEND_MIDDLE)
    p = c.expect(roce.SEND_LAST, ackreq=1)
    c.ack(p.psn, 0, msn=2)
    c.sent_wc(1)


@case("req.credits_of_others", "IBTA 9.7.7.2: WRITEs and READs need no credit, WRITEs "
      "with immediate data do, which leave as a whole")
def req_credits_of_others(rig):
    c = rig.conn()
    told(c, 0)
    request(c, "WRITE")
    request(c, "READ")
    request(c, "WRITE_IMM", 2 * MTU)
    request(c, "WRITE")
    request(c, "WRITE_IMM", 4, wr_id=9)
    c.expect(roce.WRITE_ONLY)
    p = c.expect(roce.READ_REQUEST)
    c.expect(roce.WRITE_FIRST)
    c.expect(roce.WRITE_LAST_IMM)
    c.expect(roce.WRITE_ONLY)
    c.expect_silence()
    c.respond(roce.READ_ONLY, p.psn, b"data", syndrome=0, msn=3)
    c.ack(psn_add(p.psn, 3), 0, msn=5)
    p = c.expect(roce.WRITE_ONLY_IMM)
    c.ack(p.psn, 0, msn=6)
    for _ in range(4):
        c.sent_wc()
    c.sent_wc(9)


@case("req.credits_unasked", "IBTA 9.7.7.2: the last acknowledgement again with more "
      "credits is heard; with less it takes none back")
def req_credits_unasked(rig):
    c = rig.conn()
    psn = told(c, 1)
    for i in range(8):
        request(c, "SEND", wr_id=i)
    expect_sends(c, 2)
    c.ack(psn, 0, msn=1)
    c.expect_silence()
    c.ack(psn, 3, msn=1)
    expect_sends(c, 2)
    c.ack(psn, 1, msn=1)
    c.expect_silence()
    c.ack(psn, 8, msn=1)
    p = expect_sends(c, 4)
    c.ack(p.psn, NO_CREDITS, msn=9)
    for i in range(8):
        c.sent_wc(i)


@case("req.credits_and_losses", "IBTA 9.7.7.2: what is sent again needs no credit: a "
      "sequence NAK repeats all of it")
def req_credits_and_losses(rig):
    c = rig.conn()
    psn = told(c, 3)
    for i in range(6):
        request(c, "SEND", wr_id=i)
    expect_sends(c, 4)
    c.ack(psn_add(psn, 1), roce.NAK_SEQ, msn=1)
    p = expect_sends(c, 4)
    if p.psn != psn_add(psn, 4):
        raise Wrong(f"the last one has PSN {p.psn:06x}")
    c.ack(p.psn, 3, msn=5)
    p = expect_sends(c, 2)
    c.ack(p.psn, 3, msn=7)
    for i in range(6):
        c.sent_wc(i)
