# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""RoCEv2 packets as bytes: transport headers, UDP, IP, and the invariant CRC.

It is independent of the kernel's implementation, and made from the specification's
figures. It uses only struct and zlib, so a packet costs little even in an emulated
guest. It knows no sockets.
"""
import functools
import ipaddress
import struct
import zlib

UDP_PORT = 4791
PSN_MASK = 0xffffff

RC, UC, RD, UD, XRC = 0x00, 0x20, 0x40, 0x60, 0xa0
CNP = 0x81      # RoCEv2, A17.9.3
CNP_IB = 0x80   # InfiniBand, A10.2.2
CNPS = CNP, CNP_IB

# Operations, the lower five bits of the opcode (IBTA 9.2.1, table 38).
(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
 WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY,
 WRITE_ONLY_IMM, READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY,
 ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD) = range(21)
SEND_LAST_INV, SEND_ONLY_INV = 0x16, 0x17
FLUSH, ATOMIC_WRITE = 0x1c, 0x1d

NAMES = dict(enumerate(
    "SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM "
    "WRITE_FIRST WRITE_MIDDLE WRITE_LAST WRITE_LAST_IMM WRITE_ONLY "
    "WRITE_ONLY_IMM READ_REQUEST READ_FIRST READ_MIDDLE READ_LAST READ_ONLY "
    "ACK ATOMIC_ACK CMP_SWAP FETCH_ADD".split()))
NAMES.update({SEND_LAST_INV: "SEND_LAST_INV", SEND_ONLY_INV: "SEND_ONLY_INV",
              FLUSH: "FLUSH", ATOMIC_WRITE: "ATOMIC_WRITE"})
TRANSPORTS = {RC: "RC", UC: "UC", RD: "RD", UD: "UD", XRC: "XRC"}

HAS_RETH = {WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST}
HAS_IMM = {SEND_LAST_IMM, SEND_ONLY_IMM, WRITE_LAST_IMM, WRITE_ONLY_IMM}
HAS_AETH = {READ_FIRST, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK}
HAS_ATOMIC = {CMP_SWAP, FETCH_ADD}
HAS_INV = {SEND_LAST_INV, SEND_ONLY_INV}
RESPONSES = {READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK}
RELIABLE = {RC, XRC}


def has_reth(op):
    """Has an opcode a RETH? (IBTA 9.2.1; A19 of the last two)"""
    kind = op & 0x1f
    return kind in HAS_RETH or (
        op & 0xe0 in RELIABLE and kind in (FLUSH, ATOMIC_WRITE))


def has_feth(op):
    return op & 0xe0 in RELIABLE and op & 0x1f == FLUSH


def has_xrceth(op):
    """Does an opcode have an XRCETH? Requests do (IBTA A14)."""
    return op & 0xe0 == XRC and op & 0x1f not in RESPONSES


# AETH syndromes (IBTA 9.7.5.2.3)
NAK_SEQ, NAK_INVALID, NAK_ACCESS, NAK_OPERATION, NAK_INV_RD = range(0x60, 0x65)
NO_CREDITS = 0x1f


# Cached: parsing addresses is the slowest part otherwise.
ip_address = functools.cache(ipaddress.ip_address)


def name(op):
    """Readable name of an opcode."""
    if op in CNPS:
        return "CNP"
    transport = TRANSPORTS.get(op & 0xe0, f"{op & 0xe0:#x}")
    return f"{transport} {NAMES.get(op & 0x1f, f'{op & 0x1f:#04x}')}"


def psn_add(psn, n):
    return psn + n & PSN_MASK


class BadPacket(Exception):
    """A received packet is malformed RoCEv2."""


class Packet:
    """One packet from the BTH on. Attributes not given are zero or usual."""

    __slots__ = ("op", "se", "mig", "pad", "tver", "pkey", "ecn", "dqpn",
                 "ackreq", "psn", "va", "rkey", "dmalen", "swap", "compare",
                 "syndrome", "msn", "orig", "imm", "inv", "qkey", "sqpn",
                 "srqn", "feth", "data", "padding", "ext", "resv", "ip", "at")
    _defaults = dict.fromkeys(__slots__, 0)
    _defaults.update(mig=1, pad=None, pkey=0xffff, data=b"", padding=None,
                     ext=None, ip=None)

    def __init__(self, op, **fields):
        for key, value in self._defaults.items():
            setattr(self, key, value)
        self.op = op
        for key, value in fields.items():
            setattr(self, key, value)

    def __str__(self):
        text = f"{name(self.op)} psn {self.psn:06x} len {len(self.data)}"
        op = self.op & 0x1f
        if self.op & 0xe0 == UD:
            text += f" qkey {self.qkey:x} from {self.sqpn:x}"
        elif has_reth(self.op):
            text += f" va {self.va:x} dmalen {self.dmalen}"
        elif op in HAS_AETH:
            text += f" syndrome {self.syndrome:02x} msn {self.msn}"
        return text + (" ackreq" if self.ackreq else "")

    def headers(self):
        """Extension headers, in the order of the specification."""
        if self.ext is not None:
            return self.ext
        if self.op in CNPS:
            return bytes(16)
        op, out = self.op & 0x1f, b""
        if has_xrceth(self.op):
            out += struct.pack(">I", self.srqn)
        if self.op & 0xe0 == UD:
            out += struct.pack(">II", self.qkey, self.sqpn)
        if has_feth(self.op):
            out += struct.pack(">I", self.feth)
        if has_reth(self.op):
            out += struct.pack(">QII", self.va, self.rkey, self.dmalen)
        if op in HAS_ATOMIC:
            out += struct.pack(">QIQQ", self.va, self.rkey, self.swap,
                               self.compare)
        if op in HAS_AETH:
            out += struct.pack(">I", self.syndrome << 24 | self.msn)
        if op == ATOMIC_ACK:
            out += struct.pack(">Q", self.orig)
        if op in HAS_IMM:
            out += struct.pack(">I", self.imm)
        if op in HAS_INV:
            out += struct.pack(">I", self.inv)
        return out

    def build(self):
        """Bytes from the BTH to the padding; the ICRC is the frame's."""
        pad = -len(self.data) & 3 if self.pad is None else self.pad
        padding = bytes(pad) if self.padding is None else self.padding
        bth = struct.pack(">BBHII", self.op,
                          self.se << 7 | self.mig << 6 | pad << 4 | self.tver,
                          self.pkey, self.ecn << 24 | self.dqpn,
                          self.ackreq << 31 | self.resv << 24 | self.psn)
        return bth + self.headers() + self.data + padding


