#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A worked example of tests with softhca_test: pyverbs code meets faults.

    PYTHONPATH=examples pytest -p softhca_test examples/test_faults.py
    examples/test_faults.py          without pytest
"""
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import softhca_test

SIZE = 4096


class End:
    """A queue pair, and what it needs"""

    def __init__(self, where):
        self.context = Context(name=where.device)
        self.gid_index = where.gid_index
        self.gid = self.context.query_gid(1, where.gid_index)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_send_wr=16, max_recv_wr=16)), QPAttr(port_num=1))

    def connect(self, peer, retries):
        route = GlobalRoute(dgid=peer.gid, sgid_index=self.gid_index)
        attr = QPAttr(port_num=1)
        attr.dest_qp_num, attr.path_mtu = peer.qp.qp_num, e.IBV_MTU_1024
        attr.rq_psn = attr.sq_psn = 1
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, retries, 7
        attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        self.qp.to_rts(attr)

    def sge(self):
        return [SGE(self.mr.buf, SIZE, self.mr.lkey)]

    def status(self):
        """Of the next completion"""
        while True:
            count, completions = self.cq.poll(1)
            if count:
                return completions[0].status


def connected(pair, retries=7):
    a, b = End(pair.a), End(pair.b)
    a.connect(b, retries)
    b.connect(a, retries)
    return a, b


def send(a, b, text):
    """One message; returns the status of the send."""
    b.qp.post_recv(RecvWR(num_sge=1, sg=b.sge()))
    a.mr.write(text, len(text))
    a.qp.post_send(SendWR(num_sge=1, sg=a.sge(), opcode=e.IBV_WR_SEND))
    return a.status()


def test_loss(softhca_pair, softhca_fault):
    """Each message arrives, although packets of it are lost."""
    a, b = connected(softhca_pair)
    with softhca_fault("do=drop type=request every=7") as faults:
        for number in range(50):
            text = f"message {number}"
            assert send(a, b, text) == e.IBV_WC_SUCCESS
            assert b.status() == e.IBV_WC_SUCCESS
            assert b.mr.read(len(text), 0).decode() == text
    assert faults.hits >= 50 * 4 // 7


def test_dead_peer(softhca_pair, softhca_fault):
    """Where nobody answers, the send fails, and the queue pair is in ERR."""
    a, b = connected(softhca_pair, retries=1)
    with softhca_fault("do=drop") as faults:
        assert send(a, b, "anybody?") == e.IBV_WC_RETRY_EXC_ERR
    assert faults.hits >= 2
    assert a.qp.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_ERR


def test_create_qp_fails(softhca_pair, softhca_fault):
    """A verb that fails is an exception."""
    with softhca_fault("do=fail verb=create_qp errno=ENOMEM nth=1") as faults:
        try:
            End(softhca_pair.a)
        except Exception as error:
            assert "Cannot allocate memory" in str(error), error
        else:
            raise AssertionError("the queue pair was made")
    assert faults.hits == 1


if __name__ == "__main__":
    with softhca_test.pair() as both:
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test(both, softhca_test.fault)
                print(f"ok {name}")
