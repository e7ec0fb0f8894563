#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 120
#
# A process that writes what it likes into the memory that it shares with the
# kernel (tests/userspace/verbs/hostile/scribble) harms itself at most: verified traffic
# of other processes on the same device goes on, the device can be removed, and
# the kernel says nothing. About 15 s; SHCA_SOAK: 30 minutes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=8
[ -z "${SHCA_SOAK-}" ] || seconds=1800
# a run can be repeated, as far as threads allow
seed=${SHCA_SEED:-$RANDOM$RANDOM}

make_pair 1500
start_traffic wire shca_a shca_b
start_traffic direct shca_a shca_a
scribble() {
	"$test_programs/scribble" -d shca_a -s "$seed" -t "$seconds" | sed -E 's/^(ok|not ok) /&scribbled./'
	return "${PIPESTATUS[0]}"
}
check scribbler_ends scribble
for way in wire direct; do
	check $way.traffic_goes_on traffic_is_alive $way
	check $way.traffic_is_right end_traffic $way
done

noticed() { echo "$(counter shca_a malformed_rings) malformed"; [ "$(counter shca_a malformed_rings)" -gt 0 ]; }
check malformed_rings_are_counted noticed

# nothing is left of it
none_of_scribble() { ! rdma resource show "$1" dev "shca_a" | grep -q "comm scribble"; }
check no_qp_is_left wait_for 10 none_of_scribble qp
check no_mr_is_left wait_for 10 none_of_scribble mr
check device_goes rdma link delete shca_a
