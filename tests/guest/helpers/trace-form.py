#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks a drawing of a recording: it is well-formed, and has all that the recording has.

  trace-form.py RECORDING DRAWING      by the end of DRAWING's name

Used by ops/trace-record.sh, on a recording with losses. What was sent and lost is found out here in
another way: packets that are in shca_tx more often than in shca_rx.
"""

import collections
import html.parser
import json
import re
import subprocess
import sys
import xml.etree.ElementTree

recording, drawing = sys.argv[1:]
report = subprocess.run(["trace-cmd", "report", "-q", recording], capture_output=True, text=True, check=True).stdout
# (a window that changes is drawn nowhere: a time-out, for one, does that)
events = [e for e in re.findall(r" (shca_\w+): +(.*)", report) if e[0] != "shca_congestion"]
sent, arrived = collections.Counter(), collections.Counter()
nr_shown = len(events)
# (a refused verb may be of no connection, and is on no page then)
nr_bare = sum(name == "shca_refused" for name, _ in events)
for name, text in events:
    fields = dict(re.findall(r"(\w+)=(\S+)", text))
    # An event may be of several packets, which are shown one by one.
    packets = int(fields.get("packets", 1))
    nr_shown += packets - 1
    for i in range(packets):
        psn = str((int(fields.get("psn", 0)) + i) & 0xffffff)
        if name == "shca_tx":
            sent[fields["dqpn"], psn, fields["opcode"]] += 1
        if name == "shca_rx":
            arrived[fields["qpn"], psn, fields["opcode"]] += 1
lost = sum((sent - arrived).values())
nr_sent = sum(sent.values())
posts = sum(name == "shca_post" for name, _ in events)
complete = sum(name == "shca_complete" for name, _ in events)
text = open(drawing, "rb").read()
wrong = []
# of a row in the page
POST, TX, COMPLETE, LOST, AGAIN = 0, 1, 6, 2, 16


def want(what, got, expected):
    if got != expected:
        wrong.append(f"{what}: {got}, not {expected}")


def is_page(page):
    """One page that asks for nothing else, with all events"""
    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            for name, value in attrs:
                if name in ("src", "href", "srcset", "data", "action") or tag in ("link", "iframe", "img", "base"):
                    wrong.append(f"<{tag} {name}={value}>")
    Tags().feed(page)
    if re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest|WebSocket", page):
        wrong.append("the page has an address")
    data, fields = (json.loads(re.search(rf'id="{id}">(.*?)</script>', page, re.S)[1]) for id in ("recording", "fields"))
    rows = [row for conn in data["conns"] for row in conn["rows"]]
    # (kind, ns, flight, bits, ...: tools/softhca/trace/trace_html.c)
    packets = [row for row in rows if row[0] == TX]
    nr = sum(conn["sum"]["events"] for conn in data["conns"])
    want("events", nr_shown - nr_bare <= nr <= nr_shown, True)
    want("rows with fields", [len(conn) for conn in fields], [len(conn["rows"]) for conn in data["conns"]])
    want("requests", len(data["wrs"]), posts)
    want("posts", sum(row[0] == POST for row in rows), posts)
    want("completions", sum(row[0] == COMPLETE for row in rows), complete)
    want("lost", sum(bool(row[3] & LOST) for row in packets), lost)
    want("packets sent", len(packets), nr_sent)
    want("packets that arrived", sum(row[2] > 0 for row in packets), nr_sent - lost)
    if not any(row[3] & AGAIN for row in packets):
        wrong.append("nothing was sent again")
    bare = sum(row[6] < 0 for row in packets)
    if bare > nr_sent // 100:
        wrong.append(f"{bare} of {nr_sent} packets without a request")
    unfinished = [wr for wr in data["wrs"] if wr[3] not in ("SUCCESS", "")]
    want("requests that failed", unfinished, [])


if drawing.endswith(".txt"):
    page = text.decode()
    want("lost", len(re.findall(r"[│✗] lost$|^ *-?[0-9.]+ \w+ +lost [│✗]", page, re.M)), lost)
    want("posts", page.count(" post "), posts)
    want("headline", re.findall(r"^(\d+) requests in .*?: (\d+) packets? lost, ", page), [(str(posts), str(lost))])
elif drawing.endswith(".html"):
    is_page(text.decode())
elif drawing.endswith(".svg"):
    tree = xml.etree.ElementTree.fromstring(text)
    if not tree.tag.endswith("svg") or len(tree.findall(".//{*}path[@class='ask']")) < 10:
        wrong.append("no drawing")
    want("headline", re.findall(rb">(\d+) requests in [^<]*?: (\d+) packets? lost, ", text), [(b"%d" % posts, b"%d" % lost)])
elif drawing.endswith(".json"):
    list_ = json.loads(text)["traceEvents"]
    cats = collections.Counter(e.get("cat", "").split(",")[0] for e in list_ if e["ph"] == "X")
    want("packets sent", cats["tx"], nr_sent)
    starts = {e["id"] for e in list_ if e["ph"] == "s"}
    want("arrows", starts, {e["id"] for e in list_ if e["ph"] == "f"})
    want("requests", cats["request"], posts)
    want("requests that ended", sum(e["ph"] == "X" and e["cat"] == "request" and e["args"]["status"] == "SUCCESS" for e in list_) +
         sum(e["ph"] == "i" and e["cat"] == "completion" for e in list_), complete)
else:
    out = subprocess.run(["tshark", "-r", drawing, "--disable-protocol", "rpcordma", "-T", "fields", "-e", "infiniband.bth.psn", "-e", "infiniband.bth.destqp",
                          "-e", "frame.comment", "-e", "_ws.malformed"], capture_output=True, text=True, check=True).stdout
    rows = [row.split("\t") for row in out.splitlines()]
    want("packets", len(rows), nr_sent)
    want("lost", sum("receiver: lost" in row[2] for row in rows), lost)
    want("PSNs", collections.Counter(row[0] for row in rows if row[0]), collections.Counter(psn for _, psn, _ in sent.elements()))
    want("malformed", [row for row in rows if row[3]][:3], [])
print(f"{len(events)} events, {nr_sent} packets, {lost} lost, {posts} requests; wrong: {wrong[:8]}")
sys.exit(bool(wrong) or not lost or not posts)
