#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Draws mutants of the glue and builds them; runs in the build root, for tests/mutants/glue.

  build.py OUT base               module and provider, and those that tell which places run
  build.py OUT places             which line each place is that the coverage maps know
  build.py OUT draw N SEED DIR [FILE...]
                                  N mutants, of these files: DIR/ID.ko or DIR/ID.so, and
                                  DIR/mutants.tsv

The glue is what stands around the core: the folders of FOLDERS, of them the .c files. All
mutants that places.py finds there are cut into N pieces of the same size, in the order of
the files; of each piece one is drawn that compiles, and to other code. So all files have
their share. Events, messages and the lengths of waits are left alone: a test that judges
them would be a worse test.
"""
import hashlib
import json
import multiprocessing
import os
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/userspace/core/mutants"))
# pylint: disable=wrong-import-position
import places  # noqa: E402

FOLDERS = [*("kernel/" + room for room in "link inject mem queue wire path ib roce verbs device".split()), "provider"]
LEFT_ALONE = re.compile(r"\btrace_\w+\(|\bMODULE_|\b(pr|dev|ibdev|netdev|net)_\w*(err|warn|info|dbg|notice)\w*\(|"
                        r"\bWARN\w*\(|\bBUILD_BUG|static_assert|\blockdep_|\bmight_sleep|\bcond_resched|"
                        r"jiffies|msecs_to|usecs_to|\bHZ\b|TIMEOUT|_MS\b|[ms]sleep|\b__\w+_(aligned|hot|cold)")
COVERAGE = "-fsanitize-coverage=trace-pc"


def run(command, **more):
    return subprocess.run(command, check=True, **more)


def kdir():
    return next(Path("/lib/modules").glob("*/build"))


class Kernel:
    """The objects of the module, each compiled by the words that Kbuild used."""

    suffix = "ko"

    def __init__(self, out):
        self.base = out / "base"

    def saved(self, target):
        text = (target.parent / f".{target.name}.cmd").read_text()
        return re.match(r"savedcmd_\S+ := (.*)", text)[1].strip()

    def object_of(self, name):
        return self.base / name.replace(".c", ".o")

    def clang(self, name):
        """What clang needs to know."""
        words = [w for w in shlex.split(self.saved(self.object_of(name)))]
        args, take = [], False
        for word in words[1:]:
            if take or word.startswith(("-I", "-D", "-std", "-fshort-wchar", "-funsigned-char")):
                args.append(word)
                take = False
            elif word in ("-include", "-isystem"):
                args.append(word)
                take = True
        return ["-x", "c", "-w", "-ferror-limit=0", f"-working-directory={kdir()}", *args]

    def compile(self, name):
        """Return: the object without its lines; None: it does not compile."""
        target = self.object_of(name)
        target.unlink(missing_ok=True)
        done = subprocess.run(self.saved(target) + " -w", shell=True, cwd=kdir(), capture_output=True, check=False)
        if done.returncode:
            return None
        run(["strip", "-g", target])
        return target.read_bytes()

    def prepare(self):
        """Without lines all is linked in a moment."""
        run(["find", self.base / "kernel", "-name", "*.o", "-exec", "strip", "-g", "{}", "+"])

    def link(self, into):
        for target in self.base / "softhca.o", self.base / "softhca.ko":
            command = self.saved(target)
            target.unlink(missing_ok=True)
            # (objtool asks for what make has told it)
            run(command, shell=True, cwd=kdir(), env={**os.environ, "SRCARCH": "x86"}, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
        run(["strip", "-g", "-o", into, self.base / "softhca.ko"])

    def replace(self, name, text):
        path = self.base / name
        path.unlink()
        path.write_text(text)

    def restore(self, name):
        path = self.base / name
        path.unlink()
        path.symlink_to(TOP / name)


class Provider:
    suffix = "so"

    def __init__(self, out):
        self.tree = out / "tree"
        calls = [json.loads(line) for line in (out / "gcc.log").read_text().splitlines()]
        self.calls = {Path(call[-1]).name: call for call in calls if "-c" in call}
        self.last = next(call for call in calls if "-c" not in call)

    def command(self, name):
        call = list(self.calls[Path(name).name])
        call[-1] = str(self.tree / name)
        return call

    def object_of(self, name):
        command = self.command(name)
        return Path(command[command.index("-o") + 1])

    def clang(self, name):
        return ["-x", "c", "-w", "-std=gnu11", *(w for w in self.command(name) if w.startswith(("-I", "-D")))]

    def compile(self, name):
        target = self.object_of(name)
        done = subprocess.run(["gcc", *self.command(name), "-w"], capture_output=True, check=False)
        if done.returncode:
            return None
        run(["strip", "-g", target])
        return target.read_bytes()

    def prepare(self):
        pass

    def link(self, into):
        command = list(self.last)
        command[command.index("-o") + 1] = str(into)
        run(["gcc", *command])

    def replace(self, name, text):
        (self.tree / name).write_text(text)

    def restore(self, name):
        (self.tree / name).write_text((TOP / name).read_text())


def build_base(out):
    """All that mutants are compared with and built from."""
    kernel = kdir()
    module = out / "coverage-module"
    module.mkdir(parents=True, exist_ok=True)
    (module / "softhca_coverage.c").write_text((TOP / "tests/mutants/coverage.c").read_text())
    (module / "Kbuild").write_text("obj-m := softhca_coverage.o\n")
    kbuild = [TOP / "scripts/build/kbuild", kernel]
    run(["make", "-s", "-C", kernel, f"M={module}", "modules"])
    run([*kbuild, out / "base", "SHCA_TESTS=no", "-s"])
    run([*kbuild, out / "coverage", "SHCA_TESTS=no", "-s", f"KCFLAGS={COVERAGE}",
         f"KBUILD_EXTRA_SYMBOLS={module}/Module.symvers"])
    share = out / "share"
    share.mkdir(exist_ok=True)
    run(["strip", "-g", "-o", share / "coverage.ko", out / "coverage/softhca.ko"])
    run(["strip", "-g", "-o", share / "softhca_coverage.ko", module / "softhca_coverage.ko"])
    build_provider(out, share)


def build_provider(out, share):
    """A copy of the provider's folder, built by its script; what it calls gcc with is kept."""
    tree, log = out / "tree", out / "gcc.log"
    run(["rm", "-rf", tree])
    (tree / "scripts/build").mkdir(parents=True)
    for name in "provider", "uapi":
        run(["cp", "-r", TOP / name, tree])
    for name in "scripts/lib.sh", "scripts/build/provider":
        run(["cp", TOP / name, tree / name])
    (out / "bin").mkdir(exist_ok=True)
    shim = out / "bin/gcc"
    shim.write_text('#!/usr/bin/python3\nimport json, os, sys\n'
                    'with open(os.environ["SHCA_GCC_LOG"], "a") as log:\n'
                    '    log.write(json.dumps(sys.argv[1:]) + "\\n")\n'
                    'os.execv("/usr/bin/gcc", ["/usr/bin/gcc", *sys.argv[1:]])\n')
    shim.chmod(0o755)
    log.unlink(missing_ok=True)
    environ = {**os.environ, "SHCA_GCC_LOG": str(log), "PATH": f"{out}/bin:{os.environ['PATH']}"}
    run([tree / "scripts/build/provider", "--compile", "/usr/local/src/rdma-core", out / "provider-base"], env=environ)
    objects = out / "provider-coverage"
    objects.mkdir(exist_ok=True)
    mine = []
    for call in Provider(out).calls.values():
        call = list(call)
        mine.append(str(objects / Path(call[call.index("-o") + 1]).name))
        call[call.index("-o") + 1] = mine[-1]
        run(["gcc", *call, COVERAGE])
    run(["gcc", "-O2", "-fPIC", "-c", "-o", objects / "coverage.o", TOP / "tests/mutants/provider.c"])
    link = [w for w in Provider(out).last if not w.endswith(".o")]
    link[link.index("-o") + 1] = str(share / "coverage.so")
    run(["gcc", *link[:3], *mine, str(objects / "coverage.o"), *link[3:]])


