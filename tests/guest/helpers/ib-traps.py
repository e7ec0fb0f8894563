#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A subnet manager for one port, made of single packets: it makes the port active, and
hears what the port tells unasked (IBTA 13.4.9, 14.2.5.1). Traps come again until they
are repressed, never faster than the manager allows, whatever arrives. The lease of an
M_Key runs out.

  ib-traps.py NETDEV DEVICE

NETDEV is the peer's, DEVICE the port's. Prints a line for each part, for lib.sh. Used by
ib/traps.sh.
"""

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

from ib_link import DATA, ETHERTYPE, Link

GET, SET, TRAP, REPRESS, ANSWER = 1, 2, 5, 7, 0x81
NOTICE, NODE_INFO, GUID_INFO, PORT_INFO = 0x02, 0x11, 0x14, 0x15
LID, OWN = 5, 2
TIMEOUT = 16    # of the subnet
GAP = 4.096e-6 * 2 ** TIMEOUT
KEY = 0x1122334455667788
GUID = 0x0002c90300000007     # of GID 1: ib/traps.sh
REREGISTER = 0x80
CHANGED_PKEY, CHANGED_QKEY = 0x9234, 0x77
DELAYED_PSN = 0x1234    # of ib/traps.sh
SLOW = int(os.environ.get("SHCA_SLOW", "1"))    # lib.sh

netdev, device = sys.argv[1:]
link = Link(netdev, device)
transaction = 1


def check(name, good):
    print("ok" if good else "not ok", name, flush=True)


def receive(until):
    """The next subnet management packet of the port, or None."""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return None
        link.sock.settimeout(left)
        try:
            frame, address = link.sock.recvfrom(2048)
        except TimeoutError:
            return None
        if address[2] != 4 and \
           frame[12:15] == struct.pack(">HB", ETHERTYPE, 1 << 4 | DATA) and \
           frame[22] >> 4 == 15:
            return frame[50:306]    # behind Ethernet, shim, LRH, BTH and DETH


def post(method, attr, mod=0, data=bytes(64), key=0, tid=None):
    mad = struct.pack(">BBBBHHQHHIQ", 1, 1, 1, method, 0, 0, tid or transaction, attr,
                      0, mod, key) + bytes(32) + data + bytes(128)
    link.send(link.packet(dlid=0xffff, vl=15, dqpn=0, sqpn=0, qkey=0, slid=OWN,
                          payload=mad))


def ask(method, attr, mod=0, data=bytes(64), key=0):
    """The data of the answer; None if there is none."""
    global transaction
    for _ in range(3):
        transaction += 1
        post(method, attr, mod, data, key)
        until = time.monotonic() + SLOW
        while mad := receive(until):
            if mad[3] == ANSWER and mad[8:16] == struct.pack(">Q", transaction):
                return mad[64:128]
    return None


def set_port(key=0, **fields):
    """Read, change and set PortInfo; a field is named by its offset."""
    data = bytearray(ask(GET, PORT_INFO, 1, key=key))
    data[32] &= 0xf0
    data[33] &= 0x0f
    data[0:8] = struct.pack(">Q", key)
    for name, value in fields.items():
        at = int(name[1:])
        data[at:at + len(value)] = value
    return ask(SET, PORT_INFO, 1, bytes(data), key)


def traps(seconds, number=None, most=None):
    """Those that come in a time, or the first ones: when, MAD."""
    until = time.monotonic() + seconds
    found = []
    while len(found) != most and (mad := receive(until)):
        if mad[3] == TRAP and number in (None, struct.unpack_from(">H", mad, 68)[0]):
            found.append((time.monotonic(), mad))
    return found


def repress(mad, key=0):
    post(REPRESS, NOTICE, data=mad[64:128], key=key,
         tid=struct.unpack_from(">Q", mad, 8)[0])


def heard(name, number, check_details, key=0):
    """One trap with these details, which then is repressed."""
    found = traps(10 * GAP * SLOW, number, 1)
    good = found and check_details(found[0][1][74:128])
    if found:
        repress(found[0][1], key)
    check(name, good)
    if found and not good:
        print("# ", found[0][1][64:128].hex())
    check(name + ".repressed", quiet(number, key))


def quiet(number=None, key=0):
    """None comes once the port has heard that it is repressed: it has when it answers what was
    sent later."""
    return ask(GET, NODE_INFO, key=key) is not None and not traps(5 * GAP, number)


def word(data, at):
    return struct.unpack_from(">H", data, at)[0]


def change_desc(text):
    with open(f"/sys/class/infiniband/{device}/node_desc", "w", encoding="ascii") as file:
        file.write(text)


downed = link.attribute("counters/link_downed")

# No trap of a port that is not active.
set_port(_16=struct.pack(">HH", LID, OWN), _51=bytes([TIMEOUT]))
link.lid = LID
change_desc("before")
check("trap.none_before_active", not traps(4 * GAP))
set_port(_32=b"\x13")
check("active", set_port(_32=b"\x14")[32] & 15 == 4)

# Again and again, the same transaction, at its distance; then no more.
change_desc("another")
found = traps(6.5 * GAP, 144)
check("trap.comes_again", 4 <= len(found) <= 7)
check("trap.of_one_transaction", len({mad[8:16] for _, mad in found}) == 1)
check("trap.change", found[0][1][79] == 1 and word(found[0][1], 84) == 1)
repress(found[0][1])
check("trap.repressed", quiet())

# One that waits for hours goes as soon as the manager allows it.
set_port(_51=b"\x1f")
change_desc("unheard")
check("trap.waits", not traps(4 * GAP))
set_port(_51=bytes([TIMEOUT]))
heard("trap.waits_no_more", 144, lambda d: d[5] == 1)

# A manager that sets in a flood makes few events, and one after the last of it.
watch = subprocess.Popen(["stdbuf", "-oL", "ibv_asyncwatch", "-d", device], text=True,
                         stdout=subprocess.PIPE)
watch.stdout.readline()
data, begun = bytearray(ask(GET, PORT_INFO, 1)), time.monotonic()
data[32:34] = data[32] & 0xf0, data[33] & 0x0f
for number in range(1000):
    data[36] = data[36] & 0xf0 | number & 1     # the manager's service level
    data[51] = TIMEOUT | REREGISTER
    # (an answer now and then: a hello that waits behind all of them for a second ends the link)
    (post if number % 50 else ask)(SET, PORT_INFO, 1, bytes(data))
ask(SET, PORT_INFO, 1, bytes(data))
time.sleep(1)
elapsed = time.monotonic() - begun
watch.terminate()
events = watch.stdout.read()
check("events.are_told", "SM_CHANGE" in events and "CLIENT_REREGISTER" in events)
check("events.are_gathered", events.count("CLIENT_REREGISTER") <= 20 * elapsed + 2)
print(f"# {len(events.splitlines())} events in {elapsed:.1f} s")

# A GUID that the manager adds is one of the port's GIDs.
ask(SET, GUID_INFO, data=struct.pack(">QQ", 0, GUID) + bytes(48))
check("guid", ask(GET, GUID_INFO)[8:16] == struct.pack(">Q", GUID))

# A packet with a bad key: the trap says which, from whom, to whom.
link.send(link.packet(pkey=CHANGED_PKEY, slid=OWN, sqpn=0x123456))
heard("trap.p_key", 257, lambda d: d[2:18] == struct.pack(
    ">HHIIxBH", OWN, LID, CHANGED_PKEY, 0x123456, 0, 1)[:16])
link.send(link.packet(qkey=CHANGED_QKEY, slid=OWN, sqpn=0x123456, dgid=bytes(15) + b"\x09"))
heard("trap.q_key", 258, lambda d: word(d, 2) == OWN and d[6:10] == struct.pack(
    ">I", CHANGED_QKEY) and d[18:50] == bytes(31) + b"\x09")

# A flood of them, until ten traps were repressed at once: they keep their distance.
data, before = link.packet(pkey=CHANGED_PKEY), word(ask(GET, PORT_INFO, 1), 46)
begun, count, sent = time.monotonic(), 0, 0
while count < 10 and time.monotonic() < begun + 12 * GAP * SLOW:
    for _ in range(20):
        link.send(data)
    sent += 20
    for _, mad in traps(0.01, 257):
        count += 1
        repress(mad)
elapsed = time.monotonic() - begun
check("flood.is_heard", count >= 10)
check("flood.of_few_traps", count <= elapsed / GAP + 2)
print(f"# {sent} packets, {count} traps in {elapsed:.1f} s")
for _, mad in traps(3 * GAP, 257):
    repress(mad)
check("flood.is_counted", word(ask(GET, PORT_INFO, 1), 46) - before == min(sent, 65535 - before))
set_port(_46=bytes(4))
check("violations.reset", ask(GET, PORT_INFO, 1)[46:50] == bytes(4))

# Nine damaged packets in a row are more than eight.
for _ in range(9):
    link.send(link.packet(spoil_vcrc=1))
heard("trap.link_integrity", 129, lambda d: word(d, 2) == LID and d[4] == 1)

# Packets that no credit permits stay in the buffer (a fault delays them) until it is full.
BURST = 400     # 180 fit
perf = Path(link.port, "counters/excessive_buffer_overrun_errors")
set_port(_53=bytes([ask(GET, PORT_INFO, 1)[53] & 0xf0 | 1]))
before = int(perf.read_text(encoding="ascii"))
data = link.packet(psn=DELAYED_PSN)
for _ in range(BURST):
    link.send(data)
heard("trap.buffer_overrun", 130, lambda d: word(d, 2) == LID and d[4] == 1)
check("overrun.is_counted", int(perf.read_text(encoding="ascii")) > before)

# Its peer tells of no credit any more (frames of type 3), and is there.
def tc(*words):
    subprocess.run(["tc", *words], check=True)


tc("qdisc", "add", "dev", netdev, "root", "handle", "1:", "prio", "bands", "3", "priomap", *["1"] * 16)
tc("qdisc", "add", "dev", netdev, "parent", "1:3", "handle", "3:", "netem", "loss", "100%")
tc("filter", "add", "dev", netdev, "parent", "1:", "protocol", hex(ETHERTYPE), "prio", "1",
   "u32", "match", "u8", "0x13", "0xff", "at", "0", "flowid", "1:3")
time.sleep(2)
heard("trap.watchdog", 131, lambda d: word(d, 2) == LID and d[4] == 1)
tc("qdisc", "del", "dev", netdev, "root")

# Who has not the key neither reads nor sets, and the manager hears of it.
lease = 3
set_port(_0=struct.pack(">Q", KEY), _26=struct.pack(">H", lease), _34=b"\x80")
check("m_key.good", ask(GET, NODE_INFO, key=KEY) is not None)
begun = time.monotonic()
post(GET, NODE_INFO, key=5)
heard("trap.m_key", 256, lambda d: word(d, 2) == OWN and d[6] == GET and
      word(d, 8) == NODE_INFO and d[14:22] == struct.pack(">Q", 5), KEY)
check("m_key.is_counted", word(ask(GET, PORT_INFO, 1, key=KEY), 44) >= 1)
# (who had the key has ended the lease; it begins again with the next violation)
begun = time.monotonic()
post(GET, PORT_INFO, 1)
time.sleep(lease / 3)
post(GET, PORT_INFO, 1)
time.sleep(max(0, begun + lease + 0.5 - time.monotonic()))
answer = ask(GET, PORT_INFO, 1)
check("lease.has_run_out", answer is not None and answer[:8] == struct.pack(">Q", KEY))
answer = set_port(KEY, _0=bytes(8), _34=b"\x00")
check("m_key.is_taken_off", answer is not None and answer[:8] == bytes(8))

# What is kept for reading: the oldest first, cleared by its toggle.
for _ in range(9):
    notice = ask(GET, NOTICE)
    if not notice[9]:
        break
    ask(SET, NOTICE, data=notice)
check("notices.are_cleared", notice[9] == 0)
change_desc("once more")
notice = ask(GET, NOTICE)
check("notice", notice[9] == 1 and word(notice, 4) == 144)
check("link_stays", link.attribute("counters/link_downed") == downed)
