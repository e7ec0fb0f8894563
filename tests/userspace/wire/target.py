# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The device under test, through libibverbs (pyverbs), with helpers for cases.

A Rig is a device with its peer. A Conn is one QP of the device, connected to a QP
number of the crafted peer, and the packets that both exchange.
"""
import ctypes
import errno
import fcntl
import functools
import itertools
import mmap
import os
import select
import struct
import time
from ipaddress import ip_address

import enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import ECE, QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import roce
from roce import psn_add

ALL_ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
              e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)
MTU = 256
QKEY = 0x11111111
CQE = 128

STATUS = {getattr(e, s): s[len("IBV_WC_"):] for s in (
    "IBV_WC_SUCCESS IBV_WC_LOC_LEN_ERR IBV_WC_LOC_QP_OP_ERR "
    "IBV_WC_LOC_PROT_ERR IBV_WC_WR_FLUSH_ERR IBV_WC_MW_BIND_ERR "
    "IBV_WC_BAD_RESP_ERR IBV_WC_LOC_ACCESS_ERR IBV_WC_REM_INV_REQ_ERR "
    "IBV_WC_REM_ACCESS_ERR IBV_WC_REM_OP_ERR IBV_WC_REM_ABORT_ERR "
    "IBV_WC_RETRY_EXC_ERR "
    "IBV_WC_RNR_RETRY_EXC_ERR IBV_WC_FATAL_ERR IBV_WC_GENERAL_ERR").split()}
EVENTS = {getattr(e, s): s[len("IBV_EVENT_"):] for s in (
    "IBV_EVENT_CQ_ERR IBV_EVENT_QP_FATAL IBV_EVENT_QP_REQ_ERR "
    "IBV_EVENT_QP_ACCESS_ERR IBV_EVENT_COMM_EST IBV_EVENT_SQ_DRAINED "
    "IBV_EVENT_QP_LAST_WQE_REACHED").split()}


class WR:
    """Opcodes of send requests."""
    SEND, SEND_IMM = e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM
    SEND_INV = e.IBV_WR_SEND_WITH_INV
    WRITE, WRITE_IMM = e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_WRITE_WITH_IMM
    READ = e.IBV_WR_RDMA_READ
    CAS, FAA = e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WR_ATOMIC_FETCH_AND_ADD


class QPS:
    """States of a QP."""
    RESET, INIT, RTR = e.IBV_QPS_RESET, e.IBV_QPS_INIT, e.IBV_QPS_RTR
    RTS, SQD, ERR = e.IBV_QPS_RTS, e.IBV_QPS_SQD, e.IBV_QPS_ERR


STATES = {getattr(e, "IBV_QPS_" + s): s
          for s in "RESET INIT RTR RTS SQD SQE ERR".split()}
TYPES = {"RC": e.IBV_QPT_RC, "UC": e.IBV_QPT_UC, "UD": e.IBV_QPT_UD}
TRANSPORT = {"RC": roce.RC, "UC": roce.UC, "UD": roce.UD}


class Wrong(Exception):
    """The device has violated the rule."""


class Skip(Exception):
    """The device lacks the feature of the case."""


class Memory:
    """Registered memory, read and written in place."""

    def __init__(self, pd, length, access=ALL_ACCESS):
        self.map = mmap.mmap(-1, length)
        self.addr = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.mr = MR(pd, length, access, address=self.addr)
        self.length, self.lkey, self.rkey = length, self.mr.lkey, self.mr.rkey

    def __getitem__(self, at):
        return self.map[at]

    def __setitem__(self, at, value):
        self.map[at] = value

    def fill(self, byte=0x5a):
        self.map[:] = bytes([byte]) * self.length

    def sge(self, offset=0, length=None):
        length = self.length - offset if length is None else length
        return SGE(self.addr + offset, length, self.lkey)


class Userfault:
    """Memory of this process whose pages stay absent until give().

    After close() it is ordinary memory.
    """
    SYSCALL = {"x86_64": 323, "aarch64": 282}
    API, REGISTER, COPY = 0xc018aa3f, 0xc020aa00, 0xc028aa03
    MISSING = 1

    def __init__(self, addr, length):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(self.SYSCALL[os.uname().machine], os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "userfaultfd")
        self.addr, self.length = addr, length
        fcntl.ioctl(self.fd, self.API, struct.pack("=3Q", 0xaa, 0, 0))
        fcntl.ioctl(self.fd, self.REGISTER,
                    struct.pack("=4Q", addr, length, self.MISSING, 0))

    def give(self, data):
        """Fills all of it with @data, and ends all waits for it."""
        source = ctypes.create_string_buffer(data, self.length)
        fcntl.ioctl(self.fd, self.COPY, struct.pack(
            "=5Q", self.addr, ctypes.addressof(source), self.length, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


@functools.cache
def pattern_unit(seed):
    return bytes((i * 7 + seed) & 255 for i in range(251))


def pattern(length, seed=1):
    """Return: @length bytes that show their position."""
    return (pattern_unit(seed) * (length // 251 + 1))[:length]


class Device:
    """An RDMA device, opened, with memory and the counters of its port."""

    def __init__(self, name):
        self.name = name
        before = set(os.listdir("/proc/self/fd"))
        self.ctx = Context(name=name)
        self.async_fd = self._find_async_fd(before)
        self.pd = PD(self.ctx)
        self.memory = Memory(self.pd, 64 << 10)
        self.counters = f"/sys/class/infiniband/{name}/ports/1/hw_counters"
        try:
            # otherwise values are up to 10 ms old
            with open(f"{self.counters}/lifespan", "w") as f:
                f.write("0")
        except OSError:
            pass

    @staticmethod
    def _find_async_fd(before):
        """Finds the descriptor of the context's events, which pyverbs hides."""
        for fd in set(os.listdir("/proc/self/fd")) - before:
            try:
                if "infinibandevent" in os.readlink(f"/proc/self/fd/{fd}"):
                    return int(fd)
            except OSError:
                pass
        return None

    def counter(self, name):
        # The RDMA core caches values for 10 ms.
        time.sleep(0.015)
        try:
            with open(f"{self.counters}/{name}") as f:
                return int(f.read())
        except FileNotFoundError:
            raise Wrong(f"there is no counter {name}") from None

    def events(self, timeout=0):
        """Return: names of the async events until @timeout."""
        found = []
        while select.select([self.async_fd], [], [], 0 if found else timeout)[0]:
            event = self.ctx.get_async_event()
            found.append(EVENTS.get(event.event_type, str(event.event_type)))
            event.ack()
        return found

    def gid_index(self, address):
        """Index of the RoCEv2 GID of an IP address."""
        address = ip_address(address)
        wanted = address.packed
        if address.version == 4:
            wanted = bytes(10) + b"\xff\xff" + wanted
        port = f"/sys/class/infiniband/{self.name}/ports/1"
        for i in range(1024):
            try:
                with open(f"{port}/gids/{i}") as f:
                    if bytes.fromhex(f.read().replace(":", "")) != wanted:
                        continue
                with open(f"{port}/gid_attrs/types/{i}") as f:
                    if "v2" in f.read():
                        return i
            except FileNotFoundError:
                break
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        raise LookupError(f"{self.name} has no GID for {address}")


