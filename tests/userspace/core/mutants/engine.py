# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Mutants of the core: which of them do the tests see?

A mutant is the core with one small mistake (places.py) or one from the list "by-hand".
It is built, and seen (killed) when a case of a unit suite, a seed of the simulator or a
sanitizer fails, or when a loop makes too many steps (steps.h). One that only uses up
its time counts as hung, which is not seen. One that becomes the same machine code as
the core is no mutant.

Those that are not seen are in the file "survivors", each with a reason. Called by
the Makefile, which has built the programs without mutants in O/plain and O.

  engine.py --all             every mutant; fails below 90%, or if the list is not right
  engine.py --draw N          N of those not in the list, and those by hand; fails below 90%
    --seed S                  another draw: by default it follows from the sources
    --file F,F --match TEXT   only mutants of these files, whose name contains TEXT
    --only units|sim          what sees mutants; one of the two instead of both
    --redo FILE               only those that a report says are not seen
    --update                  with --all or a part: write the list anew
    --quick                   without sanitizers
    --list                    only names
"""
import argparse
import collections
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import places

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = HERE.parents[3] / "kernel"
KUNIT = HERE.parents[2] / "kunit"
UAPI = HERE.parents[3] / "uapi"
SURVIVORS = HERE / "survivors"
WANTED = 90
# Seeds of the simulator without sanitizers, and with them.
SEEDS = 3000
SANITIZED_SEEDS = 300
# Seconds of CPU time that a program may take: at least thirty times what it needs.
CPU_LIMIT = {"unit": 10, "sim": 200}


class Verdict(collections.namedtuple("Verdict", "name why")):
    """@name: same, broken (does not compile), units, sim, sanitizer, hung, lives"""

    @property
    def is_mutant(self):
        return self.name not in ("same", "broken")

    @property
    def is_seen(self):
        return self.name in ("units", "sim", "sanitizer")


class ByHand:
    """A mistake that takes more than one place, as a list of sed expressions."""

    def __init__(self, name, file, expression, what):
        self.key = f"by hand: {name}: {what}"
        self.file = file
        self.expression = expression
        self.kind = "by hand"

    def apply(self, source):
        done = subprocess.run(["sed", self.expression], input=source, text=True,
                              capture_output=True, check=True).stdout
        if done == source:
            raise SystemExit(f"not ok mutants.by-hand # the expression of {self.key} matches nothing")
        return done


def by_hand():
    for line in (HERE / "by-hand").read_text().splitlines():
        if line and not line.startswith("#"):
            name, file, rest = line.split("|", 2)
            expression, what = rest.rsplit("|", 1)
            yield ByHand(name, file, expression, what)


def survivors(path=SURVIVORS):
    """The list: key -> (class, reason)."""
    listed, reason = {}, None
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("\t"):
            listed[line.strip()] = reason
        else:
            kind, _, text = line.partition(": ")
            if kind not in ("equivalent", "unseen") or not text:
                raise SystemExit(f"survivors: what is this? {line}")
            reason = (kind, text)
    return listed


class Worker:
    """Builds and runs one mutant at a time, in a folder of its own."""

    def __init__(self, engine, number):
        self.engine = engine
        self.dir = engine.dir / f"worker-{number}"
        shutil.rmtree(self.dir, ignore_errors=True)
        self.kernel = self.dir / "kernel"
        self.kunit = self.dir / "tests" / "kunit"
        rooms = [(KERNEL / room, self.kernel / room) for room in places.ROOMS]
        for source, copy in *rooms, (KUNIT, self.kunit), (UAPI, self.dir / "uapi"):
            copy.mkdir(parents=True, exist_ok=True)
            for path in source.iterdir():
                if path.is_file():
                    (copy / path.name).symlink_to(path)
        (self.kernel / "mem").symlink_to(KERNEL / "mem")

    def verdict(self, mutant):
        source = places.where(KERNEL, mutant.file)
        path = places.where(self.kernel, mutant.file)
        path.unlink()
        path.write_text(mutant.apply(source.read_text()))
        try:
            return self.judge(mutant)
        finally:
            path.unlink()
            path.symlink_to(source)

    def judge(self, mutant):
        # a header is part of the objects that include it, but the rows are of one
        changed = [mutant.file] if mutant.file.endswith(".c") else \
            ["wr_op.c"] if mutant.kind == "row" else \
            self.engine.users_of(mutant.file, "core")
        objects = self.compile(changed, self.engine.plain)
        if not objects:
            return Verdict("broken", "")
        same, digest = self.engine.compare(objects)
        if same:
            return Verdict("same", "")
        known = self.engine.known(digest)
        if known:
            return known
        verdict = self.run_plain(objects, mutant.file)
        if verdict.name == "lives" and self.engine.sanitized:
            verdict = self.run_sanitized(changed)
        self.engine.learn(digest, verdict)
        return verdict

    def compile(self, names, flags, folder=None):
        """The objects of files of the core, or of another @folder; None: an error."""
        objects = {}
        for name in names:
            out = self.dir / (name[:-2] + ".o")
            done = subprocess.run(
                [*self.engine.cc, *flags, *(() if folder else self.engine.steps),
                 "-c", "-o", str(out), str(folder / name if folder else places.where(self.kernel, name))],
                capture_output=True)
            if done.returncode:
                return None
            objects[name[:-2] + ".o"] = out
        return objects

    def link(self, program, base, objects, flags):
        mine, rest = ([o for o in sorted((base / folder).glob("*.o")) if o.name not in objects]
                      for folder in (f"{program}.d", "core"))
        out = self.dir / program
        subprocess.run([*self.engine.cc, *flags, "-o", str(out),
                        *map(str, mine + rest + list(objects.values()))],
                       check=True, capture_output=True)
        return out

    def run(self, program, *options):
        """None: it passed; else (name, why)."""
        done = subprocess.run(
            ["sh", "-c", f'ulimit -c 0; ulimit -t {CPU_LIMIT[program.name]}; exec "$0" "$@"', str(program),
             *map(str, options)], capture_output=True, text=True,
            errors="replace")
        if not done.returncode:
            return None
        if done.returncode == -24 or "CPU time" in done.stderr:
            return "hung", "its time is over"
        text = done.stdout + done.stderr
        found = re.search(r"^not ok (.*)", text, re.M) or \
            re.search(r"^(SUMMARY.*|.*runtime error.*)", text, re.M)
        return "seen", found[1] if found else f"status {done.returncode}"

    def run_units(self, base, objects, file):
        bad = self.run(self.link("unit", base, objects, self.engine.plain))
        if bad or file.endswith(".c"):
            return bad
        # suites call inline functions of headers, too, which nobody else may do in such a way
        suites = self.compile(self.engine.users_of(file, "unit.d"),
                              [*self.engine.plain, f"-I{HERE.parent}"], self.kunit)
        return suites and self.run(self.link("unit", base, {**objects, **suites},
                                             self.engine.plain))

    def run_plain(self, objects, file):
        base = self.engine.out / "plain"
        if self.engine.only != "sim":
            bad = self.run_units(base, objects, file)
            if bad:
                return Verdict("units" if bad[0] == "seen" else "hung", bad[1])
        if self.engine.only != "units":
            bad = self.run(self.link("sim", base, objects, self.engine.plain), "--seeds",
                           self.engine.seeds, "--jobs", 1)
            if bad:
                return Verdict("sim" if bad[0] == "seen" else "hung", bad[1])
        return Verdict("lives", "")

    def run_sanitized(self, changed):
        """Memory that is read where there is none shows only so."""
        flags = self.engine.cflags
        objects = self.compile(changed, flags)
        for program, options in (("unit", ()), ("sim", (
                "--seeds", SANITIZED_SEEDS, "--jobs", 1))):
            bad = self.run(self.link(program, self.engine.out, objects, flags), *options)
            if bad:
                return Verdict("sanitizer" if bad[0] == "seen" else "hung", bad[1])
        return Verdict("lives", "")


class Engine:
    """Shares mutants out to workers and knows what became of equal ones."""

    def __init__(self, args):
        self.out = pathlib.Path(args.out).resolve()
        self.dir = self.out / "mutants"
        self.dir.mkdir(parents=True, exist_ok=True)
        self.cc = os.environ.get("CC", "cc").split()
        self.cflags = os.environ["CFLAGS"].split() + ["-w"]
        self.plain = os.environ["PLAIN"].split()
        self.steps = os.environ["STEPS"].split()
        self.only = args.only
        self.sanitized = not args.only and not args.quick
        self.seeds = args.seeds
        self.lock = threading.Lock()
        self.verdicts = {}
        self.original = {p.name: digest_of([p])
                         for p in (self.out / "plain" / "core").glob("*.o")}

    def worker(self, number):
        return Worker(self, number)

    def users_of(self, header, folder):
        """The files that include @header, by what the compiler has written down."""
        return sorted(p.stem + ".c" for p in (self.out / "plain" / folder).glob("*.d")
                      if f"/{header}" in p.read_text() and
                      (folder == "core" or (KUNIT / (p.stem + ".c")).exists()))

    def compare(self, objects):
        """Is it the same code as the core's? And what else is equal to it?"""
        if all(digest_of([path]) == self.original[name]
               for name, path in objects.items()):
            return True, None
        return False, digest_of([objects[name] for name in sorted(objects)])

    def known(self, digest):
        with self.lock:
            return self.verdicts.get(digest)

    def learn(self, digest, verdict):
        with self.lock:
            self.verdicts[digest] = verdict

    def report(self, mutant, verdict):
        with self.lock:
            self.file.write(f"{verdict.name}\t{mutant.key}\t{verdict.why}\n")
            self.file.flush()

    def run(self, mutants, jobs):
        """[(mutant, verdict)] in the order of @mutants."""
        self.file = open(self.dir / "report", "w")
        results = [None] * len(mutants)
        numbers = iter(range(len(mutants)))
        errors = []

        def work(number):
            try:
                worker = self.worker(number)
                while not errors:
                    with self.lock:
                        i = next(numbers, None)
                    if i is None:
                        return
                    results[i] = worker.verdict(mutants[i])
                    self.report(mutants[i], results[i])
                    if i % 500 == 499:
                        print(f"# {i + 1} of {len(mutants)}", file=sys.stderr,
                              flush=True)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return list(zip(mutants, results))


