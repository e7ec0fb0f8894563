#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Takes the InfiniBand packets out of a capture of Ethernet frames (docs/infiniband.md), for
programs that know InfiniBand links. They are written as records of the Extensible Record
Format: tshark does not read LINKTYPE_INFINIBAND.

  ib-pcap.py IN OUT

Used by ib/tools.sh.
"""

import struct
import sys

HEADER, RECORD, ERF = "<IHHiIII", "<IIII", 197
ERF_RECORD, ERF_BYTES, INFINIBAND = "<QBB", 16, 21
ETHERNET, SHIM, DATA = 14, 8, 0x11

with open(sys.argv[1], "rb") as file:
    header = list(struct.unpack(HEADER, file.read(24)))
    rest = file.read()
header[-1] = ERF
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack(HEADER, *header))
    while rest:
        seconds, part, length, _ = struct.unpack_from(RECORD, rest)
        frame, rest = rest[16:16 + length], rest[16 + length:]
        if frame[12:15] == b"\x88\xb5" + bytes([DATA]):
            length = struct.unpack_from(">H", frame, ETHERNET + 2)[0]
            packet = frame[ETHERNET + SHIM:ETHERNET + SHIM + length]
            erf = struct.pack(ERF_RECORD, seconds << 32 | (part << 32) // 10**6, INFINIBAND, 4)
            erf += struct.pack(">HHH", ERF_BYTES + length, 0, length)
            length += ERF_BYTES
            file.write(struct.pack(RECORD, seconds, part, length, length) + erf + packet)
