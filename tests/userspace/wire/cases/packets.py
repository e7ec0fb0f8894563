# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks before the transport, and fields of all sent packets."""
import contextlib
import struct
import time

import roce
from target import QPS, WR, Wrong, pattern, show

from . import case


@contextlib.contextmanager
def counted(rig, name, times=1):
    """In the body, counter @name of a softhca device grows by @times."""
    if not rig.is_softhca:
        yield
        return
    before = rig.dev.counter(name)
    yield
    end = time.monotonic() + rig.patience
    while rig.dev.counter(name) - before != times:
        if time.monotonic() > end:
            raise Wrong(f"{name} grew by {rig.dev.counter(name) - before}, "
                        f"not {times}")


def flip(at, bit=0):
    def spoil(payload):
        payload[at] ^= 1 << bit
    return spoil


def send(c, below=None, **fields):
    c.raw(c.packet(roce.SEND_ONLY, pattern(64), ackreq=1, **fields),
          **(below or {}))


def raw(c, ib, **below):
    c.peer.send(ib, version=c.version, **below)


DROPS = {
    # name: (counter, how); a pair of counters: that of RoCE, that of InfiniBand
    "icrc_bth_flipped": ("rx_icrc_errors",
                         lambda c: send(c, {"spoil": flip(11)})),
    "icrc_ackreq_flipped": ("rx_icrc_errors",
                            lambda c: send(c, {"spoil": flip(8, 7)})),
    "icrc_payload_flipped": ("rx_icrc_errors",
                             lambda c: send(c, {"spoil": flip(40, 5)})),
    "icrc_last_byte_flipped": ("rx_icrc_errors",
                               lambda c: send(c, {"spoil": flip(-1, 7)})),
    "icrc_zero": ("rx_icrc_errors", lambda c: send(c, {
        "spoil": lambda p: p.__setitem__(slice(-4, None), bytes(4))})),
    # (whose sender may leave the ICRC out, but not towards this device)
    "icrc_zero_marked": ("rx_icrc_errors", lambda c: send(c, {
        "spoil": lambda p: p.__setitem__(slice(-4, None), bytes(4))},
        ecn=0x2f)),
    "source_of_another_host": ("rx_path_mismatch", lambda c: send(
        c, {"src": c.rig.strangers[c.version]})),
    "other_ip_version": ("rx_path_mismatch", lambda c: c.peer.send(
        c.packet(roce.SEND_ONLY, b"1234"), version=10 - c.version)),
    "pkey_of_another_partition": ("rx_pkey_mismatch",
                                  lambda c: send(c, pkey=0x8001)),
    "pkey_invalid": ("rx_pkey_mismatch", lambda c: send(c, pkey=0)),
    "opcode_of_uc": ("rx_transport_mismatch", lambda c: c.raw(
        c.packet(roce.UC | roce.SEND_ONLY, b"1234"))),
    "opcode_of_ud": ("rx_transport_mismatch", lambda c: c.raw(
        c.packet(roce.UD | roce.SEND_ONLY, b"1234", qkey=1, sqpn=2))),
    "opcode_of_rd": ("rx_transport_mismatch", lambda c: c.raw(
        c.packet(roce.RD | roce.SEND_ONLY, b"1234"))),
    "opcode_of_xrc": ("rx_transport_mismatch", lambda c: c.raw(
        c.packet(roce.XRC | roce.SEND_ONLY, b"1234"))),
    "transport_version_1": ("rx_malformed", lambda c: send(c, tver=1)),
    "pad_without_payload": ("rx_malformed", lambda c: c.raw(
        c.packet(roce.SEND_ONLY, pad=3, padding=b""))),
    "shorter_than_its_headers": ("rx_truncated", lambda c: c.raw(
        c.packet(roce.WRITE_ONLY, ext=bytes(12)))),
    "shorter_than_a_bth": ("rx_truncated", lambda c: raw(
        c, c.packet(roce.SEND_ONLY).build()[:8])),
    "only_a_udp_header": ("rx_truncated", lambda c: c.peer.send_ip(
        roce.ip_header(c.peer.addresses[4], c.peer.target[4], 8) +
        struct.pack(">HHHH", 0xc123, roce.UDP_PORT, 8, 0))),
    "unknown_qpn": ("rx_unknown_qp", lambda c: c.raw(
        roce.Packet(roce.SEND_ONLY, dqpn=c.qpn ^ 1, psn=c.psn))),
    "qpn_0": (("rx_unknown_qp", "rx_malformed"), lambda c: c.raw(
        roce.Packet(roce.UD | roce.SEND_ONLY, dqpn=0, data=bytes(256)))),
    "qpn_of_multicast": (("rx_unknown_qp", "rx_malformed"), lambda c: c.raw(
        roce.Packet(roce.UD | roce.SEND_ONLY, dqpn=0xffffff, data=b"1234"))),
    "ipv4_options": ("rx_malformed", lambda c: send(
        c, {"options": bytes([1, 1, 1, 0])})),
    "udp_checksum_wrong": (None, lambda c: send(c, {"checksum_xor": 0x100})),
}


