# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A port at the other end of an InfiniBand link on Ethernet, made from the text of
docs/infiniband.md: hellos, frames of credits, and what has arrived. It grants what it is
told to."""

import os
import socket
import struct
import threading
import time

from ib_link import DATA, ETHERTYPE, HELLO, vcrc

CREDITS, LANES, GRANT, OVERHEAD, WINDOW = 3, 8, 2048, 7, 3072
SO_RCVBUFFORCE = 33      # (which Python's module lacks)
GUID, SESSION = 0x0002c90300000001, 0x7e57ab1e


class Peer:
    """The port that is tested is that of the other end of NETDEV."""

    def __init__(self, netdev, credits=True):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        # (all that a port without credits sends at once)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.sock.bind((netdev, ETHERTYPE))
        self.mac = self.sock.getsockname()[4]
        self.lock = threading.Lock()
        self.flags = 2 if credits else 0
        self.heard = 0                  # session of the port
        self.named = False              # and it names this one
        self.order = []                 # lanes of packets, as they came
        self.abr = [0] * LANES
        self.room = [GRANT] * LANES     # blocks that each lane takes from now on
        self.window = WINDOW
        self.received = 0
        self.taken = None               # units that are said to have arrived; None: all
        self.theirs = None              # last frame of credits: sent, received, window, lanes
        self.bad = []
        for work in self._speak, self._listen:
            threading.Thread(target=work, daemon=True).start()

    def _frame(self, kind, body):
        try:
            self.sock.send(b"\xff" * 6 + self.mac + struct.pack(
                ">HBBHI", ETHERTYPE, 1 << 4 | kind, 0, len(body), SESSION) + body)
        except OSError:
            pass                        # a netdev that is down: lost

    def _speak(self):
        # A port without a hello for a second is gone, however slow this machine is.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        while True:
            self._frame(HELLO, struct.pack(">QIHBB", GUID, self.heard, 4096, self.flags,
                                           4 if self.flags else 0))
            if self.named and self.flags:
                self.tell()
            time.sleep(0.1)

    def tell(self):
        """A frame of credits."""
        with self.lock:
            taken = self.received if self.taken is None else self.taken
            body = struct.pack(">HHHBB", 0, taken & 0xffff, self.window, LANES, 0)
            for lane in range(LANES):
                limit = self.abr[lane] + max(self.room[lane], 0)
                fcp = struct.pack(">HH", 0, lane << 12 | limit & 0xfff)
                body += fcp + vcrc(fcp)
        self._frame(CREDITS, body)

    def _listen(self):
        while True:
            try:
                frame, address = self.sock.recvfrom(8192)
            except OSError:
                continue                # it went down
            if address[2] == socket.PACKET_OUTGOING:
                continue
            kind, _, length, session = struct.unpack_from(">BBHI", frame, 14)
            body = frame[22:22 + length]
            if kind == 1 << 4 | HELLO:
                self.heard = session
                self.named = struct.unpack_from(">I", body, 8)[0] == SESSION
            elif kind == 1 << 4 | CREDITS:
                self._credits(body)
            elif kind == 1 << 4 | DATA and body[0] >> 4 != 15:
                self._data(body[0] >> 4, length, body[13:16] == b"\0\0\x10")

    def _data(self, lane, length, counts):
        with self.lock:
            blocks = (length + 63) // 64
            # (and not what others send, from QP1)
            if counts:
                self.order.append(lane)
            self.abr[lane] += blocks
            self.room[lane] -= blocks
            self.received += blocks + OVERHEAD

    def _credits(self, body):
        lanes = []
        for at in range(8, 8 + 6 * LANES, 6):
            fcp = body[at:at + 4]
            sent, limit = struct.unpack(">HH", fcp)
            if vcrc(fcp) != body[at + 4:at + 6] or limit >> 12 != len(lanes):
                self.bad.append(fcp)
            lanes.append((sent & 0xfff, limit & 0xfff))
        self.theirs = struct.unpack_from(">HHH", body), lanes

    def count(self, lane=None):
        with self.lock:
            return len(self.order) if lane is None else self.order.count(lane)
