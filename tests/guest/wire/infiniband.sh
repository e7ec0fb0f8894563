#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 300
#
# The cases of wire/conformance over an InfiniBand link: crafted packets with LRH, with and
# without GRH, against live QPs. `make soak` runs all of them, `make check` a part.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

wire=$test_programs/wire/wire
[ -x "$wire" ] || skip "tests/userspace/wire is not installed"
python3 -c 'import pyverbs.qp' || skip "python3-pyverbs is not installed"
command -v ibportstate >/dev/null || skip "this guest has no infiniband-diags"
modprobe ib_umad || skip "this kernel has no ib_umad"

two_ports 1500
make_active shib_a 17
# The suite looks at packets, and not at batches.
run in_a softhca dev set shib_a path wire
run in_b softhca dev set shib_b path wire

more=(pkt resp.c resp.nak resp.send resp.write resp.read resp.atomic req.ack req.nak req.rnr req.read req.send uc ud)
[ -z "${SHCA_SOAK-}" ] || more=(--long)
# (1: some case says "not ok"; a number of all says that it came to its end)
taskset -c 0 "$wire" --device shib_a --peer-device shib_b "${more[@]}" | tee /tmp/wire.out
status=${PIPESTATUS[0]}
if [ "$status" -gt 1 ] || ! grep -q '^# [1-9][0-9]* cases, ' /tmp/wire.out; then
	fail "the suite ended with status $status"
fi
