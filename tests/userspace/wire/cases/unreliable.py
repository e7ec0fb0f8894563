# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""UC and UD: no answers, and an error loses only its message."""


import enums as e
from pyverbs.addr import AH
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR

import roce
from roce import psn_add
from target import (MTU, QKEY, WR, Wrong, pattern,
                    socket_order)

from . import case
from .packets import counted
from .requester import RKEY, VA, request_ops
from .responder import message, same, split

# ---- UC, responder ------------------------------------------------------------


def uc(rig, recvs=4, **fields):
    c = rig.conn("UC", **fields)
    c.mem.fill()
    for i in range(recvs):
        c.post_recv(wr_id=i, offset=1024 * i, length=1024)
    return c


@case("uc.messages", "IBTA 9.8.2: SENDs and WRITEs of any length arrive, nothing "
      "is answered", table={k.lower(): k for k in
                            ("SEND", "SEND_IMM", "WRITE", "WRITE_IMM")})
def messages(rig, kind):
    for version in 4, 6:
        c = uc(rig, 0, version=version)
        for size in 0, 1, 256, 257, 1001:
            c.mem.fill()
            offset = 8192 if kind.startswith("WRITE") else 0
            c.post_recv(offset=offset, wr_id=size)
            message(c, pattern(size), kind, imm=7, ackreq=1)
            if kind != "WRITE":
                wc = c.recv_wc(size, byte_len=size)
                if kind.endswith("IMM"):
                    same(wc.imm_data, socket_order(7), "immediate data")
            else:
                c.no_wc(rig.quiet)
            same(c.mem[:size + 4], pattern(size) + b"ZZZZ", "data")
        c.expect_silence()


@case("uc.psn", "IBTA 9.8.2: a message may begin with any PSN; the one that lost "
      "a packet is dropped whole", table={
          "lost_middle": [0, 2, 3], "lost_last": [0, 1, 2],
          "lost_first": [1, 2, 3], "twice_middle": [0, 1, 1, 2, 3],
          "swapped": [0, 2, 1, 3]})
def uc_psn(rig, order):
    c = uc(rig)
    parts = split(pattern(1000))
    ops = (roce.SEND_FIRST, roce.SEND_MIDDLE, roce.SEND_MIDDLE, roce.SEND_LAST)
    start = c.psn
    for i in order:
        c.tx(ops[i], parts[i], psn=psn_add(start, i))
    message(c, b"next", "SEND", psn=psn_add(start, 5))
    c.recv_wc(0, byte_len=4)
    same(c.mem[:4], b"next", "data")
    message(c, b"far", "SEND", psn=psn_add(start, 1 << 22))
    c.recv_wc(1, byte_len=3)
    c.no_wc()


@case("uc.psn_wrap", "IBTA 9.7.1: PSNs are counted modulo 2^24")
def uc_wrap(rig):
    c = uc(rig, psn=0xfffffe)
    message(c, pattern(1000), "SEND")
    c.recv_wc(0, byte_len=1000)
    same(c.mem[:1000], pattern(1000), "data")


@case("uc.broken_write_then_send", "IBTA 9.8.2: a message that is broken off "
      "does not stop the next one")
def broken_write(rig):
    c = uc(rig)
    c.tx(roce.WRITE_FIRST, pattern(MTU), va=c.mem.addr + 8192, rkey=c.mem.rkey,
         dmalen=1000)
    c.psn = psn_add(c.psn, 1)  # a lost packet
    c.tx(roce.WRITE_LAST, b"1234")
    message(c, b"next", "SEND")
    c.recv_wc(0, byte_len=4)
    message(c, pattern(600), "WRITE", va=c.mem.addr + 8192)
    message(c, pattern(700), "SEND")
    c.recv_wc(1, byte_len=700)
    same(c.mem[8192:8792], pattern(600), "WRITE after it")


@case("uc.refused", "IBTA 9.8.2, 9.9.3: what a UC responder cannot execute is "
      "dropped without an answer, and the QP goes on", table={
          "bad_key": ("WRITE", dict(rkey=1)),
          "beyond_the_end": ("WRITE", dict(va=-1)),
          "imm_bad_key": ("WRITE_IMM", dict(rkey=1)),
          "write_too_short": ("WRITE", dict(dmalen=101)),
          "write_too_long": ("WRITE", dict(dmalen=99)),
          "only_longer_than_the_mtu": ("OVER", {})})
