#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks the packets that `softhca trace show -o FILE.pcapng` writes.

  trace-packets.py PCAPNG --wire PCAP FILE...   each is the packet that tcpdump has seen, but for its keys,
                                                and for payload behind its first 256 bytes, which is zeros;
                                                none of the keys is in a FILE
  trace-packets.py PCAPNG [--payload]           of the direct path, which nobody else sees

tshark finds nothing malformed in any; GUESSES are its options. Used by ops/trace-packets.sh.
"""

import collections
import os
import struct
import subprocess
import sys

shown = sys.argv[1]
wire = sys.argv[3] if sys.argv[2:3] == ["--wire"] else None
with_payload = bool(wire) or sys.argv[2:3] == ["--payload"]
LOWER = 28          # IPv4 and UDP
wrong = []


def note(what):
    if len(wrong) < 8:
        wrong.append(what)


def keys_at(bth):
    """Offsets of the keys, by the figures of IBTA 9.2 to 9.6 and its annexes A14 and A19"""
    transport, op = bth[0] >> 5, bth[0] & 31
    if bth[0] == 0x81:
        return []
    at = 12 + 4 * (transport == 5 and not 13 <= op <= 18) + 4 * (op == 28)
    if transport == 3:
        return [at]
    if op in (6, 10, 11, 12, 19, 20, 28, 29):
        return [at + 8]
    return [at] if op in (22, 23) else []


def header_bytes(bth):
    transport, op = bth[0] >> 5, bth[0] & 31
    more = {3: 4, 5: 4, 6: 16, 9: 4, 10: 16, 11: 20, 12: 16, 13: 4, 15: 4, 16: 4, 17: 4, 18: 12, 19: 28, 20: 28,
            22: 4, 23: 4, 28: 20, 29: 16}.get(op, 0)
    return 12 + more + 8 * (transport == 3) + 4 * (transport == 5 and not 13 <= op <= 18)


def recorded(data):
    """Bytes of a packet that a recording has"""
    return header_bytes(data) + (256 if with_payload else 0)


def pcapng(path):
    """(bytes from the BTH on, whole length from there) of each packet"""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            captured, length = struct.unpack_from("<II", data, at + 20)
            yield data[at + 28 + LOWER:at + 28 + captured], length - LOWER
        at += size


def pcap(path):
    """The same, of each RoCEv2 packet over Ethernet"""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        size, = struct.unpack_from("<I", data, at + 8)
        frame = data[at + 16:at + 16 + size]
        at += 16 + size
        ip = frame[14:]
        udp = ip[4 * (ip[0] & 15):] if ip[0] >> 4 == 4 else ip[40:]
        yield udp[8:struct.unpack_from(">H", udp, 4)[0]], struct.unpack_from(">H", udp, 4)[0] - 8


packets = list(pcapng(shown))
opcodes = collections.Counter(data[0] for data, _ in packets)
hidden = 0
for data, length in packets:
    for at in keys_at(data):
        hidden += 1
        if data[at + 1:at + 4] != bytes(3):
            note(f"a key in {data.hex()}")
    if len(data) != length:
        note(f"{len(data)} of {length} bytes: {data.hex()}")
    if any(data[recorded(data):]):
        note(f"more than is recorded: {data.hex()}")
if with_payload and not any(any(data[header_bytes(data):]) for data, _ in packets):
    note("no payload")

keys = collections.Counter()
if wire:
    real = collections.defaultdict(list)
    for data, length in pcap(wire):
        real[data[0], data[5:8], data[9:12]].append((data, length))
        for at in keys_at(data):
            keys[data[at:at + 4]] += 1
    for data, length in packets:
        others = real[data[0], data[5:8], data[9:12]]
        if not others:
            note(f"not on the wire: {data.hex()}")
            continue
        other, whole = others.pop(0)
        if whole != length:
            note(f"{length} bytes, not {whole}")
        end = min(recorded(data), length - 4)   # (the ICRC is not recorded)
        copy = bytearray(other[:end])
        for at in keys_at(other):
            copy[at + 1:at + 4] = bytes(3)
        # the congestion bits of the BTH are not the sender's
        if bytes(copy) != data[:end]:
            note(f"{data[:end].hex()} was {bytes(copy).hex()}")
    unseen = sum(map(len, real.values()))
    if unseen:
        note(f"{unseen} packets of the wire are not shown")
    # Those that tell something: a Q_Key may be any pattern, and what a packet may show besides its
    # keys, above all 1 MiB of payload, has such four bytes by chance in one run of a hundred.
    seen = b"".join(data for data, _ in packets)
    seen_text = seen.hex()
    keys = {key: nr for key, nr in keys.items() if nr > 1 and len(set(key)) == 4 and
            key not in seen and key[::-1] not in seen and key.hex() not in seen_text}
    if not keys:
        note("no key to look for")
    for path in sys.argv[4:]:
        with open(path, "rb") as file:
            content = file.read()
        for key in keys:
            text = f"{int.from_bytes(key, 'big'):08x}".encode()
            for form in key, key[::-1], text:
                # (four bytes may be there by chance, once)
                if content.count(form) > 1:
                    note(f"{path} has the key {key.hex()}, {content.count(form)} times as {form!r}")

out = subprocess.run(["tshark", "-r", shown, *os.environ.get("GUESSES", "").split(), "-T", "fields", "-e", "infiniband.bth.opcode",
                      "-e", "infiniband.bth.psn", "-e", "_ws.malformed", "-e", "infiniband.reth.r_key", "-e", "infiniband.deth.q_key"],
                     capture_output=True, text=True, check=True).stdout
rows = [row.split("\t") for row in out.splitlines()]
for row, (data, length) in zip(rows, packets):
    if row[2]:
        note(f"malformed: {row}")
    if row[:2] != [str(data[0]), str(int.from_bytes(data[9:12], "big"))]:
        note(f"tshark reads {row} in {data.hex()}")
    if any(key and int(key, 0) & 0xffffff for key in row[3:5]):
        note(f"tshark sees a key: {row}")
if len(rows) != len(packets):
    note(f"tshark sees {len(rows)} of {len(packets)} packets")
print(f"{len(packets)} packets of {len(opcodes)} opcodes, {hidden} keys hidden, {len(keys)} looked for; wrong: {wrong}")
sys.exit(bool(wrong) or len(opcodes) < 24 or hidden < 50 or (wire and len(keys) < 4) or False)
