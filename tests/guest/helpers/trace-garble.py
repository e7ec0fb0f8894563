#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Makes a recording that means harm out of a right one, without changing its length.

  trace-garble.py RECORDING OUT [DEVICE]

What is decided about each packet becomes a word of 600 letters. With DEVICE, its name becomes
escape sequences where a mark tells of a queue pair. Used by ops/trace-record.sh.
"""

import re
import sys

recording, out = sys.argv[1:3]
with open(recording, "rb") as file:
    data = file.read()


def long_verdict(match):
    new = b'"qpn=%#x psn=%u opcode=X verdict=' + 600 * b"A" + b'", REC->qpn, REC->psn'
    assert len(new) <= len(match[2]), "the format is too short"
    return match[1] + new.ljust(len(match[2]))


data, nr = re.subn(rb"(name: shca_rx_verdict\n.*?\nprint fmt: )([^\n]*)", long_verdict, data, count=1, flags=re.S)
assert nr == 1, "no verdicts"
if sys.argv[3:]:
    name = sys.argv[3].encode()
    mark = b"softhca: qp dev="
    assert mark + name in data, "no mark of the device"
    # (the second is the same in one character, U+009B)
    data = data.replace(mark + name, mark + b"\x1b[31m".ljust(len(name), b"X"), 1)
    data = data.replace(mark + name, mark + b"\xc2\x9b4m".ljust(len(name), b"Y"))
with open(out, "wb") as file:
    file.write(data)
