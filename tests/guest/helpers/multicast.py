#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Datagrams of a multicast group, IPv4 or IPv6, on one netdev.

  multicast.py NETDEV GROUP send|receive

The receiver joins, prints "ready" and ends with the first right datagram. The sender sends
twenty in two seconds: a group that the subnet manager has still to make loses some. Used by ib/ipoib.sh.
"""

import os
import socket
import struct
import sys
import time

netdev, group, what = sys.argv[1:]
PORT, TEXT = 4444, b"to all of " + group.encode()
family = socket.AF_INET6 if ":" in group else socket.AF_INET
index = socket.if_nametoindex(netdev)
sock = socket.socket(family, socket.SOCK_DGRAM)
if what == "receive":
    sock.bind(("", PORT))
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                        socket.inet_pton(family, group) + struct.pack("@I", index))
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                        socket.inet_aton(group) + bytes(4) + struct.pack("@i", index))
    print("ready", flush=True)
    sock.settimeout(60 * int(os.environ.get("SHCA_SLOW", "1")))
    while sock.recv(2048) != TEXT:
        pass
else:
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(8) + struct.pack("@i", index))
    for _ in range(20):
        sock.sendto(TEXT, (group, PORT))
        time.sleep(0.1)
