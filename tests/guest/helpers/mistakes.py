#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes mistakes of beginners with queue pairs, and prints the reason of each that the trace
event shca_refused gives, which has been enabled.

  mistakes.py DEVICE GID_INDEX

Used by ops/refusals.sh.
"""

import sys
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

name, index4 = sys.argv[1], int(sys.argv[2])
trace = "/sys/kernel/tracing/trace"
context = Context(name=name)
pd, cq, to = PD(context), CQ(context, 10), context.query_gid(1, index4)


def qp(**cap):
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(**{"max_send_wr": 1, "max_recv_wr": 1, **cap}))
    made = QP(pd, init)
    attr = QPAttr(port_num=1)
    made.to_init(attr)
    return made


def route(index, mtu):
    attr = QPAttr(port_num=1, path_mtu=mtu)
    attr.dest_qp_num, attr.rq_psn, attr.max_dest_rd_atomic, attr.min_rnr_timer = 1, 1, 1, 12
    attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=to, sgid_index=index))
    return attr


def mistake(what, action):
    open(trace, "w").close()
    try:
        action()
    except PyverbsError:
        lines = [line.split(" why=", 1)[1].strip() for line in open(trace) if " why=" in line]
        print(what + ":", "; ".join(lines))
    else:
        print(what + ": accepted")


def too_early():
    attr = route(index4, e.IBV_MTU_1024)
    attr.qp_state = e.IBV_QPS_RTS
    qp().modify(attr, e.IBV_QP_STATE)


mistake("mtu", lambda: qp().to_rtr(route(index4, e.IBV_MTU_4096)))
mistake("state", too_early)
mistake("requests", lambda: qp(max_send_wr=1 << 20))
mistake("segments", lambda: qp(max_recv_sge=1000))