@case("pkt.drop", "IBTA 9.6, A17.3: an invalid packet is dropped without an "
      "answer or a trace, and counted", table=DROPS)
def drop(rig, row):
    counter, how = row
    if isinstance(counter, tuple):
        counter = counter[not rig.peer.ip]
    c = rig.conn()
    c.post_recv(wr_id=1)
    with counted(rig, counter, 3) if counter else contextlib.nullcontext():
        for _ in range(3):
            how(c)
    good = c.send(b"good")
    c.expect_ack(good.psn, msn=1)
    c.recv_wc(1, byte_len=4)
    c.no_wc()


def pad(c, length, padding):
    data = pattern(length, 3)
    c.post_recv(length=8)
    c.mem.fill()
    p = c.send(data, padding=padding)
    c.expect_ack(p.psn)
    c.recv_wc(byte_len=length)
    if c.mem[:length + 4] != data + b"ZZZZ":
        raise Wrong(f"received {show(c.mem[:length + 4])}")


ACCEPTED = {
    # name: keywords of the frame, fields of the packet
    "plain": ({}, {}),
    "other_ttl": ({"ttl": 1}, {}),
    "other_tos": ({"tos": 0xb8}, {}),
    "fecn_becn_and_reserved_bits": ({}, {"ecn": 0xff}),
    "reserved_bits_by_the_ackreq": ({}, {"resv": 0x7f}),
    "udp_checksum": ({"checksum_xor": 0}, {}),
    "source_port": ({"sport": 1024}, {}),
    "pkey_of_a_limited_member": ({}, {"pkey": 0x7fff}),
    "mig_req_0": ({}, {"mig": 0}),
    "ipv4_id": ({"ident": 0x1234}, {}),
    "ipv4_without_df": ({"df": False}, {}),
}


@case("pkt.accept", "IBTA 9.2, A17.3.3: what an invariant CRC does not cover "
      "may change in the network; reserved bits are ignored", table=ACCEPTED)
def accept(rig, row):
    below, fields = row
    for version in 4, 6:
        if version == 6 and set(below) & {"ident", "df"}:
            continue
        c = rig.conn(version=version)
        c.post_recv(wr_id=1)
        p = c.send(b"12345", below=below, **fields)
        # On InfiniBand, FECN is the mark of a congested switch (A10.2.1).
        if rig.cnp == roce.CNP_IB and fields.get("ecn", 0) & 0x80:
            c.expect(rig.cnp, ecn=0x40)
        c.expect_ack(p.psn, msn=1)
        c.recv_wc(1, byte_len=5)


@case("pkt.accept.ipv6_flow_label", "A17.3.3: the flow label is not covered")
def flow_label(rig):
    c = rig.conn(version=6)
    c.post_recv(wr_id=1)
    p = c.send(b"12345", below={"label": 0xabcde})
    c.expect_ack(p.psn)
    c.recv_wc(1, byte_len=5)


@case("pkt.pad", "IBTA 9.2: padding is not part of the message, whatever it is",
      table={f"{n}_{k}": (n, k) for n in (1, 2, 3, 4, 5) for k in
             ("zero", "non_zero")})
def padding(rig, row):
    length, kind = row
    fill = b"\xff" if kind == "non_zero" else b"\0"
    c = rig.conn()
    pad(c, length, fill * (-length & 3))


@case("pkt.length_not_a_multiple_of_4",
      "IBTA 9.2, 9.7.4.1.6: payload and padding are a multiple of 4 bytes; else NAK "
      "invalid request")
def ragged(rig):
    c = rig.conn()
    c.post_recv(wr_id=1)
    p = c.send(b"12345", pad=0, padding=b"")
    c.expect_nak(roce.NAK_INVALID, p.psn)
    c.expect_state("ERR")
    c.recv_wc(1, "WR_FLUSH_ERR")


@case("pkt.ce_is_no_error",
      "A17.9: a packet marked by a congested switch is valid")
def congested(rig):
    c = rig.conn()
    for i in range(3):
        c.post_recv(wr_id=i)
    for i in range(3):
        p = c.send(b"x", below={"tos": 3})
        answer = c.rx()
        if answer and answer.op == roce.CNP:
            answer = c.rx()
        if not answer or answer.op != roce.ACK or answer.psn != p.psn:
            raise Wrong(f"got {answer}, wanted the ACK of psn {p.psn:06x}")
        c.recv_wc(i)