def function_of(source, mutant):
    """Name, first and last line; of what is in none the whole file."""
    for start, end, name in source.bodies:
        if start <= mutant.start < end:
            return name, source.line_of(start), source.line_of(end)
    return "", 1, len(source.lines)


def mutants_of(job):
    """Of one file: [(mutant, its function, first and last line)]"""
    name, known, args = job
    source = places.Source(TOP / name, known, name, args)
    lines = source.text.split("\n")
    found = []
    for mutant in source.mutants({}):
        first, last = source.quoted(mutant.start, mutant.end)
        if not LEFT_ALONE.search(source.text[first:last] + lines[mutant.line - 1]):
            found.append((mutant, *function_of(source, mutant)))
    return found


def candidates(out, builders, only):
    """All mutants, in the order of the files. (To parse a file takes a second or two, so the
    result is kept.) @only: of these files, if there are any."""
    known = places.flags_of([*TOP.glob("kernel/**/*.[ch]"), *TOP.glob("provider/*.[ch]"), *TOP.glob("uapi/*.h")])
    jobs, digest = [], hashlib.sha256(Path(__file__).read_bytes() + Path(places.__file__).read_bytes())
    for folder in FOLDERS:
        builder = builders[folder.split("/")[0]]
        for path in sorted((TOP / folder).glob("*.c")):
            name = f"{folder}/{path.name}"
            if (not only or name in only) and (builder.suffix == "so" or builder.object_of(name).exists()):
                jobs.append((name, known, builder.clang(name)))
                digest.update(name.encode() + path.read_bytes())
    kept = out / f"candidates-{digest.hexdigest()[:12]}"
    if not kept.exists():
        with multiprocessing.Pool() as pool:
            found = [one for many in pool.imap(mutants_of, jobs) for one in many]
        kept.write_bytes(pickle.dumps(found))
    return pickle.loads(kept.read_bytes())


