#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Changes some bits of a byte of a port's PortInfo, by its own agent.

  ib-port-info.py DEVICE OFFSET MASK VALUE

ibportstate knows few fields, and of rdma-core 52 and later it opens no port whose link is down.
libibmad itself does. Used by ib/batches.sh and ib/tools.sh.
"""

import ctypes
import sys

PORT_INFO, TIMEOUT_MS = 0x0015, 1000
STATE = 32
CLASSES = (ctypes.c_int * 2)(0x01, 0x81)

mad = ctypes.CDLL("libibmad.so.5")
mad.mad_rpc_open_port.restype = ctypes.c_void_p
for call in mad.smp_query_via, mad.smp_set_via:
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint,
                     ctypes.c_uint, ctypes.c_void_p]

offset, mask, value = (int(word, 0) for word in sys.argv[2:])
port = mad.mad_rpc_open_port(sys.argv[1].encode(), 1, CLASSES, len(CLASSES))
if not port:
    sys.exit("no such port")
# An ib_portid_t of zeros is the directed route of no hop.
own = ctypes.create_string_buffer(256)
info = ctypes.create_string_buffer(64)
if not mad.smp_query_via(info, own, PORT_INFO, 1, TIMEOUT_MS, port):
    sys.exit("PortInfo cannot be read")
# (no change of the states, unless that is what is asked for)
info[STATE] = ord(info[STATE]) & 0xf0
info[STATE + 1] = ord(info[STATE + 1]) & 0x0f
info[offset] = ord(info[offset]) & ~mask & 0xff | value
if not mad.smp_set_via(info, own, PORT_INFO, 1, TIMEOUT_MS, port):
    sys.exit("PortInfo cannot be set")