def uc_refused(rig, row):
    kind, fields = row
    c = uc(rig)
    fields = dict(fields)
    if fields.get("va") == -1:
        fields["va"] = c.mem.addr + c.mem.length - 99
    if fields.get("rkey") == 1:
        fields["rkey"] = c.mem.rkey ^ 0x55
    if kind == "OVER":
        c.tx(roce.SEND_ONLY, pattern(MTU + 4))
    else:
        fields.setdefault("va", c.mem.addr + 8192)
        message(c, pattern(100), kind, **fields)
    c.expect_silence()
    c.no_wc()
    same(c.mem[8192 + 99:8192 + 104], b"Z" * 5, "memory")
    message(c, b"next", "SEND")
    c.recv_wc(0, byte_len=4)
    c.expect_state("RTS")


@case("uc.longer_than_the_receive", "IBTA 11.6.2: a receive that is too short for "
      "its message completes with LOC_LEN_ERR, once; the next message is received",
      table={"by_1": 1025, "by_packets": 2000})
def uc_longer(rig, size):
    c = uc(rig)
    message(c, pattern(size), "SEND")
    c.recv_wc(0, "LOC_LEN_ERR")
    c.expect_silence()
    c.no_wc()
    same(c.mem[1024:1028], b"Z" * 4, "memory behind the receive")
    message(c, b"next", "SEND")
    c.recv_wc(1, byte_len=4)


@case("uc.broken_message_of_an_srq", "IBTA 11.6.2: of an SRQ, whose receives others "
      "need, that of a message which breaks off completes with REM_ABORT_ERR")
def uc_broken_srq(rig):
    with SRQ(rig.dev.pd, SrqInitAttr(SrqAttr(max_wr=4, max_sge=1))) as srq:
        c, other = (rig.conn("UC", srq=srq) for _ in range(2))
        c.mem.fill()
        for i in range(2):
            srq.post_recv(RecvWR(wr_id=i, num_sge=1,
                                 sg=[c.mem.sge(1024 * i, 1024)]))
        parts = split(pattern(700))
        c.tx(roce.SEND_FIRST, parts[0])
        c.psn = psn_add(c.psn, 1)  # a lost packet
        c.tx(roce.SEND_LAST, parts[2])
        c.recv_wc(0, "REM_ABORT_ERR")
        message(other, b"next", "SEND")
        other.recv_wc(1, byte_len=4)
        same(c.mem[1024:1028], b"next", "data")
        for conn in c, other:
            conn.no_wc()
            rig.conns.remove(conn)
            conn.close()


@case("uc.no_receive", "IBTA 9.8.2: a SEND without a receive request is dropped, "
      "whole; the next one arrives", table={"only": 4, "long": 700})
def uc_no_receive(rig, size):
    c = uc(rig, 0)
    with counted(rig, "out_of_buffer"):
        parts = message(c, pattern(size), "SEND")
    assert parts
    c.expect_silence()
    c.post_recv(wr_id=5)
    message(c, b"next", "SEND")
    c.recv_wc(5, byte_len=4)
    c.no_wc()


@case("uc.receive_posted_in_mid_message", "IBTA 9.8.2: a message whose first "
      "packet was dropped does not arrive in part")
def uc_mid(rig):
    c = uc(rig, 0)
    parts = split(pattern(700))
    c.tx(roce.SEND_FIRST, parts[0])
    c.expect_silence()
    c.post_recv(wr_id=5)
    c.tx(roce.SEND_MIDDLE, parts[1])
    c.tx(roce.SEND_LAST, parts[2])
    c.no_wc(rig.quiet)
    message(c, b"next", "SEND")
    c.recv_wc(5, byte_len=4)


# ---- UC, requester ---------------------------------------------------------------


@case("uc.sent", "IBTA 9.8.2: a request is cut at the path MTU and completes "
      "without an answer", table={k.lower(): k for k in
                                  ("SEND", "SEND_IMM", "WRITE", "WRITE_IMM")})
def uc_sent(rig, kind):
    c = rig.conn("UC", sq_psn=0xffffff)
    c.mem[:1100] = pattern(1100)
    psn = 0xffffff
    for size in 0, 1, 256, 257, 1001:
        c.post(getattr(WR, kind), size, va=VA, rkey=RKEY, imm=9, wr_id=size)
        for i, op in enumerate(request_ops(kind, size)):
            p = c.expect(op, psn=psn, data=split(pattern(1100)[:size])[i])
            if op in roce.HAS_RETH:
                same((p.va, p.rkey, p.dmalen), (VA, RKEY, size), "RETH")
            if op in roce.HAS_IMM:
                same(p.imm, 9, "immediate data")
            psn = psn_add(psn, 1)
        c.sent_wc(size)


@case("uc.send_error_is_sqe", "IBTA 10.3.1.7: an error of a send request stops "
      "the send queue (SQE), and the QP still receives")