def draw(out, count, seed, into, only):
    builders = {"kernel": Kernel(out), "provider": Provider(out)}
    found = candidates(out, builders, only)
    sources = {name: (TOP / name).read_text() for name in {one[0].file for one in found}}
    print(f"# {len(found)} places", flush=True)
    into.mkdir(parents=True, exist_ok=True)
    original = {}
    builders["kernel"].prepare()
    with open(into / "mutants.tsv", "w", encoding="utf-8") as table:
        for i in range(count):
            piece = found[i * len(found) // count:(i + 1) * len(found) // count]
            for mutant, name, first, last in sorted(piece, key=lambda one: one[0].rank(f"{seed} {one[0].file}")):
                builder = builders[mutant.file.split("/")[0]]
                if mutant.file not in original:
                    original[mutant.file] = builder.compile(mutant.file)
                builder.replace(mutant.file, mutant.apply(sources[mutant.file]))
                code = builder.compile(mutant.file)
                good = code and code != original[mutant.file]
                target = into / f"{seed}-{i + 1:03}.{builder.suffix}"
                if good:
                    builder.link(target)
                builder.restore(mutant.file)
                builder.object_of(mutant.file).write_bytes(original[mutant.file])
                if good:
                    break
            else:
                continue
            kind = "module" if builder.suffix == "ko" else "provider"
            print(target.stem, kind, mutant.file, mutant.line, name, first, last, mutant.key, sep="\t", file=table,
                  flush=True)
            print(target.stem, f"{mutant.file}:{mutant.line}", mutant.key, flush=True)


def lines_of(file, section, addresses):
    """Address -> the places in sources that it stands for, inlined ones too."""
    given = "".join(f"0x{a - 1:x}\n" for a in addresses)
    text = run(["addr2line", "-a", "-i", "-e", file, *(["-j", section] if section else [])], input=given, text=True,
               stdout=subprocess.PIPE).stdout
    result, at = {}, None
    for line in text.splitlines():
        if line.startswith("0x"):
            at = int(line, 16) + 1
        elif found := re.match(r".*?((?:kernel|provider|uapi)/(?:\w+/)*[\w.-]+\.[ch]):(\d+)", line):
            result.setdefault(at, set()).add(f"{found[1]}:{found[2]}")
    return result


def list_places(out):
    """places.tsv: map, section, address in it, FILE:LINE..."""
    module = out / "coverage/softhca.ko"
    relocations = run(["objdump", "-r", "-w", module], text=True, stdout=subprocess.PIPE).stdout
    section, calls = None, {}
    for line in relocations.splitlines():
        if found := re.match(r"RELOCATION RECORDS FOR \[(.*)\]", line):
            section = found[1]
        elif "__sanitizer_cov_trace_pc" in line and "text" in section:
            calls.setdefault(section, []).append(int(line.split()[0], 16) + 4)
    provider = out / "share/coverage.so"
    code = run(["objdump", "-d", "-w", "--no-show-raw-insn", provider], text=True,
               stdout=subprocess.PIPE).stdout.splitlines()
    after = [int(code[i + 1].split(":")[0], 16) for i, line in enumerate(code)
             if re.search(r"call\s.*<__sanitizer_cov_trace_pc", line) and ":" in code[i + 1]]
    with open(out / "places.tsv", "w", encoding="utf-8") as table:
        for section, addresses in calls.items():
            for at, where in sorted(lines_of(module, section, addresses).items()):
                print("kernel", section, at, *sorted(where), sep="\t", file=table)
        for at, where in sorted(lines_of(provider, None, after).items()):
            print("provider", ".text", at, *sorted(where), sep="\t", file=table)


def main():
    out, what = Path(sys.argv[1]).resolve(), sys.argv[2]
    if what == "base":
        build_base(out)
    elif what == "places":
        list_places(out)
    else:
        draw(out, int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]).resolve(), set(sys.argv[6:]))


if __name__ == "__main__":
    main()
