#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Writes a recording with as many events as wanted, for a test of what reads and draws them.

  sample.py MESSAGES FILE      a trace.dat; each message has 10 events or more

The traffic is RC SENDs and WRITEs of three packets between shca0 and shca1. Every 37th packet is
lost and sent again after a sequence NAK or a time-out, and every 50th SEND finds no receive.
"""

import sys

from recording import Recording

r = Recording()
a, b = 0x2af31, 0x77c02
mtu, psn, sent, nr_lost = 1024, 0xfffe00, 0, 0


def answer(number, syndrome, msn, verdict="ok"):
    r.tx(b, a, "RC_ACK", number, syndrome=syndrome, msn=msn)
    r.rx(a, "RC_ACK", number, verdict, syndrome=syndrome, msn=msn)


for qpn, device in (a, "shca0"), (b, "shca1"):
    for old, new in ("RESET", "INIT"), ("INIT", "RTR"), ("RTR", "RTS"):
        r.state(qpn, device, old, new)
for message in range(int(sys.argv[1])):
    send = message % 2 == 0
    kind = "RC_SEND_" if send else "RC_WRITE_"
    r.post(a, message, "SEND" if send else "RDMA_WRITE", 3 * mtu)
    parts = [kind + place for place in ("FIRST", "MIDDLE", "LAST")]
    if send and message % 50 == 20:
        r.tx(a, b, parts[0], psn, length=mtu)
        r.rx(b, parts[0], psn, "rnr", length=mtu)
        answer(psn, 0x21, message & 0xffffff, "nak-rnr")
        r.wait(640_000)
    lost = None
    for k, op in enumerate(parts):
        sent += 1
        r.tx(a, b, op, psn + k, length=mtu, ack=k == 2)
        if sent % 37 == 0 and lost is None:
            lost = k
            nr_lost += 1
        elif lost is None:
            r.rx(b, op, psn + k, length=mtu, ack=k == 2)
        else:
            r.rx(b, op, psn + k, "out-of-sequence", length=mtu, ack=k == 2)
            if k == lost + 1:
                answer(psn + lost, 0x60, message & 0xffffff, "nak-sequence")
    if lost is not None:
        if lost == 2:
            r.wait(4_000_000)
            r.timeout(a, psn + lost)
        for k in range(lost, 3):
            r.tx(a, b, parts[k], psn + k, length=mtu, ack=k == 2)
            r.rx(b, parts[k], psn + k, length=mtu, ack=k == 2)
    if send:
        r.complete(b, 0x8000 + message, 128, length=3 * mtu, delta=400)
    answer(psn + 2, 0x1f, message + 1 & 0xffffff)
    r.complete(a, message, 0 if send else 1, length=3 * mtu)
    psn += 3
r.write(sys.argv[2])
print(nr_lost, "packets are lost")
