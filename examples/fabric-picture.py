#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Draws an InfiniBand fabric, of softhca-fabric or of real switches, as ibnetdiscover and
perfquery see it, in the language of graphviz:

    fabric-picture.py -C DEVICE | dot -Tsvg >fabric.svg

A cable is as thick as its share of the bytes that the busiest one has carried. One is red
where packets had to wait for credits: PortXmitWait, in percent of all waits. A cable that an
earlier ibnetdiscover had seen (--before FILE) and that is gone is dashed.
"""
import argparse
import re
import subprocess
import sys


def read(text):
    """Return: nodes, name -> (type, description, LID), and cables, a set of ((name, port), (name, port)), the lesser end first."""
    nodes, cables, name = {}, set(), None
    for line in text.splitlines():
        if node := re.match(r'(Switch|Ca|Rt)\s+\d+ "([^"]*)"\s+# "([^"]*)"(?:.* lid (\d+))?', line):
            kind, name, description, lid = node.groups()
            nodes[name] = kind, description, int(lid or 0)
        elif cable := re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]*)"\[(\d+)\]', line):
            cables.add(tuple(sorted([(name, int(cable[1])), (cable[2], int(cable[3]))])))
    return nodes, cables


def said(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def counters(local, lid, port):
    """Those of a port of a switch: bytes that it has sent and received, and its ticks of waiting."""
    text = said("perfquery", *local, "-x", str(lid), str(port)) + said("perfquery", *local, str(lid), str(port))
    value = {}
    for key, number in re.findall(r"^(Port\w+):\.*(\d+)$", text, re.M):
        value[key] = max(value.get(key, 0), int(number))
    return 4 * (value.get("PortXmitData", 0) + value.get("PortRcvData", 0)), value.get("PortXmitWait", 0)


def quoted(text):
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def draw(nodes, cables, gone, load):
    """Return: the lines. @load has (bytes, ticks) of each cable."""
    most = max([part[0] for part in load.values()] + [1])
    waits = max(sum(part[1] for part in load.values()), 1)
    yield "graph fabric {"
    yield "  layout=dot; rankdir=BT; ranksep=1.2; node [fontname=sans, fontsize=11]; edge [fontname=sans, fontsize=8];"
    for name, (kind, description, lid) in sorted(nodes.items()):
        shape = "shape=box, style=filled, fillcolor=lightsteelblue" if kind == "Switch" else "shape=ellipse"
        label = f"{description}\nLID {lid}" if kind == "Switch" else description
        yield f"  {quoted(name)} [{shape}, label={quoted(label)}];"
    hosts = " ".join(quoted(name) for name in sorted(nodes) if nodes[name][0] != "Switch")
    yield f"  {{ rank=same; {hosts} }}"
    for cable in sorted(cables | gone):
        # (a host is below its switch)
        low, high = sorted(cable, key=lambda end: nodes.get(end[0], ("Switch",))[0] == "Switch")
        words = [f"taillabel={low[1]}", f"headlabel={high[1]}"]
        if cable in gone:
            words += ["style=dashed", "color=gray"]
        else:
            nr, ticks = load[cable]
            words.append(f"penwidth={1 + 7 * nr / most:.1f}")
            words.append(f"color={quoted(f'0 {min(1, 3 * ticks / waits):.2f} {0.9 if ticks else 0.3}')}")
            words.append(f"label={quoted(f' {nr / 1e6:.1f} MB' + (f', {100 * ticks / waits:.0f}% of waits' if ticks else ''))}")
        yield f"  {quoted(low[0])} -- {quoted(high[0])} [{', '.join(words)}];"
    yield "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-C", dest="device", help="the RDMA device to ask by (default: the first one)")
    parser.add_argument("--before", metavar="FILE", help="what ibnetdiscover printed earlier")
    args = parser.parse_args()
    local = ["-C", args.device] if args.device else []
    nodes, cables = read(said("ibnetdiscover", *local))
    gone = set()
    if args.before:
        with open(args.before, encoding="utf-8") as file:
            were, had = read(file.read())
        nodes, gone = {**were, **nodes}, had - cables
    load = {}
    for cable in cables:
        # each cable by one switch that it is at
        name, port = next((end for end in cable if nodes[end[0]][0] == "Switch"), (None, 0))
        load[cable] = counters(local, nodes[name][2], port) if name else (0, 0)
    print(*draw(nodes, cables, gone, load), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