def digest_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.digest()


def sources_seed():
    """The draw is another one when the core is."""
    digest = hashlib.sha256()
    for path in places.files(KERNEL):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def summary(results):
    count = collections.Counter(v.name for _, v in results)
    mutants = [v for _, v in results if v.is_mutant]
    seen = sum(v.is_seen for v in mutants)
    print(f"# mutants: {count['units']} seen by units, {count['sim']} by the simulator, "
          f"{count['sanitizer']} by a sanitizer; {count['hung']} hung, "
          f"{count['lives']} not seen; {count['same']} are the same code, "
          f"{count['broken']} do not compile")
    return seen, len(mutants), count


def judge_all(engine, results, listed):
    """The whole run: the share of those seen, and whether the list is right."""
    failed = False
    equivalent = 0
    keys = {m.key for m, _ in results}
    for mutant, verdict in results:
        reason = listed.get(mutant.key)
        if not verdict.is_mutant or verdict.is_seen:
            if reason:
                print(f"not ok mutants.list # is {verdict.name} and in the list: {mutant.key}")
                failed = True
        elif not reason:
            print(f"not ok mutants.survivor # {verdict.name}: {mutant.key}")
            failed = True
        else:
            equivalent += reason[0] == "equivalent"
    for key in listed.keys() - keys:
        print(f"not ok mutants.list # no such mutant: {key}")
        failed = True
    seen, total, _ = summary(results)
    share = 100 * seen / max(total - equivalent, 1)
    print(f"# mutants: {seen} of {total - equivalent} seen, {equivalent} more make no difference")
    good = share >= WANTED and not failed
    print(f"{'ok' if share >= WANTED else 'not ok'} mutants.share # {share:.1f}%")
    return good


