#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Credits of an InfiniBand link, judged by a peer that is no softhca (ib_peer.py).

  ib-credits.py NETDEV DEVICE old|mute|starve|all|stuck

NETDEV is the peer's, DEVICE the port at the other end. `old` is a peer without credits,
`mute` one that says that it has credits and never tells of them, `starve` one that gives
none for a while, and `stuck` one that never does: packets wait for ever. But for `mute`
the port must become active meanwhile: this prints "up" and waits for that. Service levels
0 and 1 are lanes 0 and 1, of weights 64 and 192. Prints a line for each check, for lib.sh.
Used by ib/credits.sh.
"""

import os
import sys
import time

from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

from ib_ends import e
from ib_link import Link
from ib_peer import CHARGE, GRANT, LANES, WINDOW, Peer, credit_body

SLOW = int(os.environ.get("SHCA_SLOW", "1"))
netdev, device, what = sys.argv[1:]
PORT = f"/sys/class/infiniband/{device}/ports/1/"
LENGTH = 960        # a packet of 16 blocks, which takes CHARGE
RING = 1024


def attribute(name):
    with open(PORT + name, encoding="ascii") as file:
        return file.read().split()[0]


def counter(name):
    return int(attribute("hw_counters/" + name))


def wait(condition, seconds=10):
    end = time.monotonic() + seconds * SLOW
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def check(name, good, *seen):
    print("ok" if good else "not ok", name, *([] if good else seen), flush=True)


class Sender:
    """A QP of datagrams, of one service level."""

    def __init__(self, context, level):
        self.pd = PD(context)
        self.cq = CQ(context, RING)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq,
                                         cap=QPCap(max_send_wr=RING), sq_sig_all=1))
        attr = QPAttr(port_num=1)
        attr.qkey = 0x1234
        self.qp.to_rts(attr)
        self.address = AH(self.pd, attr=AHAttr(dlid=2, sl=level, port_num=1))
        self.memory = MR(self.pd, LENGTH, e.IBV_ACCESS_LOCAL_WRITE)
        self.posted = self.done = 0

    def post(self, number):
        for _ in range(number):
            self.posted += 1
            wr = SendWR(self.posted, num_sge=1,
                        sg=[SGE(self.memory.buf, LENGTH, self.memory.lkey)])
            wr.set_wr_ud(self.address, 0x10, 0x1234)
            self.qp.post_send(wr)

    def poll(self):
        number, wcs = self.cq.poll(64)
        self.done += number
        return all(wc.status == e.IBV_WC_SUCCESS for wc in wcs)


def limits(peer, senders):
    """Each lane sends what it may, and no more. Nothing was granted before."""
    before = peer.grant(0, 5)
    peer.tell()
    for sender in senders:
        sender.post(40)
    check("limit.lane_0_sends", wait(lambda: peer.carried[0] - before >= 5))
    time.sleep(0.5)
    check("limit.lane_0_stops", peer.carried[0] - before == 5, peer.carried[0] - before)
    check("limit.lane_1_waits", peer.count(1) == 0, peer.count(1))
    # The other lane goes on while this one is stopped.
    peer.frees(0)
    check("limit.lane_0_goes_on", wait(lambda: peer.count(0) == 40))
    check("limit.lane_1_waits_still", peer.count(1) == 0)
    time.sleep(0.2)     # another period, whatever the machine's speed
    peer.frees(*range(LANES))
    check("limit.nothing_is_lost", wait(lambda: peer.count(1) == 40), peer.count(1))
    for sender in senders:
        check("limit.completions", wait(lambda s=sender: s.poll() and s.done == s.posted))


def window(peer, sender):
    """What is on its way over all lanes."""
    with peer.lock:
        peer.taken = list(peer.abr)
        carried = sum(peer.carried)
    peer.window = 4 * CHARGE
    peer.tell()
    time.sleep(0.1)
    before = peer.count()
    sender.post(20)
    check("window.sends", wait(lambda: sum(peer.carried) - carried >= 4))
    time.sleep(0.3)
    check("window.stops", sum(peer.carried) - carried == 4, sum(peer.carried) - carried)
    # (each frame of this peer comes after 100 ms, or at a change of the test)
    peer.taken = None
    check("window.goes_on", wait(lambda: peer.tell() or peer.count() - before == 20))
    peer.window = WINDOW
    peer.tell()
    wait(lambda: sender.poll() and sender.done == sender.posted)


def stale(peer, sender):
    """A frame that was overtaken by others takes nothing away."""
    peer.quiet = True
    time.sleep(0.2)
    before = peer.count(0)
    peer.send(credit_body(WINDOW, [(0, 0, 0, CHARGE)] * LANES))
    sender.post(30)
    check("stale.nothing_is_taken", wait(lambda: peer.count(0) - before == 30),
          peer.count(0) - before)
    peer.quiet = False
    wait(lambda: sender.poll() and sender.done == sender.posted)


def hostile(peer, sender):
    """Frames that are wrong: each is counted, and the link goes on."""
    good = [(0, 0, arrived, arrived + GRANT) for arrived in peer.abr]
    lie = [(0, 0, arrived + 2 ** 20, arrived + 2 ** 30) for arrived in peer.abr]
    body = credit_body(WINDOW, good)
    for name, count, frame, session in (
            ("short", "rx_truncated", body[:-1], 0x7e57ab1e),
            ("crc", "rx_malformed", body[:-1] + bytes([body[-1] ^ 1]), 0x7e57ab1e),
            ("lanes", "rx_malformed", credit_body(WINDOW, good, number=4), 0x7e57ab1e),
            ("session", "rx_path_mismatch", body, 0x7e57ab1f),
            ("lie", "rx_credit_errors", credit_body(WINDOW, lie), 0x7e57ab1e)):
        before = counter(count)
        peer.send(frame, session)
        check(f"hostile.{name}", wait(lambda c=count, b=before: counter(c) > b), counter(count))
    # A flood of frames that say the worst: the port answers, and goes on.
    for number in range(2000):
        peer.send(credit_body(0, [(2 ** 31 + number, number, 2 ** 31, 2 ** 31)] * LANES,
                              flags=number & 3, period=number & 0xff))
    before = peer.count(0)

    def goes_on():
        peer.tell()
        return peer.count(0) - before == 200

    sender.post(200)
    check("hostile.goes_on", wait(goes_on), peer.count(0) - before)
    wait(lambda: sender.poll() and sender.done == sender.posted)


def periods(peer):
    """Packets bear their period, and frames say what was sent before it began."""
    def agree():
        told = peer.theirs
        with peer.lock:
            return all(told.began[lane] == peer.first[lane] + sum(
                came[lane] for period, came in peer.periods.items() if period != told.period)
                for lane in range(LANES))

    check("period.some_have_passed", len(peer.periods) > 2, peer.periods.keys())
    check("period.began", wait(agree), peer.theirs.period, peer.theirs.began, peer.periods)
    check("period.sent", wait(lambda: peer.theirs.sent == tuple(peer.abr)),
          peer.theirs.sent, peer.abr)


def weights(peer, senders):
    """Two lanes that always have something to send share as their weights do."""
    first = peer.count()
    done = sum(sender.posted for sender in senders)
    # All of it waits before the first one leaves, so that this process may be slow.
    peer.window = 0
    peer.tell()
    time.sleep(0.2)
    for sender in senders:
        sender.post(RING - 1)
    start, begin = peer.count(), time.monotonic()
    peer.window = 8 * CHARGE
    peer.eager = True
    peer.tell()
    wait(lambda: peer.count() - start >= 1200, 60)
    with peer.lock:
        sent = [peer.order[start:start + 1200].count(lane) for lane in range(2)]
    ratio = sent[1] / max(sent[0], 1)
    print(f"# lanes 0 and 1 of weights 1 and 3 sent {sent[0]} and {sent[1]}: 1:{ratio:.2f}"
          f" (in {time.monotonic() - begin:.1f} s)")
    check("weights.share", sum(sent) >= 1200 and 2.4 <= ratio <= 3.6, sent)
    peer.window = WINDOW
    posted = sum(s.posted for s in senders) - done

    check("weights.nothing_is_lost", wait(lambda: peer.count() - first == posted),
          peer.count() - first, posted)
    peer.eager = False
    for sender in senders:
        wait(lambda s=sender: s.poll() and s.done == s.posted)


def starve(peer, sender):
    """A peer that gives no credit: packets are discarded after HOQLife."""
    dropped = counter("tx_dropped_locally")
    sender.post(10)
    # (what others have sent, from QP1, may be discarded before)
    time.sleep(6)
    check("starve.is_discarded", wait(lambda: counter("tx_dropped_locally") - dropped >= 10),
          counter("tx_dropped_locally") - dropped)
    peer.frees(0)
    sender.post(1)
    check("starve.goes_on", wait(lambda: peer.count(0) > 0))
    time.sleep(0.2)
    check("starve.nothing_else_has_left", peer.count(0) == 1, peer.count(0))


def unheard(peer):
    """One that asks in a flood, and gives no credit for the answers: they are lost. (They
    would wait in the kernel's memory, without a limit.)"""
    asked, answered = 3000, peer.carried[0]
    # PerfMgt Get(PortCounters) of port 1
    mad = bytes((1, 4, 1, 1)) + bytes(12) + bytes((0, 0x12)) + bytes(47) + b"\x01" + bytes(190)
    link = Link(netdev, device)
    frame = link.packet(payload=mad)
    link.send(frame)
    check("unheard.is_answered", wait(lambda: peer.carried[0] > answered))
    peer.grant(0, 0)
    peer.tell()
    time.sleep(0.2)
    dropped = counter("tx_dropped_locally")
    for number in range(asked):
        link.send(frame)
        if not number % 100:
            time.sleep(0.02)
    check("unheard.answers_are_lost",
          wait(lambda: counter("tx_dropped_locally") - dropped > asked // 2, 5),
          counter("tx_dropped_locally") - dropped)
    peer.frees(0)
    time.sleep(0.2)
    answered = peer.carried[0]
    link.send(frame)
    check("unheard.goes_on", wait(lambda: peer.carried[0] > answered))


def mute(peer):
    """One that has never told of credits is asked for them, but not for long."""
    begun = peer.told
    time.sleep(1)
    check("mute.is_asked", peer.told - begun > 1, peer.told - begun)
    time.sleep(2 * SLOW)
    before = peer.told
    time.sleep(2)
    # (one each 100 ms, instead of 4)
    check("mute.costs_little", 1 < peer.told - before < 40, peer.told - before)


port = Peer(netdev, what != "old", what != "mute")
wait(lambda: port.named)
print("up", flush=True)
if what == "mute":
    mute(port)
    sys.exit()
if not wait(lambda: attribute("state") == "4:", 60):
    sys.exit("not ok active")
with Context(name=device) as ctx:
    both = [Sender(ctx, 0), Sender(ctx, 1)]
    if what == "old":
        for one in both:
            one.post(200)
        check("old.everything_leaves", wait(lambda: port.count(0) == 400), port.count(0))
        check("old.no_credits", port.theirs is None)
        sys.exit()
    if what == "stuck":
        waits = counter("tx_credit_waits")
        for one in both:
            one.post(200)
        wait(lambda: counter("tx_credit_waits") > waits)
        print("stuck", flush=True)
        time.sleep(1000)
    check("heard", wait(lambda: port.theirs is not None))
    port.tell()
    check("crc", not port.bad, port.bad)
    check("grants", wait(lambda: port.theirs.limit == (GRANT,) * LANES), port.theirs.limit)
    if what == "starve":
        starve(port, both[0])
        unheard(port)
        sys.exit()
    dropped_before = counter("tx_dropped_locally")
    limits(port, both)
    periods(port)
    window(port, both[0])
    stale(port, both[0])
    weights(port, both)
    hostile(port, both[0])
    check("no_packet_was_dropped", counter("tx_dropped_locally") == dropped_before,
          counter("tx_dropped_locally") - dropped_before, attribute("counters/link_downed"))
    check("some_have_waited", counter("tx_credit_waits") > 0)
