# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Topology files, as ibnetdiscover writes them. As a program: prints that of cluster()."""

import random


class Maker:
    """A topology file, line by line."""

    def __init__(self):
        self.nodes, self.cables = {}, []

    def node(self, kind, name, ports, guid=None, device=1, system=None):
        """With a @guid, the one port of a host has the same one; else its number is added."""
        step = 0 if guid else 1
        guid = guid or (0x0002c90200000000 if kind == "Switch" else 0x0002c90300000000) + 256 * (len(self.nodes) + 1)
        self.nodes[name] = (kind, ports, guid, step, device, system or guid)
        return name

    def cable(self, a, a_port, b, b_port, rate=""):
        self.cables.append((a, a_port, b, b_port, rate))

    def guid(self, name):
        return self.nodes[name][2]

    def ident(self, name):
        return ident(self.nodes[name][0], self.guid(name))

    def port_guid(self, name, port):
        kind, _, guid, step, *_ = self.nodes[name]
        return "" if kind == "Switch" else f"({guid + step * port:x}) "

    def text(self):
        ends = {name: [] for name in self.nodes}
        for a, a_port, b, b_port, rate in self.cables:
            ends[a].append((a_port, b, b_port, rate))
            ends[b].append((b_port, a, a_port, rate))
        lines = []
        for name, (kind, ports, guid, _, device, system) in self.nodes.items():
            # (two nodes may have one description)
            desc = name.partition(" @ ")[0]
            lines.append(f"vendid=0x2c9\ndevid=0x{device:x}\nsysimgguid=0x{system:x}")
            if kind == "Switch":
                lines += [f"switchguid=0x{guid:x}({guid:x})", f'Switch\t{ports} "{self.ident(name)}"\t\t# "{desc}" enhanced port 0 lid 0 lmc 0']
            else:
                lines += [f"caguid=0x{guid:x}", f'Ca\t{ports} "{self.ident(name)}"\t\t# "{desc}"']
            for port, peer, peer_port, rate in sorted(ends[name]):
                lines.append(f'[{port}]{self.port_guid(name, port)}\t"{self.ident(peer)}"[{peer_port}]{self.port_guid(peer, peer_port)}\t\t'
                             f'# "{peer.partition(" @ ")[0]}" lid 0 {rate or "4xQDR"}')
            lines.append("")
        return "\n".join(lines)


def ident(kind, guid):
    return f'{"S" if kind == "Switch" else "H"}-{guid:016x}'


def with_hosts(maker, switch, first, hosts, ports):
    for n in range(hosts):
        host = maker.node("Ca", f"{switch} host {n}", ports)
        maker.cable(switch, first + n, host, 1)


def two():
    maker = Maker()
    # (the first node is where programs run)
    for n in range(4):
        maker.node("Ca", f"host {n}", 1)
    for n in range(2):
        switch = maker.node("Switch", f"switch {n}", 8)
        maker.cable(switch, 1, f"host {2 * n}", 1, "4xEDR")
        maker.cable(switch, 2, f"host {2 * n + 1}", 1, "4xHDR")
    maker.cable("switch 0", 7, "switch 1", 8)
    return maker.text()


def fat_tree(k, hosts, ports=36):
    """k pods of k/2 leaves and k/2 switches above them, (k/2)^2 on top."""
    maker, half = Maker(), k // 2
    for pod in range(k):
        for n in range(half):
            leaf = maker.node("Switch", f"leaf {pod}.{n}", ports)
            with_hosts(maker, leaf, 1, hosts, 1)
            maker.node("Switch", f"middle {pod}.{n}", ports)
    for n in range(half * half):
        maker.node("Switch", f"top {n}", ports)
    for pod in range(k):
        for n in range(half):
            for m in range(half):
                maker.cable(f"leaf {pod}.{n}", ports - m, f"middle {pod}.{m}", 1 + n)
                maker.cable(f"middle {pod}.{n}", ports - m, f"top {n * half + m}", 1 + pod)
    return maker.text()


def ring(n):
    maker = Maker()
    for i in range(n):
        with_hosts(maker, maker.node("Switch", f"ring {i}", 8), 1, 1, 1)
    for i in range(n):
        maker.cable(f"ring {i}", 7, f"ring {(i + 1) % n}", 8)
    return maker.text()


def torus(n):
    """Return: the file, and OpenSM's configuration of torus-2QoS."""
    maker = Maker()
    cells = [(x, y, z) for x in range(n) for y in range(n) for z in range(n)]
    for cell in cells:
        with_hosts(maker, maker.node("Switch", "torus %d%d%d" % cell, 16), 1, 1, 1)
    for cell in cells:
        for axis in range(3):
            peer = tuple((c + (a == axis)) % n for a, c in enumerate(cell))
            maker.cable("torus %d%d%d" % cell, 3 + 2 * axis, "torus %d%d%d" % peer, 4 + 2 * axis)
    seed = maker.guid("torus 000")
    links = [f"{axis}p_link 0x{seed:x} 0x{maker.guid(f'torus {cell}'):x}" for axis, cell in (("x", "100"), ("y", "010"), ("z", "001"))]
    return maker.text(), "\n".join([f"torus {n} {n} {n}", *links, ""])


def cluster():
    """What a cluster of 2025 looks like that is in a public repository (NVIDIA/topograph, tests/output/ibnetdiscover):
    31 leaves with 542 hosts and 9 spines of 65 ports, of which port 65 is an aggregation node of the switch. So a fat tree
    has hosts on two levels, and is none for OpenSM's ftree. Two cables from each leaf to each spine, some of them missing."""
    maker, draw, rate = Maker(), random.Random(40), "4xNDR"
    # (the place of a 32nd leaf is free)
    leaves = {n: f"leaf {n // 4}-{n % 4}" for n in range(32) if n != 2}
    spines = [f"spine {n}" for n in range(9)]
    for n, name in enumerate([*leaves.values(), *spines]):
        maker.node("Switch", name, 65, 0x2c5eab0300c00000 + 64 * n, 0xd2f2)
    for n, name in enumerate(list(maker.nodes)):
        node = maker.node("Ca", f"Mellanox Technologies Aggregation Node @ {name}", 1, maker.guid(name) + 16, 0xcf09, maker.guid(name))
        maker.cable(name, 65, node, 1, rate)
    absent = draw.sample([(n, port) for n in leaves for port in range(1, 19)], 20)
    hosts = [(n, port) for n in leaves for port in range(1, 19) if (n, port) not in absent]
    # (four of the management, beyond the others)
    hosts += [(n, port) for n in (30, 31) for port in (21, 22)]
    for n, port in hosts:
        host = maker.node("Ca", f"rack {n // 4} node {port} HCA-{n % 4 + 1}", 1, 0xe09d730300000000 + 256 * n + port, 0x1021)
        maker.cable(leaves[n], port, host, 1, rate)
    cut = draw.sample([(n, m, k) for n in leaves for m in range(9) for k in range(2)], 16)
    for n, leaf in leaves.items():
        for m, spine in enumerate(spines):
            if m == 0 and n in (4, 7, 15):
                continue
            for k in range(2):
                if (n, m, k) not in cut:
                    # (one pair is crossed)
                    maker.cable(leaf, 33 + 2 * m + k, spine, 2 * n + 1 + (k ^ (n == 15 and m == 1)), rate)
    return maker.text()


if __name__ == "__main__":
    print(cluster())
