#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Prints what `make bench` measured as tables, and draws it with matplotlib.

  report.py bench.json [--plot FILE.png] [--sizes FILE.svg]

The second table compares softhca with the bars it was built against: each is a
ratio of two medians of the same run, so it means something on a slow machine too.
"""

import argparse
import json

WHOS = ("softhca", "rxe", "ceiling", "tcp", "memcpy", "spin")


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def size_text(size):
    for unit, text in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {text}"
    return f"{size} B"


def table(head, lines, left):
    """The first `left` columns are words."""
    widths = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
    for line in [head] + lines:
        cells = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


class Rows:
    def __init__(self, rows):
        self.rows = rows
        self.by_key = {self.key(r) + (r["who"],): r for r in rows}

    @staticmethod
    def key(row):
        return row["path"], row["op"], row["size"], row["qps"], row["metric"]

    def get(self, path, op, size, qps, metric, who, what="median"):
        row = self.by_key.get((path, op, size, qps, metric, who))
        return row and row[what]

    def keys(self):
        return list(dict.fromkeys(self.key(r) for r in self.rows))


def print_all(rows):
    lines = []
    for key in rows.keys():
        path, op, size, qps, metric = key
        for who in WHOS:
            row = rows.by_key.get(key + (who,))
            if not row:
                continue
            rxe = rows.get(*key, "rxe")
            ratio = f"{row['median'] / rxe:.2f}" if rxe and row["reps"] and who != "rxe" else ""
            lines.append([path, op, size_text(size), str(qps), who, number(row["median"]), number(row["min"]),
                          number(row["max"]), number(row["p99"]), number(row["p999"]), metric, str(row["reps"]), ratio])
    table(["path", "operation", "size", "QPs", "who", "median", "min", "max", "p99", "p99.9", "", "reps", "x rxe"],
          lines, 2)
    for row in rows.rows:
        if row["note"]:
            print(f"{row['who']} {row['path']} {row['op']} {size_text(row['size'])} x{row['qps']}: {row['note']}")


def bars(rows):
    """(what, softhca's figure as a part of the other's, bar, whether more is better)."""
    get = rows.get

    def ratio(what, mine, other, bar, more=True):
        if mine and other:
            yield what, mine / other, bar, more

    for path, times, other, part in (("device", 15, "memcpy", 0.5), ("veth9000", 4, "ceiling", 0.8),
                                     ("veth1500", 4, "ceiling", 0.7)):
        for size in (1 << 16, 1 << 20):
            best = get(path, "COPY" if other == "memcpy" else "STREAM", size, 1, "MiB/s", other)
            for op in ("WRITE", "READ", "SEND"):
                if path == "device" and op == "SEND":
                    continue
                name = f"{path} {op} {size_text(size)}"
                mine = get(path, op, size, 1, "MiB/s", "softhca")
                yield from ratio(f"{name} / rxe", mine, get(path, op, size, 1, "MiB/s", "rxe"), times)
                yield from ratio(f"{name} / {other}", mine, best, part)
    for op in ("WRITE", "SEND"):
        for path, times in (("device", 10), ("veth9000", 3)):
            yield from ratio(f"{path} {op} 8 B rate / rxe", get(path, op, 8, 1, "op/s", "softhca"),
                             get(path, op, 8, 1, "op/s", "rxe"), times)
        name = f"{op}_LIST16"
        yield from ratio(f"veth9000 {name} 8 B rate / rxe", get("veth9000", name, 8, 1, "op/s", "softhca"),
                         get("veth9000", name, 8, 1, "op/s", "rxe"), 5)
        for path, part in (("device", 0.2), ("veth9000", 0.5)):
            mine = get(path, op, 8, 1, "us", "softhca")
            yield from ratio(f"{path} {op} 8 B latency / rxe", mine, get(path, op, 8, 1, "us", "rxe"), part, False)
            yield from ratio(f"{path} {op} 8 B latency p99 / own median",
                             get(path, op, 8, 1, "us", "softhca", "p99"), mine, 3, False)
    for path in ("device", "veth9000"):
        yield from ratio(f"{path} SEND event-driven latency / rxe", get(path, "SEND_EVENT", 8, 1, "us", "softhca"),
                         get(path, "SEND_EVENT", 8, 1, "us", "rxe"), 0.5, False)
        mine = get(path, "SEND_EVENT", 8, 1, "instr/op", "softhca")
        yield from ratio(f"{path} SEND event-driven, instructions / rxe", mine,
                         get(path, "SEND_EVENT", 8, 1, "instr/op", "rxe"), 0.5, False)
        yield from ratio(f"{path} SEND event-driven, instructions / 15,000", mine, 15000, 1, False)
        yield from ratio(f"{path} SEND event-driven, instructions by perftest / 15,000",
                         get(path, "SEND_EVENT_LAT", 8, 1, "instr/op", "softhca"), 15000, 1, False)
        if path == "device":
            for op, many in (("QP_WRITE", 1000), ("QP_LIFE", 10000), ("MR_LIFE", 100000)):
                yield from ratio(f"device {op}, instructions with {many:,} / with one",
                                 get(path, op, 8, many, "instr/op", "softhca"),
                                 get(path, op, 8, 1, "instr/op", "softhca"), 1.1, False)
        yield from ratio(f"{path} WRITE 64 KiB, 64 QPs / 1 QP", get(path, "WRITE", 1 << 16, 64, "MiB/s", "softhca"),
                         get(path, "WRITE", 1 << 16, 1, "MiB/s", "softhca"), 0.9)
    for op in ("WRITE", "SEND"):
        for role in ("TO", "FROM"):
            yield from ratio(f"veth9000 {op}_{role}_RXE 64 KiB / rxe to rxe",
                             get("veth9000", f"{op}_{role}_RXE", 1 << 16, 1, "MiB/s", "softhca"),
                             get("veth9000", op, 1 << 16, 1, "MiB/s", "rxe"), 1)

    for op, size, depth, times in (("READ", 1 << 12, 1, 1.5), ("WRITE", 1 << 12, 1, 1.5), ("READ", 1 << 12, 8, 2),
                                   ("WRITE", 1 << 12, 8, 2), ("READ", 1 << 17, 4, 2), ("WRITE", 1 << 17, 4, 2)):
        name = f"NVMe {op} {size_text(size)}, depth {depth}"
        for other in "tcp", "rxe":
            yield from ratio(f"{name} / {other}", get("nvme9000", op, size, depth, "op/s", "softhca"),
                             get("nvme9000", op, size, depth, "op/s", other), times if other == "tcp" else 1)
            yield from ratio(f"{name}, instructions / {other}",
                             get("nvme9000", op, size, depth, "instr/op", "softhca"),
                             get("nvme9000", op, size, depth, "instr/op", other),
                             1 / times if other == "tcp" else 1, False)


def print_bars(rows):
    lines = []
    missed = 0
    for what, value, bar, more in bars(rows):
        met = value >= bar if more else value <= bar
        missed += not met
        lines.append([what, f"{value:.2f}", f"{'>=' if more else '<='} {bar:g}", "" if met else "missed"])
    if not lines:
        return
    print()
    table(["softhca against the bars", "ratio", "bar", ""], lines, 1)
    print(f"{len(lines) - missed} of {len(lines)} bars met")


def plot(rows, path):
    metrics = [m for m in ("MiB/s", "op/s", "us") if any(k[4] == m for k in rows.keys())]
    if not metrics:
        return  # instructions only

    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    keys = {m: [k for k in rows.keys() if k[4] == m] for m in metrics}
    figure, axes = pyplot.subplots(len(metrics), 1, squeeze=False, layout="constrained",
                                   figsize=(9, 1 + 0.32 * sum(len(k) + 1 for k in keys.values())),
                                   gridspec_kw={"height_ratios": [len(keys[m]) + 1 for m in metrics]})
    for axis, metric in zip(axes[:, 0], metrics):
        for place, who in enumerate(WHOS):
            found = [(i, rows.by_key[k + (who,)]) for i, k in enumerate(keys[metric]) if rows.get(*k, who)]
            if not found:
                continue
            spread = [[r["median"] - r["min"] for _, r in found], [r["max"] - r["median"] for _, r in found]]
            axis.barh([i + (place - 2) * 0.16 for i, _ in found], [r["median"] for _, r in found], 0.16,
                      xerr=spread, label=who, error_kw={"linewidth": 0.6})
        axis.set_yticks(range(len(keys[metric])))
        axis.set_yticklabels([f"{p} {o} {size_text(s)}" + (f" x{q}" if q > 1 else "") for p, o, s, q, _ in keys[metric]],
                             fontsize=7)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlabel(f"{metric}, median with min and max" + (" (less is better)" if metric == "us" else ""))
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=120)


# of plot_sizes(): (path, operation, who, words, colour)
BY_SIZE = (
    ("device", "WRITE", "softhca", "softhca in one namespace", "#7b4ddb"),
    ("veth9000", "STREAM", "tcp", "TCP over veth", "#66748a"),
    ("veth9000", "WRITE", "softhca", "softhca over veth", "#2463d6"),
    ("veth9000", "WRITE", "rxe", "Soft-RoCE (rxe) over veth", "#b96a00"),
)
FEWEST_SIZES = 4


def plot_sizes(rows, path):
    """How fast one connection writes, by the size of a message. Nothing where few sizes were measured."""
    lines = []
    for where, op, who, words, colour in BY_SIZE:
        found = sorted((r["size"], r["median"], r["min"], r["max"]) for r in rows.rows
                       if (r["path"], r["op"], r["who"], r["metric"], r["qps"]) == (where, op, who, "MiB/s", 1) and r["reps"])
        if len(found) >= FEWEST_SIZES:
            lines.append((words, colour, *zip(*found)))
    if not any(words.startswith("softhca") for words, *_ in lines):
        return

    import matplotlib
    matplotlib.use("Agg")
    # Words are words, which any font shows; the same figures make the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "softhca", "font.size": 10})
    from matplotlib import pyplot, ticker

    figure, axis = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for words, colour, sizes, medians, least, most in lines:
        axis.fill_between(sizes, least, most, color=colour, alpha=0.15, linewidth=0)
        axis.plot(sizes, medians, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=words)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    shown = []
    for size in sorted({size for _, _, sizes, *_ in lines for size in sizes}):
        if not shown or size >= 4 * shown[-1]:     # (else their words touch)
            shown.append(size)
    axis.set_xticks(shown, [size_text(size) for size in shown])
    axis.minorticks_off()
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
    axis.set_ylabel("MiB/s")
    axis.set_xlabel("size of a message")
    axis.grid(axis="y", color="#dfe5ee", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.legend(frameon=False, loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("json")
    parser.add_argument("--plot", metavar="FILE.png")
    parser.add_argument("--sizes", metavar="FILE.svg", help="a WRITE by its size")
    args = parser.parse_args()
    with open(args.json) as data:
        rows = Rows(json.load(data)["rows"])
    print_all(rows)
    print_bars(rows)
    if args.plot:
        plot(rows, args.plot)
    if args.sizes:
        plot_sizes(rows, args.sizes)


if __name__ == "__main__":
    main()
