#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks the fields of trace events: each line has the form of its event, with values that can
be true, and what a lossy link must bring has come.

  trace-fields.py TRACE TRAFFIC     TRAFFIC: the output of tests/userspace/verbs/stress/traffic,
                                    which names its queue pairs

Used by ops/trace-events.sh.
"""

import collections
import re
import sys

number, hexa = r"(\d+)", r"(0x[0-9a-f]+|0)"
opcode, word = "opcode=((RC|UC|UD|XRC)_[A-Z_]+|CNP)", "([A-Z_]+)"
packet = f"qpn={hexa} dqpn={hexa} psn={number} {opcode} ackreq=[01] syndrome={hexa} msn={number} len={number} packets={number} hdr=([0-9a-f]{{24,88}})"
states = "(RESET|INIT|RTR|RTS|SQD|SQE|ERR)"
forms = {
    "shca_post": f"qpn={hexa} wr_id={hexa} opcode={word} flags={hexa} length={number} preset=SUCCESS",
    "shca_tx": packet, "shca_rx": packet, "shca_direct": packet,
    "shca_rx_verdict": f"qpn={hexa} psn={number} {opcode} verdict=([a-z-]+) packets={number}",
    # (of a packet that the link has spoiled the opcode may be any)
    "shca_rx_refused": f"qpn={hexa} psn={number} {opcode[:-1]}|0x[0-9a-f]+) reason=(path|transport|icrc|pkey)",
    "shca_timeout": f"qpn={hexa} psn={number} retries_left=[0-7] failed=0",
    "shca_complete": f"qpn={hexa} wr_id={hexa} status={word} opcode={word} vendor_err={number} byte_len={number}",
    "shca_state": f"qpn={hexa} from={states} to={states} dev=shca_[ab]",
    "shca_refused": f"qpn={hexa} errno={number} why=.+",
    "shca_fault": f"qpn={hexa} rule={number} what=([a-z-]+) hit={number} psn={number} {opcode} wr_id={hexa}",
    "shca_event": f"qpn={hexa} event={word}",
    "shca_congestion": f"qpn={hexa} window={number} widest={number} cnp=[01]",
    "shca_doorbell": f"qpn={hexa} waiting={number}",
    "shca_fetch": f"qpn={hexa} taken={number}",
    "shca_place": f"qpn={hexa} psn={number} opcode={hexa} len={number} remote=[01]",
    "shca_poll": f"cqn={number} taken={number}",
}
forms = {name: re.compile(form) for name, form in forms.items()}
words, counts, wrong = collections.Counter(), collections.Counter(), 0
qpns = set()
event = re.compile(r" (shca_\w+): (.*)$")
for line in open(sys.argv[2]):
    fields = line.split()
    for i, kind in enumerate(fields):
        if fields[0] == "ready" and kind in ("rc", "uc", "ud"):
            qpns |= {int(fields[i + 1], 0), int(fields[i + 3], 0)}
for line in open(sys.argv[1], errors="replace"):
    found = event.search(line)
    if not found:
        continue
    name, text = found.groups()
    counts[name] += 1
    match = name in forms and forms[name].fullmatch(text)
    bad = not match
    psn = re.search(r"\bpsn=(\d+)", text)
    bad |= bool(psn) and int(psn[1]) >= 1 << 24
    # (completions are a queue's, which has no number of this kind)
    qpn = int(re.search(r"\bqpn=(\S+)", text)[1], 0) if name != "shca_poll" else 1
    bad |= not 0 < qpn < 1 << 24 and name != "shca_refused"
    if name in ("shca_tx", "shca_rx") and match:
        # (a run of packets is one event)
        bad |= int(match[8]) > 1500 * int(match[9])
    if name in ("shca_tx", "shca_rx", "shca_direct") and match:
        bad |= int(match[10][10:16], 16) != int(match[2], 0) or int(match[10][18:24], 16) != int(match[3])
    if name in ("shca_tx", "shca_timeout"):
        bad |= qpn not in qpns and qpn != 1
    if name in ("shca_rx_verdict", "shca_rx_refused") and match:
        words[match[5]] += 1
    if bad:
        wrong += 1
        if wrong < 10:
            print("wrong:", line.rstrip())
print(dict(counts), dict(words))
missing = {"ok", "icrc", "out-of-sequence", "nak-sequence"} - set(words)
if missing:
    print("never:", missing)
sys.exit(bool(wrong or missing or not qpns))
