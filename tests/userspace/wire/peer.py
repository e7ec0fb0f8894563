# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The other end of the cable: a packet socket, and no RDMA device.

It is in a network namespace of its own, whose IP stack answers ARP and neighbour
solicitations. It sends and receives whole frames, so it sees and sets each bit. It
verifies the ICRC of each received packet; a wrong one ends the run.
"""
import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import time

import roce

ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86dd
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
SO_RCVBUFFORCE = 33
SIOCGIFHWADDR, SIOCGIFMTU = 0x8927, 0x8921
CLONE_NEWNET = 0x40000000
UDP_SEGMENT, IP_MTU_DISCOVER, IP_PMTUDISC_DO = 103, 10, 2


@contextlib.contextmanager
def namespace(name):
    """Moves this thread to network namespace @name of ip-netns; None: stays."""
    if not name:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(fd):
        if libc.setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {name}")
    with open("/proc/thread-self/ns/net") as old:
        with open(f"/run/netns/{name}") as new:
            enter(new.fileno())
        try:
            yield
        finally:
            enter(old.fileno())


def netdev_mac(netdev):
    """MAC address of @netdev in the current namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        req = fcntl.ioctl(s, SIOCGIFHWADDR,
                          struct.pack("16s24x", netdev.encode()))
    return req[18:24]


class Peer:
    """The crafted peer on @netdev of namespace @netns, at @addresses.

    @addresses: its own {4: ..., 6: ...}; @target: those of the device.
    @listen: if False it only sends; then a device there may own the port.
    """

    ip = True

    def __init__(self, netns, netdev, addresses, target, target_mac,
                 listen=True):
        self.addresses, self.target = addresses, target
        with namespace(netns):
            mac = netdev_mac(netdev)
            # One per protocol. One for all would count as a capture: a device
            # at the other end of a veth pair would send no batches.
            self.socks = [self.packet_socket(netdev, protocol) for protocol in
                          ((ETH_P_IP, ETH_P_IPV6) if listen else (0,))]
            # These own the port, so that the stack sends no "port unreachable".
            self.sinks = [socket.socket(family, socket.SOCK_DGRAM)
                          for family in (socket.AF_INET, socket.AF_INET6)
                          if listen]
            for sink, any_address in zip(self.sinks, ("0.0.0.0", "::")):
                sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
                if any_address == "::":
                    sink.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                sink.bind((any_address, roce.UDP_PORT))
            self.batches = {}
            for version, family in ((4, socket.AF_INET), (6, socket.AF_INET6)):
                if version not in addresses:
                    continue
                sender = socket.socket(family, socket.SOCK_DGRAM)
                if version == 4:  # then identifiers count from 0
                    sender.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER,
                                      IP_PMTUDISC_DO)
                sender.bind((addresses[version], 0))
                self.batches[version] = sender, sender.getsockname()[1]
        self.poll = select.poll()
        for sock in self.socks:
            self.poll.register(sock, select.POLLIN)
        self.ether = {4: target_mac + mac + struct.pack(">H", ETH_P_IP),
                      6: target_mac + mac + struct.pack(">H", ETH_P_IPV6)}
        self.verified = 0
        self.log = None

    @staticmethod
    def packet_socket(netdev, protocol):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        # FORCE: some answers are longer than net.core.rmem_max
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        sock.bind((netdev, protocol))
        sock.setblocking(False)
        return sock

    def frame(self):
        """Return: the next received frame, or None."""
        for sock in self.socks:
            try:
                return sock.recv(65536)
            except BlockingIOError:
                pass
        return None

    def send(self, packet, version=4, src=None, dst=None, **fields):
        """Sends a roce.Packet, or bytes from the BTH on; fields: roce.frame."""
        ib = packet if isinstance(packet, bytes) else packet.build()
        raw = roce.frame(src or self.addresses[version],
                         dst or self.target[version], ib, **fields)
        if self.log is not None:
            self.log.append(f"> {ib.hex() if ib is packet else packet}")
        self.send_ip(raw)

    def delivered(self, version, length, **fields):
        """What UD delivers of the headers below @length bytes, from BTH to ICRC."""
        return roce.ip_header(self.addresses[version], self.target[version],
                              8 + length, **fields)

    def send_batch(self, packets, version=4, spoil=None):
        """Sends packets of one length, except the last, as one super-packet.

        @spoil: {number of a packet: called with it, from BTH to ICRC}
        """
        src, dst = self.addresses[version], self.target[version]
        sock, sport = self.batches[version]
        parts = [roce.frame(src, dst, packet.build(), sport=sport, ident=i,
                            spoil=(spoil or {}).get(i))
                 [28 if version == 4 else 48:]
                 for i, packet in enumerate(packets)]
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, len(parts[0]))
        sock.sendto(b"".join(parts), (dst, roce.UDP_PORT))

    def send_ip(self, raw):
        """Sends an IP packet unchanged."""
        self.socks[0].send(self.ether[raw[0] >> 4] + raw)

    def receive(self, timeout):
        """Return: the next RoCEv2 packet, verified, or None after @timeout seconds."""
        end = time.monotonic() + timeout
        while True:
            raw = self.frame()
            if raw is None:
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self.poll.poll(left * 1000 + 1)
                continue
            if raw[12:14] not in (b"\x08\x00", b"\x86\xdd"):
                continue
            packet = roce.unframe(raw[14:])
            if packet:
                packet.at = time.monotonic()
                self.verified += 1
                if self.log is not None:
                    self.log.append(f"< {packet}")
                return packet

    def drain(self):
        """Drops received packets."""
        while self.frame() is not None:
            pass
