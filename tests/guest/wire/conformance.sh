#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 300
#
# Crafted packets against live QPs (tests/userspace/wire): what the device
# answers, completes and sends, rule by rule.
. "$(dirname "$0")/../lib.sh"

wire=$test_programs/wire/wire
[ -x "$wire" ] || skip "tests/userspace/wire is not installed"
python3 -c 'import pyverbs.qp' || skip "python3-pyverbs is not installed"

make_namespaces 1500
add_device shca_a veth_a "$ns_a"
run wait_for 10 gid_index shca_a "$ip4_a"
run wait_for 10 gid_index shca_a "$ip6_a"
# packets as they are on a wire, not super-packets (but for the cases about those)
in_a ethtool -K veth_a tso off gso off tx-udp-segmentation off 2>/dev/null
run in_a softhca dev set shca_a path wire

more=()
[ -z "${SHCA_SOAK-}" ] || more=(--long --rounds 20)
# One CPU: what two CPUs put into a veth may overtake each other, and cases are
# about the order of packets.
# (1: some case says "not ok"; a number of all says that it came to its end)
taskset -c 0 "$wire" --device shca_a "${more[@]}" | tee /tmp/wire.out
status=${PIPESTATUS[0]}
if [ "$status" -gt 1 ] || ! grep -q '^# [1-9][0-9]* cases, ' /tmp/wire.out; then
	fail "the suite ended with status $status"
fi