@case("pkt.ce_draws_cnp",
      "A17.9.3: a packet marked by a congested switch draws a CNP, for the QP that sent "
      "it, with BECN; one that is not marked draws none")
def congested_tells(rig):
    c = rig.conn()
    for i in range(2):
        c.post_recv(wr_id=i)
    p = c.send(b"x", below={"tos": 2})
    c.expect_ack(p.psn)
    p = c.send(b"x", below={"tos": 3})
    c.expect(roce.CNP, ecn=0x40)
    c.expect_ack(p.psn)


@case("pkt.cnp_is_consumed",
      "A17.9.3, A10.2.2: a CNP reaches the QP's rate control and nothing else")
def cnp(rig):
    c = rig.conn()
    c.post_recv(wr_id=1)
    with counted(rig, "rp_cnp_handled"):
        c.raw(roce.Packet(rig.cnp, dqpn=c.qpn, ecn=0x40))
    p = c.send(b"x")
    c.expect_ack(p.psn)
    c.recv_wc(1)


@case("pkt.sent_fields", "IBTA 9.2, 17.2.8, A17.3: fields of what is sent: "
      "MigReq 1 without APM, P_Key of the table, version 0, zero padding, "
      "UDP source port of the flow, TTL", table={"ipv4": 4, "ipv6": 6})
def sent_fields(rig, version):
    c = rig.conn(version=version)
    ports = set()
    for length in 0, 1, 2, 3, 700:
        c.post(WR.SEND, length)
        for _ in range(max(1, -(-length // c.mtu))):
            p = c.rx()
            if not p:
                raise Wrong("nothing was sent")
            for key, wanted in (("mig", 1), ("pkey", 0xffff), ("tver", 0),
                                ("ecn", 0), ("padding", bytes(p.pad))):
                if getattr(p, key) != wanted:
                    raise Wrong(f"{key} is {show(getattr(p, key))}, not "
                                f"{show(wanted)}")
            if not rig.peer.ip:
                continue
            if p.ip.ttl != 64 or p.ip.sport < 0xc000 or not p.ip.df:
                raise Wrong(f"TTL {p.ip.ttl}, source port {p.ip.sport:#x}, "
                            f"DF {p.ip.df}")
            ports.add(p.ip.sport)
        c.ack(p.psn)
        c.sent_wc()
    if len(ports) > 1:
        raise Wrong("the source port varies, so packets may overtake")


@case("pkt.ack_fields", "IBTA 9.2: the same for acknowledgements",
      table={"ipv4": 4, "ipv6": 6})
def ack_fields(rig, version):
    c = rig.conn(version=version)
    c.post_recv()
    c.send(b"x")
    p = c.expect(roce.ACK)
    for key, wanted in (("mig", 1), ("pkey", 0xffff), ("tver", 0), ("pad", 0),
                        ("ackreq", 0), ("se", 0), ("ecn", 0)):
        if getattr(p, key) != wanted:
            raise Wrong(f"{key} is {show(getattr(p, key))}")


@case("pkt.answer_of_another", "IBTA 9.6: an answer that fails validation "
      "does not complete a request", table={
          "source": ({"src": None}, {}), "pkey": ({}, {"pkey": 0x8001}),
          "icrc": ({"spoil": flip(13)}, {}), "tver": ({}, {"tver": 2}),
          "uc_opcode": ({}, {"op": roce.UC | roce.ACK})})
def answer_of_another(rig, row):
    below, fields = dict(row[0]), dict(row[1])
    if "src" in below:
        below["src"] = rig.strangers[4]
    c = rig.conn()
    c.post(WR.SEND, 4, wr_id=1)
    p = c.expect(roce.SEND_ONLY)
    bad = c.packet(roce.ACK, psn=p.psn, syndrome=roce.NO_CREDITS, msn=1)
    for key, value in fields.items():
        setattr(bad, key, value)
    c.raw(bad, **below)
    c.no_wc(rig.quiet)
    c.ack(p.psn)
    c.sent_wc(1)


@case("pkt.qp_not_ready", "IBTA 10.3.1: in RESET and INIT packets are dropped",
      table={"init": "INIT"})
def not_ready(rig, state):
    c = rig.conn(state=state)
    c.post_recv(wr_id=1)
    c.send(b"x", psn=c.psn)
    c.expect_silence()
    c.no_wc()
    c._to_rtr()
    p = c.send(b"x")
    c.expect_ack(p.psn)
    c.recv_wc(1)


@case("pkt.qp_in_error", "IBTA 10.3.1.8: in ERR packets are dropped")
def in_error(rig):
    c = rig.conn()
    c.post_recv(wr_id=1)
    c.modify("STATE", qp_state=QPS.ERR)
    c.recv_wc(1, "WR_FLUSH_ERR")
    c.send(b"x")
    c.write(b"x")
    c.read(4)
    c.expect_silence()
