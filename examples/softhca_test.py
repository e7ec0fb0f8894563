# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Faults and a pair of devices for tests of RDMA programs, with pytest or without.

As a plugin of pytest (`pytest -p softhca_test`, with this folder in PYTHONPATH):

    def test_survives(softhca_pair, softhca_fault):
        with softhca_fault("do=drop type=request prob=1% seed=1") as faults:
            softhca_pair.a.run("./program", "10.0.0.2")
        assert faults.hits

In any Python, the same as context managers: pair() and fault(). docs/faults.md has recipes.
Needs root, and the tool softhca.
"""
import contextlib
import json
import subprocess


def softhca(*words):
    """Runs the tool; returns what it prints."""
    return subprocess.run(["softhca", *words], check=True, text=True, stdout=subprocess.PIPE).stdout


class End:
    """A namespace of `softhca up`: its name, device, address and GID index"""

    def __init__(self, row):
        self.namespace, self.device = row["namespace"], row["device"]
        self.address, self.gid_index = row["address"].split("/")[0], row["gid_index"]

    def command(self, *words):
        """A command line that runs another one in this namespace"""
        return ["softhca", "run", "--namespace", self.namespace, "--", *words]

    def run(self, *words, **options):
        """subprocess.run() there; fails where the command does"""
        return subprocess.run(self.command(*words), **{"check": True, **options})

    def start(self, *words, **options):
        """subprocess.Popen() there"""
        return subprocess.Popen(self.command(*words), **options)


class Pair:
    """Both ends, a and b"""

    def __init__(self, rows):
        self.a, self.b = (End(row) for row in sorted(rows, key=lambda row: row["namespace"]))


class Faults:
    """Rules that exist; hits is known once they have ended."""

    def __init__(self):
        self.ids, self.hits = [], None


@contextlib.contextmanager
def pair():
    """Two namespaces with a device each, as `softhca up` makes them; they go at the end."""
    try:
        yield Pair(json.loads(softhca("up", "--json")))
    finally:
        softhca("down")


@contextlib.contextmanager
def fault(*rules, device="shca0", namespace="a"):
    """Rules of `softhca fault add`, without dev=, while the block runs."""
    there = ["run", "--namespace", namespace, "--", "softhca", "fault"]
    made = Faults()
    try:
        for rule in rules:
            # (an event happens at once, and has no number)
            made.ids += softhca(*there, "add", "dev=" + device, *rule.split()).split()
        yield made
    finally:
        rows = {str(row["id"]): row for row in json.loads(softhca(*there, "list", "--json"))}
        # A rule of a device that has gone has gone, too.
        there_still = [one for one in made.ids if one in rows]
        made.hits = sum(rows[one]["hits"] for one in there_still)
        for one in there_still:
            softhca(*there, "del", one)


try:
    import pytest
except ImportError:
    pass
else:
    @pytest.fixture(scope="session")
    def softhca_pair():
        """Both ends, for all tests of a run"""
        with pair() as both:
            yield both

    @pytest.fixture
    def softhca_fault(softhca_pair):
        """fault(), where the pair is"""
        return fault
