#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Two machines: softhca, rxe and one TCP connection between node1 and node2.

Runs on node1 of `scripts/qemu/vm --nodes 2`, reaches the other by ssh. In each
repetition all three are measured one after the other, in an order that turns. softhca
and rxe both want UDP port 4791, so each has its device only while it is measured.

  machines.py [--reps N] [--out FILE.json]
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time

from bench import Failed, end_of, gid_index, last_numbers

HOME, AWAY = "10.88.0.1", "10.88.0.2"
MTU = 9000
SECONDS = "2"
SHARE = "/mnt/share"
# name -> perftest's program and words, and the column of its result
ROWS = {
    "WRITE 64 KiB": ("ib_write_bw", ["-s", "65536", "-D", SECONDS], 3, "MiB/s"),
    "READ 64 KiB": ("ib_read_bw", ["-s", "65536", "-D", SECONDS], 3, "MiB/s"),
    "SEND 64 KiB": ("ib_send_bw", ["-s", "65536", "-D", SECONDS], 3, "MiB/s"),
    "WRITE 8 B": ("ib_write_bw", ["-s", "8", "-D", SECONDS], 4, "Mop/s"),
    "SEND 8 B latency": ("ib_send_lat", ["-s", "8", "-n", "500"], 4, "us"),
}
# what the issue wants: (row, other) -> at least so many times; of latencies at most
BARS = {(row, "tcp"): 0.8 for row in ("WRITE 64 KiB", "READ 64 KiB", "SEND 64 KiB")}
BARS.update({(row, "rxe"): 4 for row in ("WRITE 64 KiB", "READ 64 KiB", "SEND 64 KiB")})
BARS[("WRITE 8 B", "rxe")] = 5
BARS[("SEND 8 B latency", "rxe")] = 0.2


def away(command, **kwargs):
    return subprocess.Popen(["ssh", "node2", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            stdin=subprocess.DEVNULL, text=True, **kwargs)


def both(command):
    """A line of shell, here and there."""
    there = away(command)
    here = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    said = there.communicate()[0]
    if here.returncode or there.returncode:
        raise Failed(f"{command}: {end_of(here.stdout if here.returncode else said)}")
    return said


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise Failed("waited in vain")
        time.sleep(0.2)


def away_says(command):
    return away(command).communicate()[0].strip()


class Device:
    """The device bench0 of one driver at both ends, while it is measured."""

    def __init__(self, driver):
        self.driver = driver

    def __enter__(self):
        both(f"modprobe {'rdma_rxe' if self.driver == 'rxe' else 'softhca'}")
        both(f"rdma link add bench0 type {self.driver} netdev eth0")
        def ready():
            try:
                gid_index("bench0", HOME)
                return "ACTIVE" in away_says("cat /sys/class/infiniband/bench0/ports/1/state")
            except Failed:
                return False
        wait_until(ready)
        self.here = gid_index("bench0", HOME)
        tail = "".join(f"{int(n):02x}" for n in AWAY.split("."))
        self.there = int(away_says(
            "cd /sys/class/infiniband/bench0/ports/1; for i in $(seq 0 15); do "
            f"tr -d : <gids/$i 2>/dev/null | grep -q '0000ffff{tail}$' && grep -q v2 gid_attrs/types/$i 2>/dev/null && "
            "echo $i && break; done"))
        return self

    def __exit__(self, *_):
        both("rdma link delete bench0")
        if self.driver == "rxe":
            both("modprobe -r rdma_rxe")

    def measure(self, program, words, column):
        words = [program, "-F", "-d", "bench0", "-m", "4096", *words]
        server = away(" ".join([*words, "-x", str(self.there)]))
        try:
            wait_until(lambda: away_says("ss -Hltn 'sport = :18515'"))
            client = subprocess.run([*words, "-x", str(self.here), AWAY], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
            if client.returncode:
                raise Failed(f"{' '.join(words)}: {end_of(client.stdout)}")
            # (a server counts nothing here, but must have ended well)
            answered = server.communicate(timeout=60)[0]
            if server.returncode:
                raise Failed(f"{' '.join(words)}: {end_of(answered)}")
        finally:
            if server.poll() is None:
                server.kill()
                away_says(f"pkill -x {program}")
        numbers = last_numbers(client.stdout, 5)
        if not numbers:
            raise Failed(f"no result: {end_of(client.stdout)}")
        return numbers[column]


def tcp():
    server = away("iperf3 -s -1")
    wait_until(lambda: away_says("ss -Hltn 'sport = :5201'"))
    said = subprocess.run(["iperf3", "-c", AWAY, "-t", SECONDS, "--json"], stdout=subprocess.PIPE, text=True,
                          timeout=120, check=False).stdout
    server.communicate(timeout=60)
    return json.loads(said)["end"]["sum_received"]["bits_per_second"] / 8 / (1 << 20)


def offloads():
    said = subprocess.run(["ethtool", "-k", "eth0"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: bool(re.search(rf"^\s*{name}: on", said, re.M))
            for name in ("tcp-segmentation-offload", "tx-udp-segmentation", "generic-receive-offload")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--out", default="machines.json")
    args = parser.parse_args()
    both(f"ip link set eth0 mtu {MTU}")
    # (off in virtio-net even where the host has it)
    both("ethtool -K eth0 tx-udp-segmentation on 2>/dev/null || true")
    has = offloads()
    print("eth0: " + ", ".join(f"{name} {'on' if on else 'off'}" for name, on in has.items()), flush=True)
    results, failed = {}, False
    whos = ["softhca", "rxe", "tcp"]
    for rep in range(args.reps):
        for who in whos[rep % 3:] + whos[:rep % 3]:
            try:
                if who == "tcp":
                    results.setdefault(("STREAM", "tcp"), []).append(tcp())
                    continue
                with Device(who) as device:
                    for row, (program, words, column, _) in ROWS.items():
                        results.setdefault((row, who), []).append(device.measure(program, words, column))
            except (Failed, subprocess.TimeoutExpired) as e:
                print(f"{who}: {e}", file=sys.stderr, flush=True)
                # (what a peer cannot do is missing in its column)
                failed = failed or who == "softhca"
    medians = {key: statistics.median(values) for key, values in results.items()}
    stream = medians.get(("STREAM", "tcp"))
    print(f"\n{'row':18}{'':7}{'softhca':>12}{'rxe':>12}{'tcp':>10}{'x rxe':>8}{'bar':>6}{'x tcp':>8}{'bar':>6}")
    for row, (_, _, _, unit) in ROWS.items():
        mine, rxe = medians.get((row, "softhca")), medians.get((row, "rxe"))
        other = stream if unit == "MiB/s" else None
        def text(value, bar=False):
            return "-" if value is None else f"{value:.4g}" if not bar else f"{value:.2f}"
        print(f"{row:18}{unit:7}{text(mine):>12}{text(rxe):>12}{text(other):>10}"
              f"{text(mine / rxe if mine and rxe else None, True):>8}{text(BARS.get((row, 'rxe'))):>6}"
              f"{text(mine / other if mine and other else None, True):>8}{text(BARS.get((row, 'tcp'))):>6}")
    with open(f"{SHARE}/{args.out}", "w") as out:
        json.dump({"offloads": has, "rows": [
            {"row": row, "who": who, "median": medians[row, who], "values": values}
            for (row, who), values in results.items()]}, out, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        sys.exit(f"machines: {e}")
