#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""NVMe over fabrics: host and target in one guest, between the ends of a veth pair.

Kernel consumers at both ends, in the initial namespace, as the RDMA transports of NVMe are
in no other. What is served is null_blk, which keeps no data. softhca and rxe want the same
UDP port there, so each has the netdevs while it is measured, and TCP has them in between.

  nvme.py WHO COUNT READ:4096:8...    measures that alone; see bench.py for all of it
"""

import json
import os
import re
import subprocess
import sys
import time

NQN = "softhca-bench"
TARGET = "/sys/kernel/config/nvmet"
# (netdev, address) of host and target
HOST, SERVER = ("veth_nh", "10.91.0.1"), ("veth_nt", "10.91.0.2")
TABLE = 400     # and the next one, of routing rules
# Seconds for what should take one or two. A clock of instructions skips the time in which
# the guest waits for its disk, which a busy host makes long.
LIMIT = 600
FIO_LIMIT = 1200
MODULES = {"softhca": ("nvme-rdma", "nvmet-rdma"), "rxe": ("rdma_rxe", "nvme-rdma", "nvmet-rdma"),
           "tcp": ("nvme-tcp", "nvmet-tcp")}
KINDS = {"softhca": "softhca", "rxe": "rxe"}


class Failed(Exception):
    pass


def run(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(words)}: not done after {LIMIT} s") from None
    if done.returncode:
        raise Failed(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def put(path, text):
    try:
        with open(path, "w") as out:
            out.write(text)
    except OSError as error:
        raise Failed(f"{text} to {path}: {error.strerror}") from None


def wait_for(what, condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"waited in vain for {what}")
        time.sleep(0.05)


def disk():
    """Of the namespace that is connected; None: none is."""
    for name in os.listdir("/sys/block"):
        if re.fullmatch(r"nvme\d+n1", name) and os.path.exists(f"/dev/{name}"):
            return f"/dev/{name}"
    return None


def controllers():
    where = "/sys/class/nvme"
    return [f"{where}/{name}" for name in os.listdir(where)] if os.path.isdir(where) else []


def through_the_wire():
    """Both addresses are this host's, which Linux would short-cut through lo."""
    rules = run("ip", "rule", "list")
    if re.search(r"^0:\s+from all lookup local", rules, re.M):
        run("ip", "rule", "add", "pref", "100", "lookup", "local")
        run("ip", "rule", "del", "pref", "0")
    for (near, _), (_, far), table in (HOST, SERVER, TABLE), (SERVER, HOST, TABLE + 1):
        for key, value in ("accept_local", 1), ("rp_filter", 0):
            put(f"/proc/sys/net/ipv4/conf/{near}/{key}", str(value))
        run("ip", "rule", "add", "pref", "10", "iif", "lo", "to", far, "lookup", str(table))
        run("ip", "route", "add", far, "dev", near, "scope", "link", "table", str(table))


def back_from_the_wire():
    for table in TABLE, TABLE + 1:
        subprocess.run(["ip", "rule", "del", "pref", "10", "lookup", str(table)], capture_output=True)