def gid_of(address):
    address = ip_address(address)
    raw = address.packed
    if address.version == 4:
        raw = bytes(10) + b"\xff\xff" + raw
    return GID(":".join(raw.hex()[i:i + 4] for i in range(0, 32, 4)))


class Rig:
    """A device and its crafted peer.

    @strangers: addresses of the peer's network without a connection
    @is_softhca: the device has softhca's counters
    @patience: maximum time for a packet that must come, in seconds
    @quiet: time without a packet that counts as silence, in seconds
    @gids: indexes of the device's GIDs by IP version, if they are not to be found
    """

    cnp = roce.CNP

    def __init__(self, device, peer, strangers, is_softhca=True, patience=3.0,
                 quiet=0.02, gids=None):
        self.dev, self.peer, self.strangers = device, peer, strangers
        self.is_softhca = is_softhca
        slow = int(os.environ.get("SHCA_SLOW", 1))  # tests/guest/lib.sh
        self.patience = patience * slow
        # Each case that ends in silence takes this time.
        self.quiet = quiet * min(slow, 5)
        self.gid = gids or {v: device.gid_index(a) for v, a in peer.target.items()}
        self.qpns = itertools.count(0x30001, 7)
        self.conns = []
        self.cqs = []

    def conn(self, *args, **fields):
        conn = Conn(self, *args, **fields)
        self.conns.append(conn)
        return conn

    def take_cq(self, cqe):
        """Return: a CQ; those of the usual size are reused."""
        return self.cqs.pop() if cqe == CQE and self.cqs else CQ(self.dev.ctx,
                                                                 cqe)

    def give_cq(self, cq, cqe):
        if cqe == CQE and not cq.poll()[0]:
            self.cqs.append(cq)
        else:
            cq.close()

    def close(self):
        """Ends a case: destroys its QPs, and drops packets in flight."""
        while self.conns:
            self.conns.pop().close()
        self.peer.drain()
        if self.dev.async_fd is not None:
            self.dev.events()

    def ah_attr(self, version=4, flow_label=0, tclass=0, hop_limit=64):
        route = GlobalRoute(dgid=gid_of(self.peer.addresses[version]),
                            sgid_index=self.gid[version],
                            flow_label=flow_label, traffic_class=tclass,
                            hop_limit=hop_limit)
        return AHAttr(is_global=1, port_num=1, gr=route)


