# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A port at the other end of an InfiniBand link on Ethernet, made from the text of
docs/infiniband.md: hellos, frames of credits, and what has arrived. It grants what it is
told to."""

import ctypes
import mmap
import os
import signal
import socket
import struct
import threading
import time

from ib_link import DATA, ETHERTYPE, HELLO, vcrc

CREDITS, LANES, GRANT, CHARGE, WINDOW = 3, 8, 12288, 68, 16384
HEAD, LANE, BODY = 8, 16, 138
SO_RCVBUFFORCE = 33      # (which Python's module lacks)
PR_SET_PDEATHSIG = 1
GUID, SESSION = 0x0002c90300000001, 0x7e57ab1e


def credit_body(window, lanes, flags=0, period=0, number=LANES):
    """What follows the shim; LANES are tuples of FCTBS, that of the period's begin, ABR, FCCL."""
    body = struct.pack(">BBBBI", number, flags, period, 0, window)
    for lane in lanes:
        body += struct.pack(">IIII", *(count & 0xffffffff for count in lane))
    return body + vcrc(body)


class Told:
    """What a frame of credits says."""

    def __init__(self, body):
        self.lanes, self.flags, self.period, _, self.window = struct.unpack_from(">BBBBI", body)
        self.sent, self.began, self.arrived, self.limit = zip(
            *(struct.unpack_from(">IIII", body, HEAD + LANE * lane) for lane in range(LANES)))


class Peer:
    """The port that is tested is that of the other end of NETDEV."""

    def __init__(self, netdev, credits=True, speaks=True):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        # (all that a port without credits sends at once)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.sock.bind((netdev, ETHERTYPE))
        self.mac = self.sock.getsockname()[4]
        self.lock = threading.Lock()
        self.flags = 2 if credits else 0
        self.heard = mmap.mmap(-1, 4)   # session of the port
        self.named = False              # and it names this one
        self.order = []                 # lanes of packets, as they came
        self.carried = [0] * LANES      # how many in all: QP1's take credit, too
        self.abr = [0] * LANES
        self.limit = [0] * LANES        # up to where each lane takes more
        self.free = [False] * LANES     # it always takes as much as a buffer has
        self.window = WINDOW
        self.taken = None               # what is said to have arrived; None: what has
        self.first = None               # what had been sent before, by lanes
        self.periods = {}               # what has come in each, by lanes
        self.quiet = False              # frames of credits leave only when asked for
        self.eager = False              # one leaves for four packets, too
        self.theirs = None              # last frame of credits: struct
        self.told = 0                   # frames of credits that have come
        self.bad = []
        if not os.fork():
            self._greet()
        for work in (self._speak, self._listen) if speaks else (self._listen,):
            threading.Thread(target=work, daemon=True).start()

    def _frame(self, kind, body, session=SESSION):
        try:
            self.sock.send(b"\xff" * 6 + self.mac + struct.pack(
                ">HBBHI", ETHERTYPE, 1 << 4 | kind, 0, len(body), session) + body)
        except OSError:
            pass                        # a netdev that is down: lost

    def _greet(self):
        """A process, for a port without a hello for a second is gone, however slow this
        machine is, and whatever Python does. It dies with the one that made it."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        while os.getppid() != 1:
            self._frame(HELLO, struct.pack(">Q4sHBB", GUID, self.heard[:4], 4096, self.flags,
                                           4 if self.flags else 0))
            time.sleep(0.1)
        os._exit(0)

    def _speak(self):
        while True:
            if self.named and self.flags and not self.quiet:
                self.tell()
            time.sleep(0.1)

    def tell(self):
        """A frame of credits."""
        if self.first is None:
            # This port knows no counter yet, and grants nothing.
            self.send(credit_body(0, [(0, 0, 0, 0)] * LANES, flags=1))
            return
        with self.lock:
            for lane in range(LANES):
                if self.free[lane]:
                    self.limit[lane] = self.abr[lane] + GRANT
            taken = self.taken or self.abr
            lanes = [(0, 0, taken[lane], self.limit[lane]) for lane in range(LANES)]
        self.send(credit_body(self.window, lanes))

    def send(self, body, session=SESSION):
        """A frame of credits with this body."""
        self._frame(CREDITS, body, session)

    def grant(self, lane, packets):
        """A lane takes so many more, and then no more; never less than it did.
        Returns how many it has carried."""
        with self.lock:
            self.free[lane] = False
            self.limit[lane] = self.abr[lane] + packets * CHARGE
            return self.carried[lane]

    def frees(self, *lanes):
        """Lanes take whatever comes."""
        for lane in lanes:
            self.free[lane] = True
        self.tell()

    def _listen(self):
        while True:
            try:
                frame, address = self.sock.recvfrom(8192)
            except OSError:
                continue                # it went down
            if address[2] == socket.PACKET_OUTGOING:
                continue
            kind, period, length, session = struct.unpack_from(">BBHI", frame, 14)
            body = frame[22:22 + length]
            if kind == 1 << 4 | HELLO:
                self.heard[:4] = struct.pack(">I", session)
                self.named = struct.unpack_from(">I", body, 8)[0] == SESSION
            elif kind == 1 << 4 | CREDITS:
                self._credits(body)
            elif kind == 1 << 4 | DATA and body[0] >> 4 != 15:
                self._data(body[0] >> 4, period, length, body[13:16] == b"\0\0\x10")
                if self.eager and not len(self.order) % 4:
                    self.tell()

    def _data(self, lane, period, length, counts):
        with self.lock:
            charge = max((length + 63) // 64, CHARGE)
            # (and not what others send, from QP1)
            if counts:
                self.order.append(lane)
            self.carried[lane] += 1
            self.abr[lane] += charge
            self.periods.setdefault(period, [0] * LANES)[lane] += charge

    def _credits(self, body):
        if len(body) != BODY or vcrc(body[:-2]) != body[-2:]:
            self.bad.append(body)
            return
        told = Told(body)
        with self.lock:
            if self.first is None:
                self.first = list(told.sent)
                self.abr = list(told.sent)
                self.limit = list(told.sent)
        self.theirs = told
        self.told += 1

    def count(self, lane=None):
        with self.lock:
            return len(self.order) if lane is None else self.order.count(lane)
