#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Measures what bytes and packets cost on this CPU, without a guest: `make bench BENCH=native`.

In the build root it builds tests/userspace/core/native.c (ICRC, VCRC, copies, headers, beside
memcpy() and the CRC-32 of zlib and isa-l) and bench.c (the protocol), both with the kernel's
flags, runs them in turn, prints tables and writes build/bench/native.json. Called by scripts/bench.

  native.py [--reps N]     N runs of each program (default 5)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from report import size_text, table

TOP = Path(__file__).resolve().parent.parent.parent
CORE = TOP / "build/core"

# Bytes before the payload, which all methods read, too.
BTH = 12

# Two equal methods differ by this much in one run.
NOISE = 0.02

# What the tables call the methods of native.c.
WHO = {
    "memcpy": "memcpy()",
    "rep-movsb": "rep movsb: the kernel's memcpy()",
    "zlib": "CRC of zlib",
    "isa-l": "CRC of isa-l",
    "tables": "CRC by tables",
    "shifts": "CRC by shifts (core/crc_fold.c)",
    "clmul": "CRC by PCLMULQDQ, 128 bits",
    "clmul-512": "CRC by VPCLMULQDQ, 512 bits",
    "icrc-crypto": "ICRC, kernel 6.12 (crypto library)",
    "icrc-library": "ICRC, kernel 7.2 (crc32_le())",
    "packet-crypto": "copy and ICRC, kernel 6.12",
    "packet-library": "copy and ICRC, kernel 7.2",
    "one-pass": "copy and CRC in one pass, 512 bits",
    "vcrc": "VCRC (ib/core/ib_wire.c)",
    "headers": "headers of a WRITE, made and read",
}


def build():
    command = ["make", "-s", "-C", TOP / "tests/userspace/core", f"O={CORE}", "native"]
    subprocess.run(command, check=True, stdout=sys.stderr)


def lines(command):
    done = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(reps):
    """Return: rows of native.c, rows of bench.c. Each has a median of medians, the least min, the largest max."""
    isal = sorted((TOP / "build/isal/root").glob("usr/lib/*/libisal.so.2"))
    programs = [CORE / "native", *isal[:1]], [CORE / "native-bench", "--json"]
    runs = {}
    for rep in range(reps):
        for program in programs if rep % 2 == 0 else programs[::-1]:
            for row in lines(program):
                key = row.get("case") or (row["who"], row["size"], row["offset"], row["where"])
                runs.setdefault(key, []).append(row)
    rows = []
    for same in runs.values():
        least = "ns" if "ns" in same[0] else "min"
        row = {k: v for k, v in same[0].items() if k not in ("ns", "reps")}
        row["median"] = round(statistics.median(r["median"] for r in same), 2)
        row["min"] = min(r[least] for r in same)
        row["max"] = max(r["max"] for r in same)
        row["runs"] = len(same)
        rows.append(row)
    return [r for r in rows if r["bench"] == "native"], [r for r in rows if r["bench"] == "core"]


def cpu():
    try:
        names = [line.partition(":")[2].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else os.uname().machine


def print_bytes(rows):
    by = {(r["who"], r["size"], r["offset"], r["where"]): r for r in rows}
    sizes = sorted({r["size"] for r in rows})
    for where, offset in dict.fromkeys((r["where"], r["offset"]) for r in rows):
        print(f"\nns for a packet, data in {where}, {offset % 64} bytes from a cache line, BTH and payload; median, and of the largest min, max and rate\n")
        body = []
        for who, text in WHO.items():
            found = [by.get((who, size, offset, where)) for size in sizes]
            if not found[-1]:
                continue
            last = found[-1]
            rate = "" if who == "headers" else f"{(sizes[-1] + BTH) / last['median']:.1f}"
            body.append([text, *(f"{r['median']:.1f}" for r in found), f"{last['min']:.1f}", f"{last['max']:.1f}", rate])
        table(["", *map(size_text, sizes), "min", "max", "GB/s"], body, 1)


def print_core(rows):
    print("\nthe core: ns from post to completion, requester and responder, headers made and read, no bytes moved\n")
    body = [[r["title"], f"{r['median']:.1f}", f"{r['min']:.1f}", f"{r['max']:.1f}", r["unit"]] for r in rows]
    table(["", "median", "min", "max", ""], [line[:4] + ["a " + line[4]] for line in body], 1)


def bars(rows, core):
    """(what, value, bar, whether more is better)"""
    by = {(r["who"], r["size"], r["offset"], r["where"]): r["median"] for r in rows}
    for where, offset in dict.fromkeys((r["where"], r["offset"]) for r in rows):
        at = 4096, offset, where
        place = f"4 KiB, {where}, offset {offset}"
        for kind, text in ("crypto", "6.12"), ("library", "7.2"):
            if ("isa-l", *at) in by:
                yield f"rate of the ICRC / isa-l, kernel {text}, {place}", by["isa-l", *at] / by[f"icrc-{kind}", *at], 1, True
            copy = min(by["memcpy", *at], by["rep-movsb", *at])
            yield f"two copies / copy and ICRC, kernel {text}, {place}", 2 * copy / by[f"packet-{kind}", *at], 0.7, True
    send = [r["median"] for r in core if r["case"] == "send-8"]
    yield "SEND 8 B through requester and responder, ns", send[0], 150, False


def print_bars(rows, core):
    print()
    body = []
    for what, value, bar, more in bars(rows, core):
        met = value >= bar * (1 - NOISE) if more else value <= bar
        body.append([what, f"{value:.2f}" if more else f"{value:.0f}", f"{'at least' if more else 'at most'} {bar:g}", "met" if met else "MISSED"])
    table(["", "is", "target", ""], body, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=5)
    args = parser.parse_args()
    build()
    rows, core = measured(args.reps)
    print(f"{cpu()}; medians of {args.reps} runs of each program")
    print_bytes(rows)
    print_core(core)
    print_bars(rows, core)
    out = TOP / "build/bench/native.json"
    out.write_text(json.dumps({"cpu": cpu(), "rows": rows, "core": core}, indent=1) + "\n")


if __name__ == "__main__":
    main()