def uc_sqe(rig):
    c = uc(rig)
    c.post(WR.SEND, sge=SGE(c.mem.addr, 8, c.mem.lkey ^ 0x55), wr_id=1)
    c.sent_wc(1, "LOC_PROT_ERR")
    c.expect_state("SQE")
    message(c, b"still", "SEND")
    c.recv_wc(0, byte_len=5)


# ---- UD, responder ----------------------------------------------------------------


def ud(rig, recvs=4, **fields):
    c = rig.conn("UD", **fields)
    c.mem.fill()
    for i in range(recvs):
        c.post_recv(wr_id=i, offset=2048 * i, length=1064)
    return c


def datagram(c, data=b"hello", below=None, op=roce.SEND_ONLY, **fields):
    fields.setdefault("qkey", QKEY)
    fields.setdefault("sqpn", 0xabcde)
    return c.tx(op, data, below=below, **fields)


@case("ud.receive", "IBTA 9.8.3, 11.4.1.2, A17.4.5: 40 bytes in front of the "
      "message hold the IPv6 header, or the IPv4 header in their last 20; "
      "byte_len counts them", table={"ipv4": 4, "ipv6": 6})
def ud_receive(rig, version):
    c = ud(rig, version=version)
    for i, size in enumerate((0, 5, 1024)):
        datagram(c, pattern(size), {"ttl": 17, "tos": 0x20}, psn=77 + i * 9)
        wc = c.recv_wc(i, byte_len=40 + size, opcode=e.IBV_WC_RECV,
                       src_qp=0xabcde, pkey_index=0)
        same(wc.wc_flags & e.IBV_WC_GRH, e.IBV_WC_GRH, "wc_flags GRH")
        at = 2048 * i
        same(c.mem[at + 40:at + 44 + size], pattern(size) + b"ZZZZ", "message")
        head = c.mem[at + 20:at + 40] if version == 4 else c.mem[at:at + 40]
        wanted = rig.peer.delivered(version, 12 + 8 + size + (-size & 3) + 4,
                                    ttl=17, tos=0x20)
        same(bytes(head), wanted, "IP header")
    c.expect_silence(0)


@case("ud.receive_imm", "IBTA 9.8.3: immediate data comes with the completion")
def ud_imm(rig):
    c = ud(rig)
    datagram(c, b"x", op=roce.SEND_ONLY_IMM, imm=0x01020304)
    wc = c.recv_wc(0, byte_len=41, imm_data=socket_order(0x01020304))
    same(wc.wc_flags & e.IBV_WC_WITH_IMM, e.IBV_WC_WITH_IMM, "wc_flags")


@case("ud.from_anybody", "IBTA 9.8.3: a datagram of any source is received")
def ud_anybody(rig):
    c = ud(rig)
    datagram(c, below={"src": rig.strangers[4]})
    datagram(c, below={"sport": 99})
    c.recv_wc(0)
    c.recv_wc(1)


UD_DROPS = {
    "wrong_qkey": ("rx_qkey_mismatch", dict(qkey=QKEY ^ 1)),
    "privileged_qkey": ("rx_qkey_mismatch", dict(qkey=QKEY | 1 << 31)),
    "wrong_pkey": ("rx_pkey_mismatch", dict(pkey=0x8001)),
}


@case("ud.drop", "IBTA 9.8.3, 10.2.5: a datagram with another Q_Key or P_Key is "
      "dropped; the request stays",
      table=UD_DROPS)
def ud_drop(rig, row):
    counter, fields = row
    c = ud(rig)
    with counted(rig, counter, 2):
        for _ in range(2):
            datagram(c, **fields)
    c.no_wc()
    datagram(c, b"good")
    c.recv_wc(0, byte_len=44)
    c.expect_silence(0)
    c.expect_state("RTS")


@case("ud.receive_too_short", "IBTA 11.4.1.2, 11.6.2: a receive request that has no "
      "room for the 40 bytes and the message completes with LOC_LEN_ERR, and the "
      "QP goes on", table={"by_the_grh": (1024, 1024), "by_1": (1063, 1024),
                           "less_than_a_grh": (39, 0), "empty_message": (20, 0)})
def ud_short(rig, row):
    room, size = row
    c = ud(rig, 0)
    c.post_recv(length=room, wr_id=1)
    c.post_recv(length=1064, wr_id=2, offset=2048)
    with counted(rig, "rx_dropped_messages"):
        datagram(c, pattern(size))
    c.recv_wc(1, "LOC_LEN_ERR")
    same(c.mem[room:room + 4], b"Z" * 4, "memory behind the receive")
    datagram(c, b"good")
    c.recv_wc(2, byte_len=44)
    c.expect_silence(0)
    c.expect_state("RTS")


