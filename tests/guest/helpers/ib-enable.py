#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Takes a port out of the physical state Disabled, by its own agent.

  ib-enable.py DEVICE

ibportstate cannot: of rdma-core 52 and later it opens no port whose link is down. libibmad
itself does. Used by ib/tools.sh.
"""

import ctypes
import sys

PORT_INFO, POLLING, TIMEOUT_MS = 0x0015, 2, 1000
CLASSES = (ctypes.c_int * 2)(0x01, 0x81)

mad = ctypes.CDLL("libibmad.so.5")
mad.mad_rpc_open_port.restype = ctypes.c_void_p
for call in mad.smp_query_via, mad.smp_set_via:
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint,
                     ctypes.c_uint, ctypes.c_void_p]

port = mad.mad_rpc_open_port(sys.argv[1].encode(), 1, CLASSES, len(CLASSES))
if not port:
    sys.exit("no such port")
# An ib_portid_t of zeros is the directed route of no hop.
own = ctypes.create_string_buffer(256)
info = ctypes.create_string_buffer(64)
if not mad.smp_query_via(info, own, PORT_INFO, 1, TIMEOUT_MS, port):
    sys.exit("PortInfo cannot be read")
info[32] = ord(info[32]) & 0xf0
info[33] = ord(info[33]) & 0x0f | POLLING << 4
if not mad.smp_set_via(info, own, PORT_INFO, 1, TIMEOUT_MS, port):
    sys.exit("PortInfo cannot be set")
