#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Measures, in the guest, what arrives over bad networks: `make bench BENCH=badnet`.

Networks are veth pairs with qdiscs of tc at both ends. A netem that loses a batch would
lose many packets as one, so gso_max_segs is 1 on every netdev, without losses too, and for
both drivers: what is lost is one packet. After each run the counts of `tc -s qdisc` must
be what was asked for, within five standard deviations.

Of the guest's clock see scripts/bench: as a rule an instruction is a nanosecond. What a
time-out costs beside a packet depends on the CPU, and a busy host has a slow one; this is
one CPU that executes a billion instructions a second on each host.

A row is badnet/PATH/OPERATION/NETWORK. All rows are gone through once per repetition, and
within a row everybody directly one after the other, in an order that turns. So ratios hold
on a busy machine, too. The table has medians: each beside who measured it without losses,
and beside Soft-RoCE on the same network. --judge compares with the bars of BARS.
"""

import argparse
import collections
import contextlib
import dataclasses
import fnmatch
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = 65536
PATH_MTU = {"veth1500": 1024, "veth9000": 4096}
MIB = 1 << 20
ROUNDS = 3000       # of 8 B, a sample each
NO_LIMIT = 1 << 40
RATE = 200          # Mbit/s of the long ways
BOTTLENECK = 100    # Mbit/s of the shared link
GREEDY = 4          # queue pairs, or loops that only compute, beside the round trips
TRACING = "/sys/kernel/tracing"
TRACE = f"{TRACING}/instances/badnet"
SHARERS = 8         # queue pairs on it
FOR_EVER = 3600     # seconds: until it is ended
WARM = 0.3          # seconds until the greedy ones are at work
LIMIT = 300         # more seconds than a run needs, on any clock
SAMPLE = 0.25       # seconds between two looks at its queue

# path -> who -> (responder, requester); an end is (namespace, netdev, device, address)
PEER = {"veth9000": (("", "veth_rp", "rxe_p", "10.79.0.2"), ("shca-a", "veth_p", "shca_p", "10.79.0.1")),
        "veth1500": (("", "veth_rq", "rxe_q", "10.80.0.2"), ("shca-a", "veth_q", "shca_q", "10.80.0.1"))}
ENDS = {path: {**bench.ENDS[path], "to rxe": PEER[path], "from rxe": PEER[path][::-1]} for path in PATH_MTU}
OWN = ("softhca", "rxe")
ALL = OWN + ("to rxe", "from rxe")


@dataclasses.dataclass(frozen=True)
class Network:
    """tc: words after "tc qdisc add dev NETDEV"; one: at the requester's end only.

    What is asked for: loss, corrupt, duplicate, reorder, each a part of the packets.
    """
    name: str
    tc: tuple = ()
    one: bool = False
    loss: float = 0
    corrupt: float = 0
    duplicate: float = 0
    reorder: float = 0
    seconds: float = 3
    warm: float = 0.05
    messages: int = 600     # no longer than these take
    timeout: int = 14
    qps: int = 1
    beside: str = ""        # round trips: what is at work meanwhile; "nothing": the trace is, too


def far(ms):
    return Network(f"far{ms}ms", (f"root handle 1: tbf rate {RATE}mbit burst 128kb limit 64mb",
                                  f"parent 1:1 handle 2: netem delay {ms}ms loss 0.01% limit 20000"),
                   loss=0.0001, seconds=5, warm=2, messages=0, timeout=17)


# The minimum and maximum of the queue are 2.4 and 24 ms of the rate: what heeds marks settles
# far below what only drops hold back.
SHARED = (f"root handle 1: tbf rate {BOTTLENECK}mbit burst 64kb limit 10mb",
          "parent 1:1 handle 2: red limit 2mb min 30kb max 300kb avpkt 1000 burst 50 ecn "
          f"bandwidth {BOTTLENECK}mbit probability 0.1")
NETWORKS = {network.name: network for network in (
    Network("lossless"),
    Network("alone", beside="nothing"),
    Network("busy", beside="loops"),
    Network("greedy", beside="streams"),
    Network("loss0.1", ("root netem loss 0.1% limit 20000",), loss=0.001),
    Network("loss1", ("root netem loss 1% limit 20000",), loss=0.01),
    Network("loss5", ("root netem loss 5% limit 20000",), loss=0.05),
    Network("delay", ("root netem delay 1ms limit 20000",)),
    Network("reorder", ("root netem delay 1ms reorder 25% limit 20000",), reorder=0.25,
            # (acknowledgements come for many messages at a time, so fewer would vary by 4%)
            seconds=8, messages=2400),
    Network("duplicate", ("root netem duplicate 1% limit 20000",), duplicate=0.01),
    Network("corrupt", ("root netem corrupt 0.5% limit 20000",), corrupt=0.005),
    far(5), far(50),
    Network("shared-off", SHARED, one=True, seconds=10, warm=2, messages=0, qps=SHARERS),
    Network("shared-on", SHARED, one=True, seconds=10, warm=2, messages=0, qps=SHARERS),
)}


@dataclasses.dataclass(frozen=True)
class Row:
    path: str
    op: str
    network: str
    whos: tuple

    def name(self):
        return f"badnet/{self.path}/{self.op}/{self.network}"


def rows():
    """In the order of networks, each of which is made once per repetition."""
    found = []
    for path in PATH_MTU:
        for network in NETWORKS:
            if network.startswith("shared"):
                if path == "veth1500":
                    # (Soft-RoCE ignores CNPs: with it at one end nothing is controlled)
                    found.append(Row(path, "WRITE", network, ALL if network == "shared-off" else OWN))
                continue
            # netem changes only what lies in an skb's head, and softhca's packets of more than
            # 2 KiB lie in pages
            if path == "veth9000" and network in ("delay", "duplicate", "corrupt", "far5ms", "far50ms"):
                continue
            if NETWORKS[network].beside:
                found.append(Row(path, "ROUND", network, ("softhca",)))
                continue
            mixed = path == "veth1500" and not network.startswith(("delay", "far"))
            for op in ("WRITE", "READ", "SEND"):
                found.append(Row(path, op, network, ALL if mixed else OWN))
            if network in ("lossless", "loss1") and path == "veth1500":
                found.append(Row(path, "ROUND", network, OWN))
    return found


class Tc:
    """The qdiscs of an end."""

    def __init__(self, end):
        self.namespace = ["-n", end[0]] if end[0] else []
        self.netdev = end[1]

    def run(self, *words):
        subprocess.run(["tc", *self.namespace, *words], check=True, stdout=subprocess.DEVNULL)

    def make(self, network, said):
        for words in network.tc:
            line = f"qdisc add dev {self.netdev} {words}"
            if said is not None:
                said.append(" ".join(["tc", *self.namespace, line]))
            self.run(*line.split())

    def remove(self):
        subprocess.run(["tc", *self.namespace, "qdisc", "del", "dev", self.netdev, "root"], check=False,
                       stderr=subprocess.DEVNULL)

    def counts(self):
        """kind -> counts"""
        done = subprocess.run(["tc", *self.namespace, "-s", "-j", "qdisc", "show", "dev", self.netdev], check=True,
                              capture_output=True, text=True)
        return {qdisc["kind"]: qdisc for qdisc in json.loads(done.stdout)}


def counter(device, name):
    with open(f"/sys/class/infiniband/{device}/ports/1/hw_counters/{name}") as file:
        return int(file.read())


class Counts:
    """What qdiscs and devices of both ends have counted since this was made."""

    def __init__(self, network, ends):
        self.network = network
        self.ends = ends
        self.tcs = [Tc(end) for end in ends]
        self.before = self.read()

    def read(self):
        total = collections.Counter()
        for end, tc in zip(self.ends, self.tcs):
            netem = tc.counts().get("netem", {})
            for name in ("packets", "drops", "requeues"):
                total[name] += netem.get(name, 0)
            softhca = end[2].startswith("shca")
            total["sent"] += counter(end[2], "tx_packets" if softhca else "sent_pkts")
            if softhca:
                total["icrc"] += counter(end[2], "rx_icrc_errors")
        return total

    def judge(self):
        """(part of the packets that the network hit, None or what is wrong with it)"""
        seen = self.read()
        seen.subtract(self.before)
        network = self.network
        offered = seen["packets"] + seen["drops"]
        # what it does, how often, of how many, and how much of that can be seen
        if network.duplicate:
            what, asked, hits, among = "duplicated", network.duplicate, seen["packets"] - seen["sent"], seen["sent"]
        elif network.reorder:
            what, asked, hits, among = "put first", network.reorder, seen["requeues"], offered
        elif network.corrupt:
            what, asked, hits, among = "with a wrong ICRC", network.corrupt, seen["icrc"], offered
        else:
            what, asked, hits, among = "lost", network.loss, seen["drops"], offered
        if not network.tc or network.one:
            return 0, None
        if network.corrupt and not all(end[2].startswith("shca") for end in self.ends):
            return network.corrupt, None    # Soft-RoCE does not count them
        if not among:
            return 0, "no packet has passed netem"
        margin = 5 * math.sqrt(asked * (1 - asked) * among) + 5
        least = asked * among - margin
        if network.corrupt:
            least = asked * among * 0.8 - margin    # in other headers: dropped before the ICRC is looked at
        if network.reorder:
            least = 0.1 * among     # one is put first only where another waits (gap 1)
        if not least <= hits <= asked * among + margin:
            return hits / among, f"{hits} of {among} {what}, asked for {asked:g}"
        if what != "lost" and seen["drops"]:
            return hits / among, f"{seen['drops']} dropped"
        return hits / among, None


class Watch:
    """Of the shared link's queue: the mean of its bytes, and how much has left it."""

    def __init__(self, end, network):
        self.tc = Tc(end)
        self.seconds = network.seconds
        self.until = time.monotonic() + network.warm + network.seconds
        self.begin = time.monotonic() + network.warm + 0.3  # the program's start

    def run(self):
        samples = []
        time.sleep(max(0, self.begin - time.monotonic()))
        first, start = self.tc.counts(), time.monotonic()
        while time.monotonic() < self.until:
            samples.append(self.tc.counts()["tbf"]["backlog"])
            time.sleep(SAMPLE)
        last, end = self.tc.counts(), time.monotonic()
        sent = last["tbf"]["bytes"] - first["tbf"]["bytes"]
        red = {name: last["red"].get(name, 0) - first["red"].get(name, 0) for name in ("marked", "early", "pdrop")}
        return {"backlog": statistics.mean(samples), "used": sent * 8 / (end - start) / (BOTTLENECK * 1e6),
                "marked": red["marked"], "dropped": red["early"] + red["pdrop"]}


