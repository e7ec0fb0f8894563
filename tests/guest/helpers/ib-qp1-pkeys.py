#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The P_Keys of packets to QP1 that pass a netdev of an InfiniBand port.

  ib-qp1-pkeys.py NETDEV P_KEY

Ends with success at the first packet with P_KEY, and with failure after a minute. Used
by ib/partitions.sh.
"""

import socket
import struct
import sys
import time

DATA = struct.pack(">HB", 0x88b5, 0x11)
netdev, wanted = sys.argv[1], int(sys.argv[2], 0)
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
sock.bind((netdev, 3))
sock.settimeout(1)
print("listening", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        frame = sock.recv(4096)
    except TimeoutError:
        continue
    # Ethernet, shim, LRH; BTH behind it, or behind a GRH
    if frame[12:15] != DATA or len(frame) < 90:
        continue
    bth = 70 if frame[23] & 3 == 3 else 30
    pkey, qpn = struct.unpack_from(">HI", frame, bth + 2)
    if qpn & 0xffffff == 1 and pkey == wanted:
        sys.exit(0)
sys.exit(1)
