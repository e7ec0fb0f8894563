#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Measures, in the guest, what `make bench` reports; called by ./run.

A cell is one operation of one size over one path, for everybody who can do it.
All cells are gone through once per repetition, and within a cell everybody one
after the other, in an order that turns with each repetition: what else happens
on the machine then hits all alike. A first round, which is not counted, finds how
many iterations take a fraction of a second.

With --count only the cells of metric instr/op are measured, by ./count or perftest, in a
guest whose clock counts instructions; these are the same in every run. With --table they
are compared with what they were when it was written. Without --count, ./count measures those
of metric ns/op.

Devices are measured by perftest, each run by two new processes. All processes
are in the initial namespace and talk about their queue pairs over 127.0.0.1; which
way the data goes is decided by devices and GIDs alone.
"""

import argparse
import collections
import contextlib
import dataclasses
import fnmatch
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import nvme

HERE = os.path.dirname(os.path.abspath(__file__))
NS_A, NS_B = "shca-a", "shca-b"
# seconds after which a run of one cell has failed, longer on a slow machine (tests/guest/lib.sh)
LIMIT = 25 * int(os.environ.get("SHCA_SLOW", "1"))
LIMIT_PERCENT = 120 # of an operation's row in instructions.txt
# Of an operation's instructions, with all trace events of softhca enabled; where this is a bar
TRACED_PERCENT = 115
TRACED_BAR = {("device", 1 << 16), ("veth9000", 1 << 16)}
TRACED = "_TRACED"
# The same with `softhca trace record` beside it. It reads a hundred times a second, so this
# many repetitions are one, and their mean counts.
RECORDED = "_RECORDED"
RECORDED_REPS = 40
SECONDS = 0.35      # that a run should take, beside making its queue pairs
# A host that stops the guest for a second at a time spoils a run of that length. So an
# operation is timed in pieces of some milliseconds, too. Their lower quartile counts.
PIECES = 20

# path -> who -> (server, client); an end is (namespace, netdev, device, address)
ENDS = {
    "device": {
        "softhca": (("shca-a", "veth_a", "shca_a", "10.77.0.1"),) * 2,
        "rxe": (("", "veth_rs", "rxe_s", "10.89.0.1"),) * 2,
    },
    "veth9000": {
        "softhca": (("shca-b", "veth_b", "shca_b", "10.77.0.2"), ("shca-a", "veth_a", "shca_a", "10.77.0.1")),
        "rxe": (("", "veth_rb", "rxe_b", "10.87.0.2"), ("", "veth_ra", "rxe_a", "10.87.0.1")),
    },
    "veth1500": {
        "softhca": (("shca-b", "veth_d", "shca_d", "10.78.0.2"), ("shca-a", "veth_c", "shca_c", "10.78.0.1")),
        "rxe": (("", "veth_rd", "rxe_d", "10.88.0.2"), ("", "veth_rc", "rxe_c", "10.88.0.1")),
    },
}
# Only counted, beside veth9000: an InfiniBand link, and RoCE whose packets leave one by one
ENDS["ib9000"] = {"softhca": (("shca-b", "veth_j", "shib_j", None), ("shca-a", "veth_i", "shib_i", None))}
ENDS["wire9000"] = {"softhca": (("shca-b", "veth_f", "shca_f", "10.82.0.2"), ("shca-a", "veth_e", "shca_e", "10.82.0.1"))}
ONLY_COUNTED = ("ib9000", "wire9000")
ONLY_COUNTED_OPS = (("WRITE", 1 << 16), ("SEND", 8))
# NVMe: host and target are kernel consumers, at the ends of a veth pair of their own
# (nvme.py). The queue depth takes the place of the number of queue pairs.
NVME = "nvme9000"
NVME_CELLS = (("READ", 4096, 1), ("WRITE", 4096, 1), ("READ", 4096, 8), ("WRITE", 4096, 8),
              ("READ", 1 << 17, 4), ("WRITE", 1 << 17, 4))
NVME_COUNTED = {4096: 1000, 1 << 17: 400}     # I/Os
RXE_PEER = (("", "veth_rp", "rxe_p", "10.79.0.2"), (NS_A, "veth_p", "shca_p", "10.79.0.1"))
# What two processes that only compute take for a turn, as long as softhca's median
TURN_US = {"device": 6, "veth9000": 20}
TURNS = 1000
# The picture of a WRITE by its size (report.py) has these sizes of these paths
BY_SIZE_PATHS = ("device", "veth9000")
BY_SIZE = (8, 1 << 7, 1 << 11, 1 << 13, 1 << 16, 1 << 20, 1 << 23)
PATH_MTU = {"device": 4096, "veth9000": 4096, "veth1500": 1024, "ib9000": 4096, "wire9000": 4096}


@dataclasses.dataclass(frozen=True)
class Op:
    """How an operation is measured: perftest's program and words.

    least and most iterations of one run, which are a multiple of a list's length;
    environment of who posts (of no concern to rxe).
    """
    name: str
    metric: str
    program: str
    words: tuple = ()
    least: int = 5
    most: int = 1000000
    multiple: int = 1
    environment: tuple = ()

    def is_counted(self):
        """In the guest whose clock counts instructions."""
        return self.metric in ("instr/op", "bytes")


@dataclasses.dataclass(frozen=True)
class Cell:
    path: str
    op: Op
    size: int
    qps: int
    whos: tuple

    def name(self):
        return f"{self.path}/{self.op.name}/{self.size}/q{self.qps}/{self.op.metric.replace('/', '_per_')}"


def operations():
    ops = {}

    def add(key, *args, **kwargs):
        ops[key] = Op(*args, **kwargs)

    for name in ("write", "read", "send"):
        up = name.upper()
        add((up, "bw"), up, "MiB/s", f"ib_{name}_bw")
        add((up, "rate"), up, "op/s", f"ib_{name}_bw", ("-t", "128"), least=256)
        add((up, "lat"), up, "us", f"ib_{name}_lat", ("-U",), least=50, most=1000)
    # perftest posts lists for what the requester alone completes
    for name in ("write", "send"):
        up = name.upper()
        add((up, "list"), f"{up}_LIST16", "op/s", f"ib_{name}_bw", ("-t", "128", "-l", "16"),
            least=256, multiple=16)
        add((up, "poller"), f"{up}_POLLER", "op/s", f"ib_{name}_bw", ("-t", "128"), least=256,
            environment=(("SOFTHCA_POLLER", "20"),))
    add(("SEND", "event"), "SEND_EVENT", "us", "ib_send_lat", ("-U", "-e"), least=50, most=1000)
    add(("SEND", "event count"), "SEND_EVENT_LAT", "instr/op", "ib_send_lat", ("-U", "-e"), least=200)
    for name, how in (("ATOMIC_FA", "FETCH_AND_ADD"), ("ATOMIC_CS", "CMP_AND_SWAP")):
        add((name, "rate"), name, "op/s", "ib_atomic_bw", ("-A", how), least=256)
    # Each message finds a receive that was posted before the first was sent:
    # UD has no flow control, and perftest waits for ever for a lost one.
    add(("UD_SEND", "rate"), "UD_SEND", "op/s", "ib_send_bw", ("-c", "UD", "-r", "4096"),
        least=256, most=4096)
    add(("WRITE_TO_RXE", "bw"), "WRITE_TO_RXE", "MiB/s", "ib_write_bw")
    add(("WRITE_FROM_RXE", "bw"), "WRITE_FROM_RXE", "MiB/s", "ib_write_bw")
    add(("SEND_TO_RXE", "bw"), "SEND_TO_RXE", "MiB/s", "ib_send_bw")
    add(("SEND_FROM_RXE", "bw"), "SEND_FROM_RXE", "MiB/s", "ib_send_bw")
    for name in (*COUNTED, *SCALED, *(name + TRACED for name in COUNTED_TRACED),
                 *(name + RECORDED for name in COUNTED_RECORDED)):
        add((name, "count"), name, "bytes" if name == "QP_BYTES" else "instr/op", "count")
    for name in COUNTED:
        add((name, "pieces"), name, "ns/op", "count")
    for name in ("READ", "WRITE"):
        add((name, "nvme"), name, "op/s", "nvme", least=200, most=100000)
        add((name, "nvme count"), name, "instr/op", "nvme")
    add(("COPY", "bw"), "COPY", "MiB/s", "baseline")
    add(("STREAM", "bw"), "STREAM", "MiB/s", "baseline")
    add(("TURNS", "lat"), "TURNS", "us", "baseline")
    return ops


# operation -> sizes
COUNTED = {"SEND_EVENT": (8,), "SEND": (8, 1 << 16), "WRITE": (8, 1 << 16), "READ": (8, 1 << 16),
           "SEND_LIST16": (8,), "WRITE_LIST16": (8,), "ATOMIC_FA": (8,),
           "UD_SEND": (1024,)}
# the same with tracing on: operation -> paths and sizes
COUNTED_TRACED = {
    "SEND": (("device", 1 << 16), ("veth9000", 1 << 16)),
    "WRITE": (("device", 8), ("device", 1 << 16), ("veth9000", 8), ("veth9000", 1 << 16), ("veth1500", 1 << 16)),
    "READ": (("device", 1 << 16), ("veth9000", 1 << 16)),
}
COUNTED_RECORDED = {
    "SEND": (("device", 1 << 16), ("veth9000", 1 << 16)),
    "WRITE": (("device", 8), ("device", 1 << 16), ("veth9000", 8), ("veth9000", 1 << 16), ("veth1500", 1 << 16)),
}
# operation -> numbers of objects, of which the first two are counted in each check
SCALED = {"QP_WRITE": (1, 1000), "QP_LIFE": (1, 1000, 10000), "QP_BYTES": (1000,),
          "MR_LIFE": (1, 10000, 100000)}
OPS = operations()
DEVICES = ("softhca", "rxe")


def catalogue():
    """Every cell, and the names of those measured by default and in the quick form."""
    cells, usual, quick = [], set(), set()

    def add(path, op, size, qps=1, whos=DEVICES, default=False, in_quick=False):
        cell = Cell(path, OPS[op], size, qps, whos)
        cells.append(cell)
        if default:
            usual.add(cell)
        if in_quick:
            quick.add(cell)

    sizes = sorted([1 << i for i in range(3, 24, 2)] + [1 << 16, 1 << 20])
    for path in ENDS:
        if path in ONLY_COUNTED:
            continue
        wire = path != "device"
        for size in sizes:
            barred = size in (1 << 16, 1 << 20)
            one = size == 1 << 16 and path != "veth1500"
            shown = path in BY_SIZE_PATHS and size in BY_SIZE
            if wire:
                # (a super-packet of the ceiling has no less than two packets)
                whos = ("ceiling", "tcp") if size >= 1 << 13 else ("tcp",)
                add(path, ("STREAM", "bw"), size, whos=whos, default=barred or shown, in_quick=one)
            else:
                add(path, ("COPY", "bw"), size, whos=("memcpy",), default=barred, in_quick=one)
            for name in ("WRITE", "READ", "SEND"):
                add(path, (name, "bw"), size, default=barred or (shown and name == "WRITE"),
                    in_quick=one and name == "WRITE")
        full = path != "veth1500"
        for name in ("WRITE", "SEND"):
            add(path, (name, "rate"), 8, default=full, in_quick=path == "device" and name == "SEND")
            add(path, (name, "list"), 8, default=path == "veth9000")
            add(path, (name, "poller"), 8, default=full)
            add(path, (name, "lat"), 8, default=full, in_quick=full and name == "SEND")
        if full:
            add(path, ("TURNS", "lat"), 8, whos=("spin",), default=True)
        add(path, ("READ", "rate"), 8)
        add(path, ("READ", "lat"), 8)
        add(path, ("SEND", "event"), 8, default=full)
        add(path, ("SEND", "event count"), 8, default=full)
        add(path, ("ATOMIC_FA", "rate"), 8, default=full)
        add(path, ("ATOMIC_CS", "rate"), 8)
        add(path, ("UD_SEND", "rate"), 1024, default=full)
        for name in ("WRITE", "READ", "SEND"):
            for qps in (8, 64):
                add(path, (name, "bw"), 1 << 16, qps, default=full and name == "WRITE")
        for name, at in COUNTED.items():
            for size in at:
                add(path, (name, "count"), size, default=full or size > 8, in_quick=full or size > 8)
                add(path, (name, "pieces"), size)
    for name, at in COUNTED_TRACED.items():
        for path, size in at:
            add(path, (name + TRACED, "count"), size, whos=("softhca",), default=True, in_quick=True)
    for name, at in COUNTED_RECORDED.items():
        for path, size in at:
            add(path, (name + RECORDED, "count"), size, whos=("softhca",), default=True)
    for name, numbers in SCALED.items():
        for number in numbers:
            add("device", (name, "count"), 8, number, whos=("softhca",), default=True,
                in_quick=number in numbers[:2])
    for name, size, depth in NVME_CELLS:
        for what in "nvme", "nvme count":
            add(NVME, (name, what), size, depth, whos=(*DEVICES, "tcp"))
    for name in ("WRITE", "SEND"):
        for role in ("TO", "FROM"):
            add("veth9000", (f"{name}_{role}_RXE", "bw"), 1 << 16, whos=("softhca",), default=True)
    for path in ONLY_COUNTED:
        for name, size in ONLY_COUNTED_OPS:
            add(path, (name, "count"), size, whos=("softhca",), default=True, in_quick=True)
    return cells, usual, quick


def choose(patterns, quick_form, counted, of_nvme=None):
    """counted, of_nvme: which kind of cells; None: all."""
    cells, usual, quick = catalogue()
    if counted is not None:
        cells = [c for c in cells if c.op.is_counted() == counted]
    if of_nvme is not None:
        cells = [c for c in cells if (c.path == NVME) == of_nvme]
    if patterns:
        return [c for c in cells if any(fnmatch.fnmatchcase(c.name(), f"*{p}*") for p in patterns)]
    return [c for c in cells if c in (quick if quick_form else usual)]


class Failed(Exception):
    pass


class Late(Failed):
    """Not done in time."""


def end_of(text):
    """The last lines of an output, as one."""
    return " / ".join(line.strip() for line in text.splitlines()[-6:] if line.strip())[-300:]


def gid_index(device, address):
    """Index of the RoCE v2 GID of an IPv4 address; of an InfiniBand port the first."""
    if address is None:
        return 0
    wanted = bytes(10) + b"\xff\xff" + bytes(map(int, address.split(".")))
    port = f"/sys/class/infiniband/{device}/ports/1"
    for index in range(64):
        try:
            with open(f"{port}/gids/{index}") as gid, open(f"{port}/gid_attrs/types/{index}") as kind:
                if bytes.fromhex(gid.read().replace(":", "").strip()) == wanted and "v2" in kind.read():
                    return index
        except FileNotFoundError:
            break
        except OSError:
            pass    # an entry without a GID has no type
    raise Failed(f"{device} has no GID for {address}")


class Tracing:
    """All trace events of softhca go into a ring of their own, which nobody reads."""
    EVENTS = "/sys/kernel/tracing/instances/bench"

    def __enter__(self):
        if not os.path.isdir("/sys/kernel/tracing/instances"):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"], check=True)
        os.mkdir(self.EVENTS)
        with open(f"{self.EVENTS}/events/softhca/enable", "w") as enable:
            enable.write("1")

    def __exit__(self, *_):
        with open(f"{self.EVENTS}/events/softhca/enable", "w") as enable:
            enable.write("0")
        with open(f"{self.EVENTS}/per_cpu/cpu0/stats") as stats:
            entries = int(re.search(r"entries: (\d+)", stats.read())[1])
        os.rmdir(self.EVENTS)
        if not entries:
            raise Failed("no event was traced")


class Recording:
    """`softhca trace record` empties the ring into a file meanwhile."""

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="bench-record-")
        self.process = subprocess.Popen(["softhca", "trace", "record", "--size", "1024", "-o", self.file.name],
                                        stderr=subprocess.PIPE, text=True)
        if "recording" not in self.process.stderr.readline():
            raise Failed("softhca trace record does not begin")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate()[1]
        self.file.close()
        # What is not in the file has cost less.
        if self.process.returncode or "are lost" in said or "was not recorded" in said:
            raise Failed(f"softhca trace record: {said.strip()}")
        print(f"# {said.strip()}", flush=True)


class Machine:
    """What is asked often, and cheap ways to ask it: a new process costs most here."""

    def __init__(self):
        self.gids = {}
        self.inside = {}    # namespace -> a process that lives in it
        self.port = 20000

    def gid(self, end):
        if end not in self.gids:
            self.gids[end] = gid_index(end[2], end[3])
        return str(self.gids[end])

    def sent(self, end):
        """Bytes sent by the end's netdev so far."""
        ns = end[0]
        pid = "self"
        if ns:
            if ns not in self.inside:
                self.inside[ns] = subprocess.Popen(["ip", "netns", "exec", ns, "sleep", "infinity"])
                home = os.readlink("/proc/self/ns/net")
                while os.readlink(f"/proc/{self.inside[ns].pid}/ns/net") == home:
                    time.sleep(0.01)
            pid = self.inside[ns].pid
        with open(f"/proc/{pid}/net/dev") as table:
            for line in table:
                name, _, numbers = line.partition(":")
                if name.strip() == end[1]:
                    return int(numbers.split()[8])
        raise Failed(f"no netdev {end[1]}")

    def close(self):
        for process in self.inside.values():
            process.kill()
            process.wait()

    @staticmethod
    def listens(port):
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            try:
                with open(table) as lines:
                    if re.search(rf":{port:04X} \S+ 0A ", lines.read()):
                        return True
            except FileNotFoundError:
                pass
        return False


