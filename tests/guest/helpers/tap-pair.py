#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes two taps, or two netdevs of bare IP packets whose names begin with tun, and carries
what leaves one to the other until it is killed; they end with it.

  tap-pair.py NETDEV NETDEV

Used by net/netdev-kinds.sh.
"""

import fcntl
import os
import select
import struct
import sys

TUNSETIFF, IFF_TUN, IFF_TAP, IFF_NO_PI = 0x400454ca, 0x0001, 0x0002, 0x1000


def tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR)
    mode = IFF_TUN if name.startswith("tun") else IFF_TAP
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), mode | IFF_NO_PI))
    return fd


one, two = tap(sys.argv[1]), tap(sys.argv[2])
other = {one: two, two: one}
while True:
    for ready in select.select(list(other), [], [])[0]:
        frame = os.read(ready, 65536)
        try:
            os.write(other[ready], frame)
        except OSError:
            pass   # the other one is down
