#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Checks raw dumps of objects: each is of that length, and says so in its first word.

  raw-dumps.py FILE BYTES      FILE: what "rdma -j -r resource show OBJECT" printed

Used by ops/observability.sh.
"""

import json
import struct
import sys

path, length = sys.argv[1], int(sys.argv[2])
with open(path, encoding="utf-8") as file:
    dumps = [row["data"] for row in json.load(file) if "data" in row]
print("dumps:", len(dumps))
assert dumps
for dump in dumps:
    data = bytes(byte & 0xff for byte in dump)
    assert len(data) == length, len(data)
    assert struct.unpack_from("=I", data)[0] == length
