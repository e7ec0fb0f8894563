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
ETHERNET, SHIM, DATA, BATCH = 14, 8, 0x11, 0x14


def packets_of(frame):
    """From LRH to VCRC. A batch has none: zeros are in its place, and each has its own PktLen."""
    length = struct.unpack_from(">H", frame, ETHERNET + 2)[0]
    data = frame[ETHERNET + SHIM:ETHERNET + SHIM + length]
    if frame[ETHERNET] == DATA:
        return [data]
    lower = 48 if data[1] & 3 == 3 else 8
    unit = (struct.unpack_from(">H", data, 4)[0] & 0x7ff) * 4 - lower
    packets = []
    for at in range(lower, length, unit):
        packet = bytearray(data[:lower] + data[at:at + unit] + b"\0\0")
        struct.pack_into(">H", packet, 4, (len(packet) - 2) // 4)
        if lower == 48:
            struct.pack_into(">H", packet, 12, len(packet) - 2 - lower)
        packets.append(packet)
    return packets


with open(sys.argv[1], "rb") as file:
    header = list(struct.unpack(HEADER, file.read(24)))
    rest = file.read()
header[-1] = ERF
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack(HEADER, *header))
    while rest:
        seconds, part, length, _ = struct.unpack_from(RECORD, rest)
        frame, rest = rest[16:16 + length], rest[16 + length:]
        if frame[12:14] != b"\x88\xb5" or frame[ETHERNET] not in (DATA, BATCH):
            continue
        for packet in packets_of(frame):
            length = len(packet)
            erf = struct.pack(ERF_RECORD, seconds << 32 | (part << 32) // 10**6, INFINIBAND, 4)
            erf += struct.pack(">HHH", ERF_BYTES + length, 0, length)
            length += ERF_BYTES
            file.write(struct.pack(RECORD, seconds, part, length, length) + erf + packet)