def judge_draw(results, seed):
    """A part: the share of those seen; each other one is a test that is missing."""
    for mutant, verdict in results:
        if verdict.is_mutant and not verdict.is_seen:
            print(f"# mutants: {verdict.name}, and not in the list: {mutant.key}")
    seen, total, _ = summary(results)
    good = 100 * seen >= WANTED * total
    print(f"{'ok' if good else 'not ok'} mutants.draw # {seen} of {total} seen, seed {seed}")
    return good


def update(results, listed, path=SURVIVORS):
    """Rewrite the list: without what is seen by now, with what is new in it."""
    state = {m.key: v for m, v in results}
    text = path.read_text().splitlines(keepends=True)
    gone = {k for k in listed
            if k not in state or state[k].is_seen or not state[k].is_mutant}
    text = [line for line in text
            if not (line.startswith("\t") and line.strip() in gone)]
    new = [k for k, v in state.items()
           if v.is_mutant and not v.is_seen and k not in listed]
    if new:
        text.append("unseen: nobody has looked at it yet\n")
        text += [f"\t{k}\n" for k in new]
    path.write_text("".join(text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed")
    parser.add_argument("--file")
    parser.add_argument("--match")
    parser.add_argument("--only", choices=("units", "sim"))
    parser.add_argument("--redo")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default=os.environ.get("O", "build/core"))
    args = parser.parse_args()

    mutants = places.mutants(KERNEL) + list(by_hand())
    whole = not (args.file or args.match or args.redo or args.only)
    if args.file:
        mutants = [m for m in mutants if m.file in args.file.split(",")]
    if args.match:
        mutants = [m for m in mutants if args.match in m.key]
    if args.redo:
        wanted = {line.split("\t")[1] for line in open(args.redo)
                  if line.split("\t")[0] in ("lives", "hung")}
        mutants = [m for m in mutants if m.key in wanted]
    if args.list:
        for mutant in mutants:
            print(mutant.key)
        return 0
    engine = Engine(args)
    listed = survivors()
    if args.draw:
        seed = args.seed or sources_seed()
        hand = [m for m in mutants if m.kind == "by hand"]
        rest = [m for m in mutants if m.kind != "by hand" and m.key not in listed]
        rest.sort(key=lambda m: m.rank(seed))
        print(f"# mutants: {args.draw} of {len(rest)} (engine.py --draw {args.draw} --seed {seed}), "
              f"{len(hand)} by hand")
        return not judge_draw(engine.run(hand + rest[:args.draw], args.jobs), seed)
    results = engine.run(mutants, args.jobs)
    if args.update:
        keys = {m.key for m in mutants}
        update(results, {k: r for k, r in listed.items() if whole or k in keys})
    if whole:
        return not judge_all(engine, results, listed)
    seen, total, _ = summary(results)
    print(f"# {seen} of {total} seen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