def parse(raw):
    """The packet in @raw, bytes from the BTH to before the ICRC."""
    if len(raw) < 12:
        raise BadPacket(f"{len(raw)} bytes are no BTH")
    op, flags, pkey, dqpn, psn = struct.unpack_from(">BBHII", raw)
    p = Packet(op, se=flags >> 7, mig=flags >> 6 & 1, pad=flags >> 4 & 3,
               tver=flags & 15, pkey=pkey, ecn=dqpn >> 24,
               dqpn=dqpn & PSN_MASK, ackreq=psn >> 31, psn=psn & PSN_MASK)
    if psn & 0x7f000000:
        raise BadPacket("reserved bits of the BTH are set")
    at = 12
    if op in CNPS:
        if any(raw[12:]) or len(raw) != 28:
            raise BadPacket("CNP without its 16 zero bytes")
        return p
    kind = op & 0x1f
    try:
        if has_xrceth(op):
            p.srqn, = struct.unpack_from(">I", raw, at)
            at += 4
        if op & 0xe0 == UD:
            p.qkey, p.sqpn = struct.unpack_from(">II", raw, at)
            at += 8
        if has_feth(op):
            p.feth, = struct.unpack_from(">I", raw, at)
            at += 4
        if has_reth(op):
            p.va, p.rkey, p.dmalen = struct.unpack_from(">QII", raw, at)
            at += 16
        if kind in HAS_ATOMIC:
            p.va, p.rkey, p.swap, p.compare = struct.unpack_from(">QIQQ", raw, at)
            at += 28
        if kind in HAS_AETH:
            aeth, = struct.unpack_from(">I", raw, at)
            p.syndrome, p.msn = aeth >> 24, aeth & PSN_MASK
            at += 4
        if kind == ATOMIC_ACK:
            p.orig, = struct.unpack_from(">Q", raw, at)
            at += 8
        if kind in HAS_IMM:
            p.imm, = struct.unpack_from(">I", raw, at)
            at += 4
        if kind in HAS_INV:
            p.inv, = struct.unpack_from(">I", raw, at)
            at += 4
    except struct.error:
        raise BadPacket(f"{name(op)} is too short for its headers") from None
    end = len(raw) - p.pad
    if end < at:
        raise BadPacket(f"{name(op)}: pad count without payload")
    p.data, p.padding = bytes(raw[at:end]), bytes(raw[end:])
    return p


# ---- below the BTH ---------------------------------------------------------