class Nvme:
    """What stays for all drivers: the pair of netdevs, null_blk, the target's subsystem."""

    def __init__(self):
        self.who = None
        self.undo = []
        try:
            self.make()
        except BaseException:
            self.close()
            raise

    def make(self):
        for module in "null_blk", "nvmet":
            run("modprobe", module, *(("nr_devices=1", "gb=1") if module == "null_blk" else ()))
            self.undo.append(lambda module=module: run("modprobe", "-r", module))
        run("ip", "link", "add", HOST[0], "mtu", "9000", "type", "veth", "peer", "name", SERVER[0], "mtu", "9000")
        self.undo.append(lambda: run("ip", "link", "del", HOST[0]))
        for netdev, address in HOST, SERVER:
            run("ip", "addr", "add", f"{address}/24", "dev", netdev)
            run("ip", "link", "set", netdev, "up")
        self.undo.append(back_from_the_wire)
        through_the_wire()
        if not os.path.isdir(TARGET):
            run("mount", "-t", "configfs", "none", "/sys/kernel/config")
        subsystem = f"{TARGET}/subsystems/{NQN}"
        for path in subsystem, f"{subsystem}/namespaces/1":
            os.mkdir(path)
            self.undo.append(lambda path=path: os.rmdir(path))
        put(f"{subsystem}/attr_allow_any_host", "1")
        put(f"{subsystem}/namespaces/1/device_path", "/dev/nullb0")
        put(f"{subsystem}/namespaces/1/enable", "1")

    def close(self):
        self.leave()
        while self.undo:
            try:
                self.undo.pop()()
            except (Failed, OSError) as error:
                print(f"nvme: {error}", file=sys.stderr)

    # ---- one driver ----------------------------------------------------------

    def port_up(self):
        port = f"{TARGET}/ports/1"
        os.mkdir(port)
        transport = "tcp" if self.who == "tcp" else "rdma"
        for name, value in (("trtype", transport), ("adrfam", "ipv4"), ("traddr", SERVER[1]), ("trsvcid", "4420")):
            put(f"{port}/addr_{name}", value)
        os.symlink(f"{TARGET}/subsystems/{NQN}", f"{port}/subsystems/{NQN}")

    def port_down(self):
        port = f"{TARGET}/ports/1"
        if os.path.isdir(port):
            link = f"{port}/subsystems/{NQN}"
            if os.path.islink(link):
                os.unlink(link)
            os.rmdir(port)

    def enter(self, who):
        """The netdevs are @who's, and a controller is connected."""
        if self.who == who:
            return
        self.leave()
        self.who = who
        for module in MODULES[who]:
            run("modprobe", module)
        if who in KINDS:
            for netdev, address in HOST, SERVER:
                device = f"{who}_{netdev[-2:]}"
                run("rdma", "link", "add", device, "type", KINDS[who], "netdev", netdev)
                wait_for(f"a GID of {device}", lambda device=device, address=address: self.has_gid(device, address))
        self.port_up()
        transport = "tcp" if who == "tcp" else "rdma"
        put("/dev/nvme-fabrics", f"transport={transport},traddr={SERVER[1]},trsvcid=4420,nqn={NQN}")
        wait_for("a disk", disk)

    @staticmethod
    def has_gid(device, address):
        wanted = bytes(10) + b"\xff\xff" + bytes(map(int, address.split(".")))
        port = f"/sys/class/infiniband/{device}/ports/1"
        try:
            with open(f"{port}/state") as state:
                if "ACTIVE" not in state.read():
                    return False
            for index in range(16):
                with open(f"{port}/gids/{index}") as gid:
                    if bytes.fromhex(gid.read().replace(":", "").strip()) == wanted:
                        return True
        except OSError:
            pass
        return False

    def leave(self):
        if self.who is None:
            return
        for path in controllers():
            put(f"{path}/delete_controller", "1")
        wait_for("the end of the controller", lambda: not controllers())
        self.port_down()
        for netdev, _ in (HOST, SERVER) if self.who in KINDS else ():
            subprocess.run(["rdma", "link", "delete", f"{self.who}_{netdev[-2:]}"], capture_output=True, timeout=LIMIT)
        # A queue pair of a target ends a moment later.
        modules = [m for m in reversed(MODULES[self.who])]
        wait_for(f"the modules of {self.who}", lambda: not subprocess.run(
            ["modprobe", "-r", *modules], capture_output=True, timeout=LIMIT).returncode)
        self.who = None

    @staticmethod
    def crossed():
        total = 0
        for netdev, _ in HOST, SERVER:
            with open(f"/sys/class/net/{netdev}/statistics/tx_bytes") as count:
                total += int(count.read())
        return total

    def fio(self, direction, size, depth, number):
        """Random I/O. Return: seconds of one."""
        before = self.crossed()
        command = ["fio", "--name=bench", f"--filename={disk()}", f"--rw=rand{direction}", f"--bs={size}",
                   "--ioengine=libaio", f"--iodepth={depth}", "--direct=1", f"--number_ios={number}", "--size=1g",
                   "--gtod_reduce=1", "--norandommap", "--disk_util=0", "--thread", "--output-format=json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FIO_LIMIT)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(command)}: not done after {FIO_LIMIT} s") from None
        if done.returncode:
            raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
        job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0][direction]
        if job["total_ios"] < number or not job["runtime"]:
            raise Failed(f"fio: {job['total_ios']} of {number} in {job['runtime']} ms")
        # A figure of traffic that took a short-cut would be a wrong one.
        if self.crossed() - before < size * number:
            raise Failed(f"only {self.crossed() - before} bytes crossed {HOST[0]}")
        return job["runtime"] / 1000 / job["total_ios"]


def main():
    nvme = Nvme()
    try:
        nvme.enter(sys.argv[1])
        for words in sys.argv[3:]:
            direction, size, depth = words.split(":")
            seconds = nvme.fio(direction.lower(), int(size), int(depth), int(sys.argv[2]))
            print(f"{sys.argv[1]} {words} {seconds * 1e9:.0f} ns", flush=True)
    finally:
        nvme.close()


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(str(failure))
