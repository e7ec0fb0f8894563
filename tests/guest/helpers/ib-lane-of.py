#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Which lanes the packets of a service level take on an InfiniBand link.

  ib-lane-of.py NETDEV SL PACKETS

Prints "ready". Waits for so many packets with data that NETDEV sends or receives with
that service level, and prints the lanes that they took. Used by ib/lanes.sh.
"""

import os
import socket
import struct
import sys

from ib_link import DATA, ETHERTYPE

netdev, level, wanted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
# (the packets come faster than they are counted)
sock.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
sock.bind((netdev, 3))
sock.settimeout(60 * int(os.environ.get("SHCA_SLOW", "1")))
print("ready", flush=True)
lanes = set()
while wanted:
    frame = sock.recv(64)
    lane, sl = frame[22] >> 4, frame[23] >> 4
    # (lane 15 is for management at each service level)
    if frame[12:15] == struct.pack(">HB", ETHERTYPE, 1 << 4 | DATA) and sl == level and lane != 15:
        lanes.add(lane)
        wanted -= 1
print(*sorted(lanes))