def icrc(ip, udp, ib):
    """ICRC of annex A17.3.3: fields that change on the way count as ones."""
    if ip[0] >> 4 == 4:
        masked = b"%c\xff%b\xff%c\xff\xff%b" % (ip[0], ip[2:8], ip[9], ip[12:])
    else:
        masked = b"%c\xff\xff\xff%b\xff%b" % (ip[0] | 15, ip[4:7], ip[8:])
    crc = zlib.crc32(b"\xff" * 8 + masked)
    crc = zlib.crc32(udp[:6] + b"\xff\xff", crc)
    crc = zlib.crc32(ib[:4] + b"\xff" + ib[5:], crc)
    return struct.pack("<I", crc)


def checksum(data):
    """The Internet checksum."""
    if len(data) & 1:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp_checksum(ip, udp, payload):
    """The UDP checksum with the IP header @ip; never 0, which means "none"."""
    if ip[0] >> 4 == 4:
        pseudo = ip[12:20] + struct.pack(">BBH", 0, 17, len(udp) + len(payload))
    else:
        pseudo = ip[8:40] + struct.pack(">II", len(udp) + len(payload), 17)
    return checksum(pseudo + udp[:6] + b"\0\0" + payload) or 0xffff


def ip_header(src, dst, length, tos=0, ttl=64, ident=0, df=True, label=0,
              options=b""):
    """IPv4 or IPv6 header for @length bytes of UDP."""
    if ip_address(src).version == 4:
        size = 20 + len(options)
        head = struct.pack(">BBHHHBBH4s4s", 0x40 | size // 4, tos,
                           size + length, ident, 0x4000 if df else 0, ttl, 17,
                           0, ip_address(src).packed, ip_address(dst).packed)
        head += options
        return head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return struct.pack(">IHBB16s16s", 6 << 28 | tos << 20 | label, length, 17,
                       ttl, ip_address(src).packed, ip_address(dst).packed)


class IpInfo:
    """Fields of the headers below the BTH."""

    __slots__ = ("version", "src", "dst", "tos", "ttl", "ident", "df", "label",
                 "sport", "header")


def parse_ip(raw):
    """IpInfo, UDP header and UDP payload of an IP packet; None: not RoCEv2."""
    info = IpInfo()
    info.version = raw[0] >> 4
    if info.version == 4:
        size = (raw[0] & 15) * 4
        total, info.ident, frag = struct.unpack_from(">HHH", raw, 2)
        if raw[9] != 17 or frag & 0x3fff:
            return None
        info.df, info.label = frag >> 14 & 1, 0
        info.tos, info.ttl = raw[1], raw[8]
        info.src, info.dst = ip_address(raw[12:16]), ip_address(raw[16:20])
    else:
        size, info.ident, info.df = 40, 0, 1
        word, length, proto, info.ttl = struct.unpack_from(">IHBB", raw)
        if proto != 17:
            return None
        total = length + 40
        info.tos, info.label = word >> 20 & 255, word & 0xfffff
        info.src, info.dst = ip_address(raw[8:24]), ip_address(raw[24:40])
    info.header = raw[:size]
    info.sport, dport, ulen = struct.unpack_from(">HHH", raw, size)
    if dport != UDP_PORT:
        return None
    if ulen != total - size or total > len(raw):
        raise BadPacket("lengths of IP and UDP disagree")
    return info, raw[size:size + 8], raw[size + 8:total]


def frame(src, dst, ib, sport=0xc123, checksum_xor=None, spoil=None,
          **ip_fields):
    """IP packet with UDP, @ib and its ICRC.

    @checksum_xor: XORed to the correct UDP checksum; None: no checksum, as annex
    A17.3.1 permits. @spoil: called with the bytearray from the BTH to the ICRC, to
    damage it.
    """
    length = 8 + len(ib) + 4
    ip = ip_header(src, dst, length, **ip_fields)
    udp = struct.pack(">HHHH", sport, UDP_PORT, length, 0)
    payload = ib + icrc(ip, udp, ib)
    if spoil:
        payload = bytearray(payload)
        spoil(payload)
        payload = bytes(payload)
    if checksum_xor is not None:
        udp = udp[:6] + struct.pack(
            ">H", udp_checksum(ip, udp, payload) ^ checksum_xor)
    return ip + udp + payload


def unframe(raw):
    """The packet in an IP packet, its ICRC verified; None: not RoCEv2."""
    parts = parse_ip(raw)
    if not parts:
        return None
    info, udp, payload = parts
    if len(payload) < 16:
        raise BadPacket(f"UDP payload of {len(payload)} bytes")
    ib = payload[:-4]
    if icrc(info.header, udp, ib) != payload[-4:]:
        raise BadPacket(f"wrong ICRC: {parse(ib)}")
    if len(payload) & 3:
        raise BadPacket("length is no multiple of 4")
    p = parse(ib)
    p.ip = info
    return p
