#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes a call of the uverbs file that does not return: its attributes lie in a page that does
not come. The RDMA core waits for this call before a device may go.

  stuck-call.py NODE FILE      the page is of FILE, of a file system that does not answer
  stuck-call.py NODE NUMBER    the same, of an open file
  stuck-call.py NODE -         the page is nobody's: userfaultfd

Prints "calling". Used by life/stuck-call.sh.
"""

import ctypes
import fcntl
import mmap
import os
import struct
import sys

PAGE = 4096
# struct ib_uverbs_ioctl_hdr and struct ib_uverbs_attr, of rdma/rdma_user_ioctl_cmds.h: the first
# ends with its page, the second is all of the next one
RDMA_VERBS_IOCTL = 0xc0181b01
HEADER, ATTRIBUTE = 24, 16
DRIVER = 0x53484341    # SHCA_DRIVER_ID of uapi/softhca-abi.h
SYS_USERFAULTFD = {"x86_64": 323}.get(os.uname().machine, 282)
UFFDIO_API, UFFDIO_REGISTER = 0xc018aa3f, 0xc020aa00
PROT, SHARED, PRIVATE, FIXED = mmap.PROT_READ | mmap.PROT_WRITE, 1, 2, 0x10
ANONYMOUS = 0x20

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]


def map_page(at, nr, flags, fd):
    address = libc.mmap(at, nr * PAGE, PROT, flags, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return address


def main():
    device = os.open(sys.argv[1], os.O_RDWR)
    start = map_page(None, 2, PRIVATE | ANONYMOUS, -1)
    if sys.argv[2] == "-":
        fault = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
        fcntl.ioctl(fault, UFFDIO_API, struct.pack("QQQ", 0xaa, 0, 0))
        fcntl.ioctl(fault, UFFDIO_REGISTER, struct.pack("QQQQ", start + PAGE, PAGE, 1, 0))
    else:
        name = sys.argv[2]
        map_page(start + PAGE, 1, PRIVATE | FIXED,
                 int(name) if name.isdigit() else os.open(name, os.O_RDWR))
    header = struct.pack("HHHHQII", HEADER + ATTRIBUTE, 0, 0, 1, 0, DRIVER, 0)
    ctypes.memmove(start + PAGE - HEADER, header, HEADER)
    print("calling", flush=True)
    result = libc.ioctl(device, ctypes.c_ulong(RDMA_VERBS_IOCTL), ctypes.c_void_p(start + PAGE - HEADER))
    print("returned", result, ctypes.get_errno(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
