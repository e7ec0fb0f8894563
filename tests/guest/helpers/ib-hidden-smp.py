#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A process hides packets that it must not send behind an ordinary datagram: a subnet
management packet for QP0, and one for a group to a LID that is not a group's.

  ib-hidden-smp.py DEVICE_A DEVICE_B

Both are posted in one list with the datagram before them, so that they could leave in one
batch. Prints a line for each part, for lib.sh. Used by ib/batches.sh.
"""

import struct
import sys
import time

from pyverbs.addr import AH
from pyverbs.mr import MR
from pyverbs.wr import SGE, SendWR

from ib_ends import QKEY, End, check, e, path

MAD = 256
GET, NODE_INFO = 1, 0x0011


def counter(device, name):
    with open(f"/sys/class/infiniband/{device}/ports/1/hw_counters/{name}") as file:
        return int(file.read())


def refused(hidden, qkey, device, name):
    """@hidden: its QP number. Return: whether @device counted it as @name, and the datagram
    arrived."""
    before = counter(device, name), counter(name_b, "rx_packets")
    second = SendWR(2, num_sge=1, sg=[SGE(mr.buf, MAD, mr.lkey)], opcode=e.IBV_WR_SEND,
                    send_flags=e.IBV_SEND_SIGNALED)
    second.set_wr_ud(ah, hidden, qkey)
    first = SendWR(1, num_sge=1, sg=[SGE(mr.buf, MAD, mr.lkey)], opcode=e.IBV_WR_SEND,
                   next_wr=second)
    first.set_wr_ud(ah, target.qp_num, QKEY)
    b.receive(target)
    sender.post_send(first)
    a.completion()
    time.sleep(0.2)
    b.cq.poll()
    return counter(device, name) == before[0] + 1 and \
        counter(name_b, "rx_packets") == before[1] + 1


name_a, name_b = sys.argv[1:]
a, b = End(name_a), End(name_b)
mr = MR(a.pd, MAD, e.IBV_ACCESS_LOCAL_WRITE)
mr.write(struct.pack(">BBBBHHQHHI", 1, 1, 1, GET, 0, 0, 0x1234, NODE_INFO, 0, 0).ljust(MAD, b"\0"), MAD)
sender, target = a.datagrams(), b.datagrams()
ah = AH(a.pd, attr=path(0, b, 0))
check("hidden_smp_is_refused", refused(0, 0, name_a, "tx_no_route"))
check("hidden_multicast_is_refused", refused(0xffffff, QKEY, name_b, "rx_malformed"))
