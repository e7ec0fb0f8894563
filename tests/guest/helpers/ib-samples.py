#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Samples of a port's counters (IBTA 16.1.3.2 to 16.1.3.4), asked for by single packets
of the other end of its link.

  ib-samples.py NETDEV DEVICE

NETDEV is the peer's, DEVICE the port's, which is active. Prints a line for each part, for
lib.sh. Used by ib/samples.sh.
"""

import os
import struct
import sys
import time

from ib_link import DATA, ETHERTYPE, Link

GET, SET, ANSWER, PERFORMANCE = 1, 2, 0x81, 4
CONTROL, RESULT, RESULT_EXT = 0x10, 0x11, 0x1e
DONE, STARTED, RUNNING = 0, 1, 2
XMIT_PKTS, RCV_PKTS, XMIT_WAIT = 3, 4, 5
BAD_ATTR, BAD_FIELD = 0x0c, 0x1c
SLOW = int(os.environ.get("SHCA_SLOW", "1"))
OWN = 2     # a LID of nobody, by which answers come

netdev, device = sys.argv[1:]
link = Link(netdev, device)
transaction = 0x5000


def check(name, good):
    print("ok" if good else "not ok", name, flush=True)


def ask(method, attr, data=b"", port=1):
    """Status and data of the answer."""
    global transaction
    for _ in range(5):
        transaction += 1
        mad = struct.pack(">BBBBHHQHHI", 1, PERFORMANCE, 1, method, 0, 0, transaction,
                          attr, 0, 0) + bytes(40)
        mad += (bytes([0, port]) + data[2:]).ljust(192, b"\0")
        link.send(link.packet(slid=OWN, payload=mad))
        until = time.monotonic() + SLOW
        while (left := until - time.monotonic()) > 0:
            link.sock.settimeout(left)
            try:
                frame, address = link.sock.recvfrom(2048)
            except TimeoutError:
                break
            mad = frame[50:306]
            if address[2] != 4 and frame[12:15] == struct.pack(">HB", ETHERTYPE, 16 | DATA) and \
               mad[1] == PERFORMANCE and mad[3] == ANSWER and \
               mad[8:16] == struct.pack(">Q", transaction):
                return struct.unpack_from(">H", mad, 4)[0], mad[64:]
    return None, None


def control(start, interval, tag, *select):
    data = bytes(28) + struct.pack(">IIH", start, interval, tag)
    return data + struct.pack(f">{len(select)}H", *select)


def result(attr=RESULT):
    """Tag, status, counters."""
    status, data = ask(GET, attr)
    if status != 0:
        return None
    if attr == RESULT:
        tag, state, *counters = struct.unpack_from(">HH5I", data)
    else:
        tag, state, width, *counters = struct.unpack_from(">HHI5Q", data)
        if width != 0x80000000:
            return None
    return tag, state, tuple(counters)


def finished(tag):
    for _ in range(100 * SLOW):
        got = result()
        if got and got[:2] == (tag, DONE):
            return True
        time.sleep(0.1)
    return False


status, data = ask(GET, CONTROL)
check("sample.control", status == 0 and data[11] == DONE and data[3] == 4 and
      data[4:8] == bytes.fromhex("09248000"))
# Each question and its answer are packets, which are counted: ten within the interval,
# and a few before and after.
status, data = ask(SET, CONTROL, control(0, 3000000 * SLOW, 0x77, RCV_PKTS, XMIT_PKTS,
                                          XMIT_WAIT, 99))
check("sample.begins", status == 0 and data[11] in (STARTED, RUNNING) and
      data[36:40] == struct.pack(">HH", 0x77, RCV_PKTS))
# (a worker begins it, which may have to wait for a CPU)
begun = time.monotonic()
while (got := result()) == (0x77, STARTED, (0, 0, 0, 0, 0)) and time.monotonic() < begun + 2 * SLOW:
    pass
check("sample.no_result_yet", got == (0x77, RUNNING, (0, 0, 0, 0, 0)))
status, data = ask(SET, CONTROL, control(0, 1, 0x78, RCV_PKTS))
check("sample.set_waits", status == 0 and data[36:38] == b"\0\x77")
asked = 2
begun = time.monotonic()
while asked < 10 and time.monotonic() < begun + 2:
    asked += result() is not None
check("sample.ends", finished(0x77))
tag, state, counters = result()
check("sample.counted", counters[0] >= asked and counters[1] >= asked and
      counters[2:] == (0, 0, 0) and counters[0] < 1000)
check("sample.extended", result(RESULT_EXT) == (tag, state, counters))
# It begins later.
ask(SET, CONTROL, control(60000000, 1, 0x79, RCV_PKTS))
check("sample.begins_later", result() == (0x79, STARTED, (0, 0, 0, 0, 0)))
# (so long as it waits, its port is removed: see ib/samples.sh)
check("sample.other_port", ask(GET, CONTROL, port=2)[0] == BAD_FIELD)
check("sample.result_is_read_only", ask(SET, RESULT)[0] == BAD_ATTR and
      ask(SET, RESULT_EXT)[0] == BAD_ATTR)
