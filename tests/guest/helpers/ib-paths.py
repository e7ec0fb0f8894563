#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Connections and datagrams over each pair of path bits between two InfiniBand ports of
one machine, whose LMC a subnet manager has set: packets name these LIDs.

  ib-paths.py DEVICE_A DEVICE_B

Prints a line for each part, for lib.sh. Used by ib/lmc.sh.
"""

import sys

from pyverbs.addr import AH

from ib_ends import End, check, connect, e, path, send


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


a, b = (End(name) for name in sys.argv[1:])
bits = range(1 << a.lmc)
check("paths.lmc", a.lmc == b.lmc == 3 and not a.lid & 7 and not b.lid & 7)
check("paths.rc", all(connection(a, b, i, (3 * i + 1) % len(bits)) for i in bits))
ud = a.datagrams(), b.datagrams()
check("paths.ud", all(datagram(a, b, *ud, i, j) for i in bits for j in bits))
check("paths.ud_within_the_port",
      all(datagram(a, a, ud[0], ud[0], i, j) for i in bits for j in bits))
