#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Takes a netdev down, or gives it another MTU, for some time, in one process: to start
another one takes longer than that in an emulated guest.

  netdev-blip.py NETDEV SECONDS down|MTU

Used by net/link-flap.sh.
"""

import fcntl
import socket
import struct
import sys
import time

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCGIFMTU, SIOCSIFMTU = 0x8913, 0x8914, 0x8921, 0x8922
IFF_UP = 1

name, seconds, what = sys.argv[1:]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def ask(code, form, value=0):
    """An ioctl on a struct ifreq. Return: the value in it."""
    data = struct.pack("16s" + form, name.encode(), value).ljust(40, b"\0")
    return struct.unpack_from(form, fcntl.ioctl(sock, code, data), 16)[0]


if what == "down":
    was = ask(SIOCGIFFLAGS, "h")
    ask(SIOCSIFFLAGS, "h", was & ~IFF_UP)
    time.sleep(float(seconds))
    ask(SIOCSIFFLAGS, "h", was | IFF_UP)
else:
    was = ask(SIOCGIFMTU, "i")
    ask(SIOCSIFMTU, "i", int(what))
    time.sleep(float(seconds))
    ask(SIOCSIFMTU, "i", was)
