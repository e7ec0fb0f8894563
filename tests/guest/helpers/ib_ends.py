# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Queue pairs of two InfiniBand ports of one machine, for tests of their paths."""

import os
import sys
import time
from pathlib import Path

from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

# The constants, which newer versions of pyverbs have elsewhere; in tests/userspace
sys.path.append(str(Path(__file__).resolve().parents[2] / "wire"))
import enums as e   # noqa: E402

QKEY, GRH, SIZE = 0x11111111, 40, 64


class End:
    def __init__(self, name):
        before = set(os.listdir("/proc/self/fd"))
        self.context = Context(name=name)
        # Where its events can be waited for, which pyverbs does not tell.
        self.events = [int(fd) for fd in set(os.listdir("/proc/self/fd")) - before
                       if self._is_event_file(fd)]
        port = self.context.query_port(1)
        self.lid, self.lmc = port.lid, port.lmc
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.mr = MR(self.pd, GRH + SIZE, e.IBV_ACCESS_LOCAL_WRITE)

    @staticmethod
    def _is_event_file(fd):
        try:
            return "[infinibandevent]" in os.readlink("/proc/self/fd/" + fd)
        except OSError:
            return False

    def qp(self, kind):
        init = QPInitAttr(qp_type=kind, scq=self.cq, rcq=self.cq,
                          cap=QPCap(max_send_wr=4, max_recv_wr=4))
        made = QP(self.pd, init)
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        made.to_init(attr)
        return made

    def datagrams(self):
        """A queue pair that sends and receives."""
        made = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq,
                                      cap=QPCap(max_send_wr=4, max_recv_wr=4)))
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        made.to_rts(attr)
        return made

    def receive(self, qp):
        qp.post_recv(RecvWR(1, 1, [SGE(self.mr.buf, GRH + SIZE, self.mr.lkey)]))

    def completion(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number, found = self.cq.poll()
            if number:
                return found[0]
        raise TimeoutError("no completion")


def path(bits, peer, peer_bits):
    return AHAttr(port_num=1, dlid=peer.lid + peer_bits, src_path_bits=bits)


def connect(qp, to, address, timeout=14, retry_cnt=7):
    attr = QPAttr(port_num=1, path_mtu=e.IBV_MTU_1024)
    attr.dest_qp_num, attr.max_dest_rd_atomic, attr.min_rnr_timer = to, 1, 12
    attr.ah_attr = address
    attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, retry_cnt, 7
    attr.max_rd_atomic = 1
    qp.to_rts(attr)


def post(a, qp_a, qp_b=None, ah=None):
    request = SendWR(1, num_sge=1, sg=[SGE(a.mr.buf, SIZE, a.mr.lkey)],
                     opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED)
    if ah:
        request.set_wr_ud(ah, qp_b.qp_num, QKEY)
    qp_a.post_send(request)


def send(a, b, qp_a, qp_b, ah=None):
    b.receive(qp_b)
    post(a, qp_a, qp_b, ah)
    done, got = a.completion(), b.completion()
    if done.opcode == e.IBV_WC_RECV:    # (both may be of one queue)
        done, got = got, done
    return got if done.status == got.status == e.IBV_WC_SUCCESS else None


def check(name, good):
    print("ok" if good else "not ok", name, flush=True)
