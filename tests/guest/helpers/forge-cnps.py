#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""CNPs of someone who sees no packet: RATE a second for each queue pair, from SOURCE to
DESTINATION, both IPv4, until it is killed.

    forge-cnps.py SOURCE DESTINATION RATE QPN...
"""
import socket
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "wire"))
import roce  # noqa: E402

source, destination, rate, *qpns = sys.argv[1:]
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
# (an ident of 0 would be the kernel's to choose, and the ICRC covers it)
frames = [roce.frame(source, destination, roce.Packet(roce.CNP, dqpn=int(qpn), ecn=0x40).build(), ident=1) for qpn in qpns]
due = time.monotonic()
while True:
    for frame in frames:
        out.sendto(frame, (destination, 0))
    due += 1 / int(rate)
    time.sleep(max(0, due - time.monotonic()))