class Conn:
    """One QP of the device and the peer's end of it.

    @psn: the next PSN of the peer as a requester; @sq_psn: the first PSN of the
    device; @ece: vendor and options that the peer claims.
    """

    def __init__(self, rig, kind="RC", version=4, psn=0x100, sq_psn=0x200,
                 state="RTS", access=ALL_ACCESS, timeout=0, retry_cnt=7,
                 rnr_retry=7, rnr_timer=1, rd_atomic=16, dest_rd_atomic=16,
                 cqe=CQE, sig_all=True, mtu=MTU, qkey=QKEY, recv_wr=64,
                 recv_cq=None, flow_label=0, tclass=0, srq=None, ece=None):
        self.rig, self.peer, self.dev = rig, rig.peer, rig.dev
        self.kind, self.version, self.mtu = kind, version, mtu
        self.transport = TRANSPORT[kind]
        self.mem = self.dev.memory
        self.psn, self.sq_psn = psn, sq_psn
        self.peer_qpn = next(rig.qpns)
        self.sent, self.others = [], []
        self.attr = dict(access=access, timeout=timeout, retry_cnt=retry_cnt,
                         rnr_retry=rnr_retry, rnr_timer=rnr_timer,
                         rd_atomic=rd_atomic, dest_rd_atomic=dest_rd_atomic,
                         qkey=qkey, flow_label=flow_label, tclass=tclass)
        self.cqe = cqe
        self.send_cq = rig.take_cq(cqe)
        self.recv_cq = recv_cq or rig.take_cq(cqe)
        self.cqs = (self.send_cq,) if recv_cq else (self.send_cq, self.recv_cq)
        cap = QPCap(max_send_wr=64, max_recv_wr=recv_wr, max_send_sge=3,
                    max_recv_sge=3)
        self.qp = QP(self.dev.pd, QPInitAttr(
            qp_type=TYPES[kind], scq=self.send_cq, rcq=self.recv_cq, cap=cap,
            sq_sig_all=sig_all, srq=srq))
        self.qpn = self.qp.qp_num
        if ece:
            self.tell_ece(*ece)
        self.to_state(state)

    def close(self):
        self.qp.close()
        for cq in self.cqs:
            self.rig.give_cq(cq, self.cqe)

    def tell_ece(self, vendor, options):
        """Sets the options as librdmacm does, which continues if they have no meaning."""
        try:
            self.qp.set_ece(ECE(vendor, options))
        except PyverbsRDMAError as error:
            if error.error_code != errno.EOPNOTSUPP:
                raise

    # ---- states

    def to_state(self, last):
        for step in ("INIT", "RTR", "RTS"):
            getattr(self, "_to_" + step.lower())()
            if step == last:
                return

    def _modify(self, mask, **fields):
        attr = QPAttr()
        for key, value in fields.items():
            setattr(attr, key, value)
        for name in mask.split():
            self._mask |= getattr(e, "IBV_QP_" + name)
        self.qp.modify(attr, self._mask)

    def modify(self, mask, **fields):
        self._mask = 0
        self._modify(mask, **fields)

    def _to_init(self):
        self._mask = e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT
        fields = dict(qp_state=e.IBV_QPS_INIT, pkey_index=0, port_num=1)
        if self.kind == "UD":
            self._modify("QKEY", qkey=self.attr["qkey"], **fields)
            return
        access = self.attr["access"]
        if self.kind == "UC":
            access &= e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
        self._modify("ACCESS_FLAGS", qp_access_flags=access, **fields)

    def _to_rtr(self):
        self._mask = e.IBV_QP_STATE
        if self.kind == "UD":
            self._modify("", qp_state=e.IBV_QPS_RTR)
            return
        mtus = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024,
                2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}
        fields = dict(qp_state=e.IBV_QPS_RTR, path_mtu=mtus[self.mtu],
                      dest_qp_num=self.peer_qpn, rq_psn=self.psn,
                      ah_attr=self.rig.ah_attr(
                          self.version, self.attr["flow_label"],
                          self.attr["tclass"]))
        mask = "AV PATH_MTU DEST_QPN RQ_PSN"
        if self.kind == "RC":
            mask += " MAX_DEST_RD_ATOMIC MIN_RNR_TIMER"
            fields.update(max_dest_rd_atomic=self.attr["dest_rd_atomic"],
                          min_rnr_timer=self.attr["rnr_timer"])
        self._modify(mask, **fields)

    def _to_rts(self):
        self._mask = e.IBV_QP_STATE
        fields = dict(qp_state=e.IBV_QPS_RTS, sq_psn=self.sq_psn)
        mask = "SQ_PSN"
        if self.kind == "RC":
            mask += " TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC"
            fields.update(timeout=self.attr["timeout"],
                          retry_cnt=self.attr["retry_cnt"],
                          rnr_retry=self.attr["rnr_retry"],
                          max_rd_atomic=self.attr["rd_atomic"])
        self._modify(mask, **fields)

    def state(self):
        attr, _ = self.qp.query(e.IBV_QP_STATE)
        return STATES[attr.qp_state]

    def expect_state(self, wanted):
        """Waits for this state: a QP may need a moment to fail."""
        end = time.monotonic() + self.rig.patience
        while True:
            state = self.state()
            if state == wanted:
                return
            if time.monotonic() > end:
                raise Wrong(f"QP is in {state}, not {wanted}")
            time.sleep(0.002)

    def expect_event(self, wanted):
        seen = []
        end = time.monotonic() + self.rig.patience
        while wanted not in seen:
            left = end - time.monotonic()
            if left <= 0:
                raise Wrong(f"no event {wanted}" +
                            (f", but {' '.join(seen)}" if seen else ""))
            seen += self.dev.events(left)

    # ---- the peer's packets

    def packet(self, op, data=b"", **fields):
        fields.setdefault("psn", self.psn)
        return roce.Packet(op | self.transport if op < 0x20 else op, data=data,
                           dqpn=self.qpn, **fields)

    def raw(self, packet, **below):
        self.peer.send(packet, version=self.version, **below)

    def tx(self, op, data=b"", below=None, **fields):
        """A request packet with the next PSN, or with @psn out of order."""
        packet = self.packet(op, data, **fields)
        if "psn" not in fields:
            self.psn = psn_add(self.psn, 1)
        self.raw(packet, **(below or {}))
        return packet

    def send(self, data=b"", op=roce.SEND_ONLY, ackreq=1, **fields):
        """A SEND of one packet that asks for an ACK."""
        return self.tx(op, data, ackreq=ackreq, **fields)

    def write(self, data, offset=0, op=roce.WRITE_ONLY, ackreq=1, **fields):
        """A WRITE of one packet into the device's memory."""
        fields.setdefault("va", self.mem.addr + offset)
        fields.setdefault("rkey", self.mem.rkey)
        fields.setdefault("dmalen", len(data))
        return self.tx(op, data, ackreq=ackreq, **fields)

    def read(self, length, offset=0, **fields):
        """A READ request; takes the PSNs of its response."""
        fields.setdefault("va", self.mem.addr + offset)
        fields.setdefault("rkey", self.mem.rkey)
        fields.setdefault("dmalen", length)
        first = fields.get("psn") is None
        packet = self.tx(roce.READ_REQUEST, **fields)
        if first:
            self.psn = psn_add(self.psn, max(0, -(-length // self.mtu) - 1))
        return packet

    def atomic(self, op, offset=0, **fields):
        fields.setdefault("va", self.mem.addr + offset)
        fields.setdefault("rkey", self.mem.rkey)
        return self.tx(op, ackreq=1, **fields)

    def answer_slowly(self):
        """Delays the first answer, for a case whose later answers are slow.

        softhca measures the round trip, and resends early what is overdue by it.
        """
        time.sleep(10 * self.rig.quiet)

    # ---- the device's packets

    def rx(self, timeout=None):
        """Return: the device's next packet to this peer QP, or None."""
        end = time.monotonic() + (self.rig.patience if timeout is None
                                  else timeout)
        while True:
            packet = self.peer.receive(max(0, end - time.monotonic()))
            # UD: any destination; others: no late packet of another QP
            if not packet or packet.dqpn == self.peer_qpn:
                return packet

    def expect(self, op, timeout=None, **fields):
        """Return: the next packet, which must have this opcode and these fields."""
        packet = self.rx(timeout)
        if not packet:
            raise Wrong(f"nothing came, wanted {roce.name(op | self.transport)}")
        if op < 0x20:
            op |= self.transport
        if packet.op != op:
            raise Wrong(f"got {packet}, wanted {roce.name(op)}")
        for key, value in fields.items():
            got = getattr(packet, key)
            if got != value:
                raise Wrong(f"{roce.name(op)}: {key} is {show(got)}, not "
                            f"{show(value)}")
        return packet

    def expect_ack(self, psn=None, **fields):
        packet = self.expect(roce.ACK, **fields)
        if packet.syndrome & 0xe0:
            raise Wrong(f"got {packet}, wanted an ACK")
        if psn is not None and packet.psn != psn:
            raise Wrong(f"ACK of psn {packet.psn:06x}, not {psn:06x}")
        return packet

    def expect_nak(self, syndrome, psn=None):
        packet = self.expect(roce.ACK)
        if packet.syndrome != syndrome:
            raise Wrong(f"got {packet}, wanted syndrome {syndrome:02x}")
        if psn is not None and packet.psn != psn:
            raise Wrong(f"NAK of psn {packet.psn:06x}, not {psn:06x}")
        return packet

    def expect_silence(self, quiet=None):
        packet = self.rx(self.rig.quiet if quiet is None else quiet)
        if packet:
            raise Wrong(f"got {packet}, wanted no answer")

    def expect_response(self, data, psn):
        """Expects a whole READ response with @data."""
        count = max(1, -(-len(data) // self.mtu))
        for i in range(count):
            part = data[i * self.mtu:(i + 1) * self.mtu]
            op = (roce.READ_ONLY if count == 1 else
                  roce.READ_FIRST if i == 0 else
                  roce.READ_LAST if i == count - 1 else roce.READ_MIDDLE)
            packet = self.expect(op, psn=psn_add(psn, i), data=part)
            if op != roce.READ_MIDDLE and packet.syndrome & 0xe0:
                raise Wrong(f"{packet}: not an ACK syndrome")
        return packet

    # ---- the peer as a responder

    def ack(self, psn, syndrome=roce.NO_CREDITS, msn=0, **fields):
        self.tx(roce.ACK, psn=psn, syndrome=syndrome, msn=msn, **fields)

    def respond(self, op, psn, data=b"", syndrome=roce.NO_CREDITS, msn=0,
                **fields):
        self.tx(op, data, psn=psn, syndrome=syndrome, msn=msn, **fields)

    # ---- verbs

    def post_recv(self, length=4096, offset=0, wr_id=0, sge=None):
        self.qp.post_recv(RecvWR(
            wr_id=wr_id, num_sge=1,
            sg=[sge or SGE(self.mem.addr + offset, length, self.mem.lkey)]))

    def post_recv_list(self, sges, wr_id=0):
        self.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=len(sges), sg=sges))

    def post(self, opcode, length=0, offset=0, wr_id=0, va=0x1000, rkey=0x99,
             flags=0, imm=0, sge=None, compare=0, swap=0):
        """A send request of @length bytes at @offset of the memory."""
        if opcode != WR.SEND_INV:  # carries a key in its place
            imm = socket_order(imm)
        wr = SendWR(wr_id=wr_id, opcode=opcode, num_sge=1, imm_data=imm,
                    send_flags=flags | e.IBV_SEND_SIGNALED,
                    sg=[sge or SGE(self.mem.addr + offset, length,
                                   self.mem.lkey)])
        if opcode in (WR.CAS, WR.FAA):
            wr.set_wr_atomic(rkey, va, compare, swap)
        elif opcode in (WR.WRITE, WR.WRITE_IMM, WR.READ):
            wr.set_wr_rdma(rkey, va)
        self.qp.post_send(wr)

    def post_ud(self, ah, length, offset=0, qpn=None, qkey=QKEY,
                opcode=WR.SEND, imm=0, wr_id=0, flags=0, sge=None):
        wr = SendWR(wr_id=wr_id, opcode=opcode, num_sge=1,
                    imm_data=socket_order(imm),
                    send_flags=flags | e.IBV_SEND_SIGNALED,
                    sg=[sge or SGE(self.mem.addr + offset, length,
                                   self.mem.lkey)])
        wr.set_wr_ud(ah, self.peer_qpn if qpn is None else qpn, qkey)
        self.qp.post_send(wr)

    def _poll(self, cq, timeout):
        end = time.monotonic() + timeout
        while True:
            n, wcs = cq.poll()
            if n:
                return wcs[0]
            if time.monotonic() > end:
                return None
            time.sleep(0.0005)

    def _wc(self, cq, what, wr_id, status, fields):
        wc = self._poll(cq, self.rig.patience)
        if not wc:
            raise Wrong(f"no {what} completion")
        if STATUS.get(wc.status, wc.status) != status:
            raise Wrong(f"{what} completed with "
                        f"{STATUS.get(wc.status, wc.status)}, not {status}")
        if wr_id is not None and wc.wr_id != wr_id:
            raise Wrong(f"{what} {wc.wr_id} completed, not {wr_id}")
        for key, value in fields.items():
            if getattr(wc, key) != value:
                raise Wrong(f"{what} completion: {key} is "
                            f"{show(getattr(wc, key))}, not {show(value)}")
        return wc

    def sent_wc(self, wr_id=None, status="SUCCESS", **fields):
        return self._wc(self.send_cq, "send", wr_id, status, fields)

    def recv_wc(self, wr_id=None, status="SUCCESS", **fields):
        return self._wc(self.recv_cq, "receive", wr_id, status, fields)

    def no_wc(self, quiet=0):
        for cq, what in (self.send_cq, "send"), (self.recv_cq, "receive"):
            wc = self._poll(cq, quiet)
            if wc:
                raise Wrong(f"{what} {wc.wr_id} completed with "
                            f"{STATUS.get(wc.status, wc.status)}, "
                            "wanted no completion")


def socket_order(value):
    """Return: @value as a number that is big-endian in memory."""
    return struct.unpack("=I", struct.pack(">I", value))[0]


def show(value):
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes {value[:8].hex()}"
    if isinstance(value, int) and value > 9:
        return hex(value)
    return str(value)
