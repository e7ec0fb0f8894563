#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Connections and datagrams over each pair of path bits between two InfiniBand ports of
one machine, whose LMC a subnet manager has set: packets name these LIDs.

  ib-paths.py DEVICE_A DEVICE_B

Prints a line for each part, for lib.sh. Used by ib-lmc.sh.
"""

import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

QKEY, GRH, SIZE = 0x11111111, 40, 64


class End:
    def __init__(self, name):
        self.context = Context(name=name)
        port = self.context.query_port(1)
        self.lid, self.lmc = port.lid, port.lmc
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.mr = MR(self.pd, GRH + SIZE, e.IBV_ACCESS_LOCAL_WRITE)

    def qp(self, kind):
        init = QPInitAttr(qp_type=kind, scq=self.cq, rcq=self.cq,
                          cap=QPCap(max_send_wr=4, max_recv_wr=4))
        made = QP(self.pd, init)
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        made.to_init(attr)
        return made

    def receive(self, qp):
        qp.post_recv(RecvWR(1, 1, [SGE(self.mr.buf, GRH + SIZE, self.mr.lkey)]))

    def completion(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            number, found = self.cq.poll()
            if number:
                return found[0]
        raise TimeoutError("no completion")


def path(bits, peer, peer_bits):
    return AHAttr(port_num=1, dlid=peer.lid + peer_bits, src_path_bits=bits)


def connect(qp, to, address):
    attr = QPAttr(port_num=1, path_mtu=e.IBV_MTU_1024)
    attr.dest_qp_num, attr.max_dest_rd_atomic, attr.min_rnr_timer = to, 1, 12
    attr.ah_attr = address
    attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.max_rd_atomic = 14, 7, 7, 1
    qp.to_rts(attr)


def send(a, b, qp_a, qp_b, ah=None):
    b.receive(qp_b)
    request = SendWR(1, num_sge=1, sg=[SGE(a.mr.buf, SIZE, a.mr.lkey)],
                     opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED)
    if ah:
        request.set_wr_ud(ah, qp_b.qp_num, QKEY)
    qp_a.post_send(request)
    done, got = a.completion(), b.completion()
    if done.opcode == e.IBV_WC_RECV:    # (both may be of one queue)
        done, got = got, done
    return got if done.status == got.status == e.IBV_WC_SUCCESS else None


def connection(a, b, bits_a, bits_b):
    qp_a, qp_b = a.qp(e.IBV_QPT_RC), b.qp(e.IBV_QPT_RC)
    connect(qp_a, qp_b.qp_num, path(bits_a, b, bits_b))
    connect(qp_b, qp_a.qp_num, path(bits_b, a, bits_a))
    good = send(a, b, qp_a, qp_b) and send(b, a, qp_b, qp_a)
    qp_a.close()
    qp_b.close()
    return good


def datagram(a, b, qp_a, qp_b, bits_a, bits_b):
    ah = AH(a.pd, attr=path(bits_a, b, bits_b))
    got = send(a, b, qp_a, qp_b, ah)
    ah.close()
    return got and got.slid == a.lid + bits_a and \
        got.dlid_path_bits & ((1 << b.lmc) - 1) == bits_b


def check(name, good):
    print("ok" if good else "not ok", name, flush=True)


a, b = (End(name) for name in sys.argv[1:])
bits = range(1 << a.lmc)
check("paths.lmc", a.lmc == b.lmc == 3 and not a.lid & 7 and not b.lid & 7)
check("paths.rc", all(connection(a, b, i, (3 * i + 1) % len(bits)) for i in bits))
ud = []
for end in (a, b):
    qp = QP(end.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=end.cq, rcq=end.cq,
                               cap=QPCap(max_send_wr=4, max_recv_wr=4)))
    attr = QPAttr(port_num=1)
    attr.qkey = QKEY
    qp.to_rts(attr)
    ud.append(qp)
check("paths.ud", all(datagram(a, b, *ud, i, j) for i in bits for j in bits))
check("paths.ud_within_the_port",
      all(datagram(a, a, ud[0], ud[0], i, j) for i in bits for j in bits))