@case("ud.no_receive", "IBTA 9.8.3: without a receive request a datagram is lost")
def ud_none(rig):
    c = ud(rig, 0)
    with counted(rig, "out_of_buffer"):
        datagram(c)
    c.expect_silence()
    c.post_recv(wr_id=1, length=1064)
    datagram(c, b"second")
    c.recv_wc(1, byte_len=46)


@case("ud.bad_receive_buffer", "IBTA 9.9.3: a receive request that names memory "
      "wrongly completes with LOC_PROT_ERR, the QP goes to error")
def ud_bad_buffer(rig):
    c = ud(rig, 0)
    c.post_recv(sge=SGE(c.mem.addr, 256, c.mem.lkey ^ 0x55), wr_id=1)
    datagram(c)
    c.recv_wc(1, "LOC_PROT_ERR")
    c.expect_state("ERR")


@case("ud.qp1_qkey", "IBTA 10.2.5: QP1 takes only its well-known Q_Key")
def qp1(rig):
    with counted(rig, "rx_qkey_mismatch"):
        rig.peer.send(roce.Packet(roce.UD | roce.SEND_ONLY, dqpn=1, qkey=QKEY,
                                  sqpn=1, data=bytes(256)))


# ---- UD, requester ------------------------------------------------------------------


@case("ud.sent", "IBTA 9.8.3: one packet with the destination, Q_Key and own QP "
      "number of the request", table={"ipv4": 4, "ipv6": 6})
def ud_sent(rig, version):
    c = ud(rig, 0, version=version)
    ah = AH(rig.dev.pd, attr=rig.ah_attr(version, tclass=0x20))
    c.mem[:1024] = pattern(1024)
    for i, size in enumerate((0, 1, 1023, 1024)):
        c.post_ud(ah, size, wr_id=i, imm=5,
                  opcode=WR.SEND_IMM if i & 1 else WR.SEND)
        p = c.expect(roce.SEND_ONLY_IMM if i & 1 else roce.SEND_ONLY,
                     data=pattern(1024)[:size], qkey=QKEY, sqpn=c.qpn)
        same(p.ip.tos, 0x20, "traffic class")
        if i & 1:
            same(p.imm, 5, "immediate data")
        c.sent_wc(i)
    ah.close()


@case("ud.too_long", "IBTA 9.8.3: a datagram longer than the MTU fails with "
      "LOC_LEN_ERR; the send queue stops (SQE)")
def ud_too_long(rig):
    c = ud(rig, 0)
    ah = AH(rig.dev.pd, attr=rig.ah_attr())
    c.post_ud(ah, 5000, wr_id=1)
    c.sent_wc(1, "LOC_LEN_ERR")
    c.expect_silence()
    c.expect_state("SQE")


@case("ud.send_error_is_sqe", "IBTA 10.3.1.7: an error of a send request stops the "
      "send queue (SQE), and the QP still receives")
def ud_sqe(rig):
    c = ud(rig)
    ah = AH(rig.dev.pd, attr=rig.ah_attr())
    c.post_ud(ah, 8, sge=SGE(c.mem.addr, 8, c.mem.lkey ^ 0x55), wr_id=1)
    c.post_ud(ah, 8, wr_id=2)
    c.sent_wc(1, "LOC_PROT_ERR")
    c.sent_wc(2, "WR_FLUSH_ERR")
    c.expect_state("SQE")
    datagram(c, b"still")
    c.recv_wc(0, byte_len=45)
    c.expect_silence(0)
    ah.close()


@case("ud.privileged_qkey", "IBTA 10.2.5: with the high bit set in the request "
      "the QP's own Q_Key is sent")
def ud_qkey(rig):
    c = ud(rig, 0)
    ah = AH(rig.dev.pd, attr=rig.ah_attr())
    c.post_ud(ah, 4, qkey=0x80010000)
    c.expect(roce.SEND_ONLY, qkey=QKEY)
    c.sent_wc()
    ah.close()


@case("ud.source_port_by_flow", "A17.3.2: the UDP source port spreads flows: it "
      "follows the address handle's flow label, and is stable")
def ud_ports(rig):
    c = ud(rig, 0, version=6)
    ports = {}
    for label in (1, 2, 3, 0x12345, 0xfffff):
        ah = AH(rig.dev.pd, attr=rig.ah_attr(6, flow_label=label))
        for _ in range(2):
            c.post_ud(ah, 4)
            p = c.expect(roce.SEND_ONLY)
            c.sent_wc()
            if p.ip.sport < 0xc000:
                raise Wrong(f"source port {p.ip.sport:#x}")
            same(p.ip.label, label, "flow label")
            ports.setdefault(label, p.ip.sport)
            same(p.ip.sport, ports[label], "source port of the same flow")
        ah.close()
    if len(set(ports.values())) < 4:
        raise Wrong(f"source ports {ports}")