def perftest_pair(machine, op, ends, size, qps, mtu, n):
    """One run; the outputs of server and client."""
    machine.port += 1
    port = str(machine.port)

    def command(end):
        return [op.program, "-F", "-p", port, "-d", end[2], "-x", machine.gid(end), "-n", str(n),
                "-m", str(mtu),
                *(["-s", str(size)] if op.program != "ib_atomic_bw" else []),
                *(["-q", str(qps)] if qps > 1 else []),
                # one CQ for all receives: the default depth times 64 is more than rxe's has
                *(["-r", "128"] if qps > 1 and op.program == "ib_send_bw" else []), *op.words]

    server = subprocess.Popen(command(ends[0]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    client = None
    end = time.monotonic() + LIMIT
    try:
        while not machine.listens(machine.port):
            if server.poll() is not None:
                raise Failed(f"{' '.join(command(ends[0]))}: {end_of(server.stdout.read())}")
            if time.monotonic() > end:
                raise Failed("the server does not listen")
            time.sleep(0.01)
        client = subprocess.Popen([*command(ends[1]), "127.0.0.1"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, **dict(op.environment)})
        try:
            said = client.communicate(timeout=LIMIT)[0]
            answered = server.communicate(timeout=max(1, end - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command(ends[1]))}: not done after {LIMIT} s") from None
        if client.returncode or server.returncode:
            raise Failed(f"{' '.join(command(ends[1]))}: {end_of(said if client.returncode else answered)}")
        return answered, said
    finally:
        for process in (server, client):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def last_numbers(text, least):
    """perftest's result is its last line of numbers."""
    for line in reversed(text.splitlines()):
        words = line.split()
        if len(words) >= least and all(re.fullmatch(r"[0-9.]+|inf|-?nan", w) for w in words):
            return [float(w) for w in words]
    return None


def bandwidth(op, said, answered):
    """MiB/s or op/s of one run, and op/s."""
    def figures(text):
        numbers = last_numbers(text, 5)
        # bytes, iterations, peak, average, millions of messages per second
        if not numbers or not numbers[3] or not numbers[4] or numbers[4] == float("inf"):
            return None
        return numbers[3], numbers[4] * 1e6

    client = figures(said)
    if not client:
        raise Failed(f"no result: {end_of(said)}")
    result = client
    if op.program == "ib_send_bw" and "UD" in op.words:
        # The sender's completions say nothing about what arrived.
        server = figures(answered)
        if not server:
            raise Failed(f"no result: {end_of(answered)}")
        result = min(client, server)
    return (result[0] if op.metric == "MiB/s" else result[1]), result[1]


def latency(said):
    """Every sample in us; perftest gives half a round trip, of READ and atomics a whole one."""
    samples = [float(m) for m in re.findall(r"^\s*\d+, ([0-9.e+-]+)\s*$", said, re.M)]
    if not samples:
        raise Failed(f"no samples: {end_of(said)}")
    return samples


class Bench:
    def __init__(self, cells, reps, rxe):
        self.machine = Machine()
        self.reps = reps
        self.cells = [(c, [w for w in c.whos if rxe or not (w == "rxe" or "RXE" in c.op.name or
                                                            (c.path == NVME and w != "softhca"))]) for c in cells]
        self.cells = [(c, whos) for c, whos in self.cells if whos]
        self.results = collections.defaultdict(list)    # (cell, who) -> one figure per repetition
        self.samples = collections.defaultdict(list)    # of latency
        self.seconds = {}                               # of one iteration, the slowest seen
        self.failures = collections.defaultdict(list)
        self.nvme = None

    def close(self):
        self.machine.close()
        if self.nvme:
            self.nvme.close()

    def iterations(self, key):
        cell = key[0]
        op = cell.op
        if op.program == "nvme":
            return min(max(int(SECONDS / self.seconds[key]) if key in self.seconds else 0, op.least), op.most)
        n = op.least if cell.qps == 1 else max(op.least // cell.qps, 5)
        if op.metric == "MiB/s" and cell.size <= 1 << 16 and cell.qps == 1:
            n = max(n, 32)
        least = n
        if key in self.seconds:
            # perftest counts iterations of each queue pair
            n = int(SECONDS / self.seconds[key] / cell.qps)
        n = min(max(n, least), op.most)
        return -(-n // op.multiple) * op.multiple

    def ends(self, cell, who):
        name = cell.op.name
        if name.endswith("TO_RXE"):
            return RXE_PEER
        if name.endswith("FROM_RXE"):
            return RXE_PEER[::-1]
        return ENDS[cell.path][who]

    def baseline(self, cell, who):
        """Its output."""
        command = [f"{HERE}/baseline"]
        if who == "memcpy":
            command += ["copy", str(cell.size), str(SECONDS)]
        elif who == "spin":
            command += ["turns", str(TURN_US[cell.path]), str(TURNS)]
        else:
            to, source = ENDS[cell.path]["softhca"]
            command += [who, source[0], source[3], to[0], to[3], str(cell.size), str(SECONDS)]
            if who == "ceiling":
                command.append(str(PATH_MTU[cell.path]))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command)}: not done after {LIMIT} s") from None
        if done.returncode:
            raise Failed(done.stderr.strip())
        return done.stdout

    def fio(self, cell, who, number):
        """Seconds of an I/O."""
        if not self.nvme:
            self.nvme = nvme.Nvme()
        try:
            self.nvme.enter(who)
            return self.nvme.fio(cell.op.name.lower(), cell.size, cell.qps, number)
        except nvme.Failed as failure:
            raise Failed(str(failure)) from None

    def count(self, cell, who):
        """All repetitions at once."""
        if cell.op.program == "nvme":
            # The first of them makes what the others find: caches, streams.
            self.results[(cell, who)] = [self.fio(cell, who, NVME_COUNTED[cell.size]) * 1e9 for _ in range(self.reps + 1)][1:]
            return
        if cell.op.program != "count":
            to, source = self.ends(cell, who)
            # A nanosecond is an instruction there.
            for _ in range(self.reps):
                said = perftest_pair(self.machine, cell.op, (to, source), cell.size, cell.qps,
                                     PATH_MTU[cell.path], cell.op.least)[1]
                self.results[(cell, who)].append(statistics.median(latency(said)) * 1000)
            return
        recorded = cell.op.name.endswith(RECORDED)
        about = {TRACED: Tracing, RECORDED: Recording}
        suffix = next((s for s in about if cell.op.name.endswith(s)), "")
        reps = self.reps * (RECORDED_REPS if recorded else 1)
        # The guest's clock skips the time in which it waits for the host (the program is
        # read from its disk), which a busy host makes long: so a second time counts.
        for last in False, True:
            try:
                with about.get(suffix, contextlib.nullcontext)():
                    counts = self.run_count(cell, who, reps, LIMIT * (16 if recorded else 4),
                                            cell.op.name.removesuffix(suffix))
                break
            except Late:
                if last:
                    raise
        self.results[(cell, who)] = [statistics.fmean(counts)] if recorded else counts

    def run_count(self, cell, who, reps, limit, name):
        """What an operation takes in each repetition: nanoseconds, or instructions (count.c)."""
        to, source = self.ends(cell, who)
        command = [f"{HERE}/count", source[2], self.machine.gid(source), to[2], self.machine.gid(to),
                   name, str(cell.size), str(PATH_MTU[cell.path]), str(cell.qps), str(reps)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            raise Late(f"{' '.join(command)}: not done after {limit} s") from None
        if done.returncode:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
        return [float(line) for line in done.stdout.split()]

    def measure(self, cell, who, counted):
        key = (cell, who)
        op = cell.op
        if op.program == "count":
            if counted:
                pieces = sorted(self.run_count(cell, who, PIECES, LIMIT * 4, op.name))
                self.results[key].append(pieces[len(pieces) // 4])
            return
        if op.program == "baseline":
            said = self.baseline(cell, who)
            samples = latency(said) if op.metric == "us" else []
            if counted:
                self.results[key].append(statistics.median(samples) if samples else float(said))
                self.samples[key] += samples
            return
        n = self.iterations(key)
        if op.program == "nvme":
            seconds = self.fio(cell, who, n)
            self.seconds[key] = max(self.seconds.get(key, 0), seconds)
            if counted:
                self.results[key].append(1 / seconds)
            return
        ends = self.ends(cell, who)
        wire = cell.path != "device"
        before = [self.machine.sent(end) for end in ends] if wire else []
        answered, said = perftest_pair(self.machine, op, ends, cell.size, cell.qps, PATH_MTU[cell.path], n)
        if wire and cell.size * n >= 1 << 20:
            # A figure of traffic that took a fast path would be a wrong one.
            crossed = sum(self.machine.sent(end) for end in ends) - sum(before)
            if crossed < cell.size * n:
                raise Failed(f"only {crossed} bytes crossed {ends[1][1]}")
        if op.metric == "us":
            samples = latency(said)
            value = statistics.median(samples)
            seconds = 2 * sum(samples) / len(samples) / 1e6
            if counted:
                self.samples[key] += samples
        else:
            value, rate = bandwidth(op, said, answered)
            seconds = 1 / rate
        self.seconds[key] = max(self.seconds.get(key, 0), seconds)
        if counted:
            self.results[key].append(value)

    def repetition(self, rep):
        for cell, who in self.order(rep):
            key = (cell, who)
            if len(self.failures[key]) >= 2:
                continue
            try:
                self.measure(cell, who, rep > 0)
            except Failed as failure:
                self.failures[key].append(str(failure))
                print(f"failed: {who} {cell.name()}: {failure}", file=sys.stderr, flush=True)

    def order(self, rep):
        """Every cell with each driver. NVMe connects anew for each driver, so these have their cells in a row."""
        pairs = [(cell, who) for cell, whos in self.cells for who in (whos if rep % 2 else whos[::-1])]
        order = (*DEVICES, "tcp") if rep % 2 else ("tcp", *DEVICES[::-1])
        return ([pair for pair in pairs if pair[0].path != NVME] +
                sorted((pair for pair in pairs if pair[0].path == NVME), key=lambda pair: order.index(pair[1])))

    def count_all(self):
        for cell, who in self.order(1):
            try:
                self.count(cell, who)
            except Failed as failure:
                self.failures[(cell, who)].append(str(failure))
                print(f"failed: {who} {cell.name()}: {failure}", file=sys.stderr, flush=True)

    def rows(self):
        rows = []
        for cell, whos in self.cells:
            for who in whos:
                values, failures = self.results[(cell, who)], self.failures[(cell, who)]
                if not values and not failures:
                    continue
                samples = sorted(self.samples[(cell, who)])
                rows.append({
                    "who": who, "path": cell.path, "op": cell.op.name, "size": cell.size, "qps": cell.qps,
                    "metric": cell.op.metric,
                    **{name: round(of(values), 3) if values else None
                       for name, of in (("median", statistics.median), ("min", min), ("max", max))},
                    "p99": percentile(samples, 0.99), "p999": percentile(samples, 0.999),
                    "reps": len(values), "note": f"failed {len(failures)} times: {failures[-1]}" if failures else ""})
        return {"rows": rows}

    def has_failed(self):
        """What a peer cannot do is a note beside its row."""
        return any(failures and who == "softhca" for (_, who), failures in self.failures.items())


def own_counts(rows):
    """(name in the table, instructions) of each of softhca's rows.

    The least of the repetitions: what else the machine has to do only adds to the
    instructions that are counted. (Of bytes it can take away, too.)
    """
    return [(f"{row['path']}-{row['op']}-{row['size']}" + (f"-q{row['qps']}" if row["qps"] > 1 else ""),
             round(row["median" if row["metric"] == "bytes" else "min"])) for row in rows if row["who"] == "softhca" and row["reps"]]


def compare(rows, path):
    """Prints "ok" or "not ok" per row, as tests/guest/lib.sh. Return: whether all is well."""
    with open(path) as lines:
        table = dict(line.split() for line in lines if not line.startswith("#"))
    well = True
    for name, count in own_counts(rows):
        was = int(table.get(name, 0))
        ok = count <= was * LIMIT_PERCENT / 100
        well = well and ok
        print(f"{'ok' if ok else 'not ok'} {name} # {count}, row {was or 'missing'}", flush=True)
    return compare_traced(rows) and well


def compare_traced(rows):
    """What tracing costs, against the same operation without it. Return: whether all is well."""
    counts = {(row["path"], row["op"], row["size"]): row["min"] for row in rows if row["who"] == "softhca" and row["reps"]}
    well = True
    for (path, op, size), count in counts.items():
        plain = counts.get((path, op.removesuffix(TRACED), size))
        if not op.endswith(TRACED) or not plain:
            continue
        ok = (path, size) not in TRACED_BAR or count <= plain * TRACED_PERCENT / 100
        well = well and ok
        print(f"{'ok' if ok else 'not ok'} tracing.{path}-{op.removesuffix(TRACED)}-{size} # "
              f"{100 * count / plain - 100:+.1f}%: {count:.0f} of {plain:.0f}", flush=True)
    return well


def write_table(rows, path):
    with open(path, "w") as out:
        out.write("# Instructions of an operation of softhca, both ends, user space and kernel (6.12):\n"
                  "# see docs/performance.md. Made by: scripts/bench --update-instructions\n")
        for name, count in own_counts(rows):
            out.write(f"{name:32} {count:7}\n")
    return True


def percentile(samples, part):
    """The smallest sample that at least this part of all is not above; None without samples."""
    if not samples:
        return None
    return round(samples[max(0, -(-len(samples) * int(part * 1000) // 1000) - 1)], 3)


def write_json(path, data):
    with open(path + ".new", "w") as out:
        json.dump(data, out, indent=1)
        out.write("\n")
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rxe", choices=("yes", "no"), default="yes", help="is Soft-RoCE there")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few cells")
    parser.add_argument("--list", action="store_true", help="only name the cells")
    parser.add_argument("--out", default="bench.json")
    parser.add_argument("patterns", nargs="*", help="only the cells whose name contains one (as in a shell)")
    parser.add_argument("--count", action="store_true", help="instructions, not times")
    parser.add_argument("--table", help="of instructions as they were: fail where one has grown by more than a fifth")
    parser.add_argument("--nvme", action="store_true", help="NVMe, which the others leave out where Soft-RoCE is there")
    parser.add_argument("--update", action="store_true", help="write that table instead")
    args = parser.parse_args()
    of_nvme = None if args.list or args.rxe == "no" else args.nvme
    cells = choose(args.patterns, args.quick, None if args.list and not args.count else args.count, of_nvme)
    if not cells:
        sys.exit(f"no cell matches {' '.join(args.patterns)}; the names are\n" +
                 "\n".join(c.name() for c in catalogue()[0]))
    if args.list:
        print("\n".join(c.name() for c in cells))
        return
    bench = Bench(cells, args.reps, args.rxe == "yes" or args.nvme)
    if args.count:
        bench.count_all()
        write_json(args.out, bench.rows())
        failed = bench.has_failed()
        if args.table:
            failed |= not (write_table if args.update else compare)(bench.rows()["rows"], args.table)
        bench.close()
        sys.exit(failed)
    try:
        for rep in range(args.reps + 1):
            start = time.monotonic()
            bench.repetition(rep)
            what = f"repetition {rep} of {args.reps}" if rep else "warm-up"
            print(f"{what}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            if rep:
                write_json(args.out, bench.rows())
    finally:
        bench.close()
    if bench.has_failed():
        sys.exit(1)


if __name__ == "__main__":
    main()
