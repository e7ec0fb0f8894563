#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Loads the XDP program that passes every frame, and pins it.

  xdp-pass.py PATH      in a BPF file system

Used by net/carriers.sh.
"""

import ctypes
import struct
import sys

SYS_BPF, BPF_PROG_LOAD, BPF_OBJ_PIN, BPF_PROG_TYPE_XDP, XDP_PASS = 321, 5, 6, 6, 2

libc = ctypes.CDLL(None, use_errno=True)


def instruction(code, value):
    return struct.pack("<BBhi", code, 0, 0, value)


def bpf(command, data):
    attr = ctypes.create_string_buffer(data.ljust(128, b"\0"))
    got = libc.syscall(SYS_BPF, command, attr, 128)
    if got < 0:
        sys.exit(f"bpf {command}: errno {ctypes.get_errno()}")
    return got


# r0 = XDP_PASS; exit
program = ctypes.create_string_buffer(instruction(0xb7, XDP_PASS) + instruction(0x95, 0))
licence = ctypes.create_string_buffer(b"GPL")
path = ctypes.create_string_buffer(sys.argv[1].encode())
fd = bpf(BPF_PROG_LOAD, struct.pack("<IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(program), ctypes.addressof(licence)))
bpf(BPF_OBJ_PIN, struct.pack("<QI", ctypes.addressof(path), fd))