def jain(values):
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0


class Trips:
    """How long packets of 8 B took from one softhca to the other, by the trace.

    The rest of a round trip is a process that is woken and runs. On a machine with other work
    the scheduler makes that as long as it likes, with or without packets.
    """
    EVENTS = ("shca_tx", "shca_rx")

    def __enter__(self):
        if not os.path.isdir(os.path.dirname(TRACE)):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
        os.mkdir(TRACE)
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", "8192")
        for event in self.EVENTS:
            self.write(f"events/softhca/{event}/filter", "paylen == 8")
            self.write(f"events/softhca/{event}/enable", "1")
        return self

    @staticmethod
    def write(name, value):
        with open(f"{TRACE}/{name}", "w") as file:
            file.write(value)

    def read(self):
        sent, took = {}, []
        with open(f"{TRACE}/trace") as file:
            for line in file:
                found = re.search(r" ([0-9.]+): shca_([rt])x: .* dqpn=(\S+) psn=(\d+)", line)
                if not found:
                    continue
                at, packet = float(found[1]) * 1e6, found[3] + "/" + found[4]
                if found[2] == "t":
                    sent[packet] = at
                elif packet in sent:
                    took.append(at - sent.pop(packet))
        took.sort()
        if len(took) < ROUNDS // 3:
            raise bench.Failed(f"the trace has {len(took)} packets")
        return {"trip_us": statistics.median(took), "trip_p99_us": took[len(took) - 1 - len(took) // 100]}

    def __exit__(self, *_):
        for event in self.EVENTS:
            self.write(f"events/softhca/{event}/enable", "0")
        os.rmdir(TRACE)


class Badnet:
    def __init__(self, args, chosen):
        self.machine = bench.Machine()
        self.args = args
        self.rows = [(row, tuple(w for w in row.whos if args.rxe == "yes" or w == "softhca")) for row in chosen]
        self.results = collections.defaultdict(list)    # (path, op, network, who) -> runs
        self.lines = {}                                 # network -> exact tc lines
        self.failures = []

    def complain(self, text):
        self.failures.append(text)
        print(f"failed: {text}", file=sys.stderr, flush=True)

    def prepare(self):
        for end in {end for path in PATH_MTU for row, whos in self.rows if row.path == path
                    for who in whos for end in ENDS[path][who]}:
            subprocess.run(["ip", *(["-n", end[0]] if end[0] else []), "link", "set", "dev", end[1],
                            "gso_max_segs", "1"], check=True)

    def control(self, who, value):
        """Of congestion, at softhca's ends. Return: whether there is such a thing."""
        if who != "softhca":
            return value == "off"
        there = True
        for namespace, _, device, _ in ENDS["veth1500"][who]:
            words = self.args.control.format(device=device, value=value).split()
            there &= subprocess.run(["ip", "netns", "exec", namespace, *words], check=False,
                                    capture_output=True).returncode == 0
        return there or value == "off"

    def program(self, row, network, ends, *words):
        server, client = ends
        command = [f"{HERE}/goodput", *map(str, words), "-m", str(PATH_MTU[row.path]), "-T", str(network.timeout),
                   client[2], self.machine.gid(client), server[2], self.machine.gid(server)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def goodput(self, row, network, ends):
        """A run's process."""
        seconds, messages, size = network.seconds, network.messages or NO_LIMIT, SIZE
        if row.op == "ROUND":
            seconds, messages, size = 10 * seconds, ROUNDS if network.loss else ROUNDS // 3, 8
        return self.program(row, network, ends, "-o", row.op, "-q", network.qps, "-s", size, "-t", seconds,
                            "-w", network.warm, "-n", messages)

    @contextlib.contextmanager
    def beside(self, row, network, ends):
        """Others are at work while this lasts."""
        others = []
        if network.beside == "loops":
            others = [subprocess.Popen([sys.executable, "-c", "while True: pass"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True) for _ in range(GREEDY)]
        elif network.beside == "streams":
            others = [self.program(row, network, ends, "-o", "WRITE", "-q", GREEDY, "-s", SIZE, "-t", FOR_EVER)]
        try:
            time.sleep(WARM if others else 0)
            yield
            for process in others:
                if process.poll() is not None:
                    raise bench.Failed(bench.end_of("".join(process.communicate())))
        finally:
            for process in others:
                process.kill()
                process.communicate()

    @staticmethod
    def show_state(end):
        """Of an end that does not come to its end: queue pairs, counters, the queue below."""
        inside = ["ip", "netns", "exec", end[0]] if end[0] else []
        for words in ("rdma -dd resource show qp", f"rdma -p statistic show link {end[2]}",
                      f"tc -s qdisc show dev {end[1]}"):
            subprocess.run([*inside, *words.split()], check=False, stdout=sys.stderr)

    def run(self, row, network, who):
        ends = ENDS[row.path][who]
        counts = Counts(network, ends)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.beside(row, network, ends))
            trips = stack.enter_context(Trips()) if network.beside else None
            process = self.goodput(row, network, ends)
            watched = Watch(ends[1], network).run() if network.one else {}
            try:
                out, err = process.communicate(timeout=10 * (network.seconds + network.warm) + LIMIT)
            except subprocess.TimeoutExpired:
                for end in ends:
                    self.show_state(end)
                process.kill()
                process.communicate()
                raise bench.Failed("not done in time") from None
            trips = trips.read() if trips else {}
        if process.returncode:
            raise bench.Failed(bench.end_of(out + err))
        result = {**json.loads(out), **watched, **trips}
        result["hit"], wrong = counts.judge()
        if wrong:
            raise bench.Failed(wrong)
        if row.op != "ROUND":
            result["mib_s"] = result["bytes"] / result["seconds"] / MIB
            result["jain"] = jain(result["flows"])
        return result

    def repetition(self, rep):
        for path, name in dict.fromkeys((row.path, row.network) for row, _ in self.rows):
            here = [(row, whos) for row, whos in self.rows if (row.path, row.network) == (path, name)]
            network = NETWORKS[name]
            said = [] if name not in self.lines else None
            tcs = []
            for pair in dict.fromkeys(ENDS[path][who] for _, whos in here for who in whos):
                for at, end in enumerate(pair):
                    if end[1] in [tc.netdev for tc in tcs] or network.one and not at:
                        continue
                    tcs.append(Tc(end))
                    tcs[-1].make(network, said)
            if said is not None:
                self.lines[name] = said
            for row, whos in here:
                for who in whos if rep % 2 else whos[::-1]:
                    if name.startswith("shared") and not self.control(who, name.partition("-")[2]):
                        continue
                    try:
                        self.results[(path, row.op, name, who)].append(self.run(row, network, who))
                    except bench.Failed as failure:
                        self.complain(f"{who} {row.name()}: {failure}")
            for tc in tcs:
                tc.remove()
            self.write()

    def write(self):
        bench.write_json(self.args.out, {"tc": self.lines, "failures": self.failures, "runs": [
            {"path": path, "op": op, "network": network, "who": who, "runs": runs}
            for (path, op, network, who), runs in self.results.items()]})

    def read(self, file):
        with open(file) as data:
            data = json.load(data)
        self.lines, self.failures = data["tc"], data["failures"]
        for row in data["runs"]:
            self.results[(row["path"], row["op"], row["network"], row["who"])] = row["runs"]

    # ---- what came out

    def median(self, path, op, network, who, what="mib_s"):
        values = [run[what] for run in self.results[(path, op, network, who)] if what in run]
        return statistics.median(values) if values else None

    def report(self):
        """Return: whether all is well."""
        print("gso_max_segs is 1 on every netdev; besides:")
        for name, lines in self.lines.items():
            print("\n".join([f"{name}:"] + [f"    {line}" for line in lines or ["no qdisc"]]))
        print()
        self.table()
        for failure in self.failures:
            print(f"failed: {failure}")
        met = self.judge() if self.args.judge else True
        return met and not self.failures

    def table(self):
        lines = []
        for row, whos in self.rows:
            for who in whos:
                runs = self.results[(row.path, row.op, row.network, who)]
                if not runs:
                    continue
                what = "median_us" if row.op == "ROUND" else "mib_s"
                value = self.median(row.path, row.op, row.network, who, what)
                own = self.median(row.path, row.op, "lossless", who, what)
                rxe = self.median(row.path, row.op, row.network, "rxe", what)
                values = [run[what] for run in runs]
                notes = sorted({run["error"] for run in runs if run["error"]})
                if row.op == "ROUND":
                    notes.append(f"us; p99 {self.median(row.path, row.op, row.network, who, 'p99_us'):.0f}")
                    if "trip_us" in runs[0]:
                        notes.append("a packet {trip_us:.0f}, p99 {trip_p99_us:.0f}".format(**{
                            name: self.median(row.path, row.op, row.network, who, name)
                            for name in ("trip_us", "trip_p99_us")}))
                if "backlog" in runs[0]:
                    notes.append("used {used:.2f}, backlog {backlog:,.0f}, Jain {jain:.3f}, marked {marked:.0f}, "
                                 "dropped {dropped:.0f}".format(**{
                                     name: self.median(row.path, row.op, row.network, who, name)
                                     for name in ("used", "backlog", "jain", "marked", "dropped")}))
                lines.append([row.path, row.op, row.network, who, bench_number(value), bench_number(min(values)),
                              bench_number(max(values)), f"{value / own:.2f}" if own else "",
                              f"{value / rxe:.2f}" if rxe and who != "rxe" else "",
                              f"{100 * statistics.mean(run['hit'] for run in runs):.3g}",
                              str(sum(run["wrong"] for run in runs)), "; ".join(notes)])
        print_table(["path", "operation", "network", "who", "MiB/s", "min", "max", "x lossless", "x rxe", "hit %",
                     "wrong", ""], lines)

    def bars(self):
        """(what, value, bar, whether more is better)"""
        get = self.median

        def ratio(what, mine, other, bar, more=True):
            if mine is not None and other:
                yield what, mine / other, bar, more

        for path in PATH_MTU:
            for op in ("WRITE", "READ", "SEND"):
                own = get(path, op, "lossless", "softhca")
                for network, part, times in (("lossless", 0, 0), ("loss0.1", 0.9, 2), ("loss1", 0.7, 4), ("loss5", 0.35, 4),
                                             ("reorder", 0.85, 0), ("duplicate", 0.85, 0), ("corrupt", 0.75, 0)):
                    mine = get(path, op, network, "softhca")
                    if part:
                        yield from ratio(f"{path} {op} {network} / own lossless", mine, own, part)
                    if times:
                        yield from ratio(f"{path} {op} {network} / rxe", mine, get(path, op, network, "rxe"), times)
                    for role in ("to rxe", "from rxe"):
                        yield from ratio(f"{path} {op} {network} {role} / rxe to rxe",
                                         get(path, op, network, role), get(path, op, network, "rxe"), 1)
                for ms in (5, 50):
                    mine = get(path, op, f"far{ms}ms", "softhca")
                    yield from ratio(f"{path} {op} far{ms}ms / {RATE} Mbit/s", mine, RATE * 1e6 / 8 / MIB, 0.8)
            # (what a process waits for the CPU is the scheduler's: as long beside loops)
            yield from ratio(f"{path} packets of 8 B beside {GREEDY} streams, p99 / alone",
                             get(path, "ROUND", "greedy", "softhca", "trip_p99_us"),
                             get(path, "ROUND", "alone", "softhca", "trip_p99_us"), 3, False)
            yield from ratio(f"{path} ROUND 8 B beside {GREEDY} streams, p99 / beside {GREEDY} loops",
                             get(path, "ROUND", "greedy", "softhca", "p99_us"),
                             get(path, "ROUND", "busy", "softhca", "p99_us"), 3, False)
            median = get(path, "ROUND", "lossless", "softhca", "median_us")
            if median:
                yield from ratio(f"{path} ROUND 8 B loss1, p99 / 5x the lossless median + 1 ms",
                                 get(path, "ROUND", "loss1", "softhca", "p99_us"), 5 * median + 1000, 1, False)

            def shared(what, network="shared-on", path=path):
                return get(path, "WRITE", network, "softhca", what)

            for role in ("to rxe", "from rxe"):
                yield from ratio(f"{path} shared {role} / rxe to rxe", get(path, "WRITE", "shared-off", role),
                                 get(path, "WRITE", "shared-off", "rxe"), 1)
            yield from ratio(f"{path} shared, control on: used", shared("used"), 1, 0.9)
            yield from ratio(f"{path} shared, backlog with control / without", shared("backlog"),
                             shared("backlog", "shared-off"), 0.5, False)
            yield from ratio(f"{path} shared, control on: Jain's index", shared("jain"), 1, 0.95)
        every = [run for runs in self.results.values() for run in runs]
        yield "messages with a wrong byte", sum(run["wrong"] for run in every), 0, False
        yield "runs with an error", sum(bool(run["error"]) for key, runs in self.results.items() if key[3] != "rxe"
                                        for run in runs), 0, False

    def judge(self):
        lines, missed = [], 0
        for what, value, bar, more in self.bars():
            met = value >= bar if more else value <= bar
            missed += not met
            lines.append([what, "", "", "", f"{value:.2f}", f"{'>=' if more else '<='} {bar:g}", "" if met else "missed"])
        print_table(["softhca against the bars", "", "", "", "value", "bar", ""], lines)
        print(f"{len(lines) - missed} of {len(lines)} bars met")
        return not missed


def bench_number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_table(head, lines):
    widths = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
    for line in [head] + lines:
        print("  ".join(c.ljust(w) if i < 4 or i == len(head) - 1 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(line, widths))).rstrip())
    print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rxe", choices=("yes", "no"), default="yes", help="is Soft-RoCE there")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--list", action="store_true", help="only name the rows")
    parser.add_argument("--judge", action="store_true", help="compare with the bars; status 1 where one is missed")
    parser.add_argument("--report", metavar="JSON", help="print what an earlier run has written, of part of it too")
    parser.add_argument("--out", default="badnet.json")
    parser.add_argument("--control", default="softhca dev set {device} cc {value}",
                        help="the command that turns the control of congestion on and off")
    parser.add_argument("patterns", nargs="*", help="only the rows whose name contains one (as in a shell)")
    args = parser.parse_args()
    chosen = [row for row in rows() if not args.patterns or
              any(fnmatch.fnmatchcase(row.name(), f"*{p}*") for p in args.patterns)]
    if not chosen:
        sys.exit(f"no row matches {' '.join(args.patterns)}; the names are\n" + "\n".join(row.name() for row in rows()))
    if args.list:
        print("\n".join(row.name() for row in chosen))
        return
    badnet = Badnet(args, chosen)
    if args.report:
        badnet.read(args.report)
        sys.exit(not badnet.report())
    try:
        badnet.prepare()
        for rep in range(1, args.reps + 1):
            start = time.monotonic()
            badnet.repetition(rep)
            print(f"repetition {rep} of {args.reps}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    finally:
        badnet.machine.close()
    sys.exit(not badnet.report())


if __name__ == "__main__":
    main()
