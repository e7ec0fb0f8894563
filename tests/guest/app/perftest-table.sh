#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# perftest as a table of combinations (perftest-table tells which): operation,
# transport, size, MTU, GID family, events, QPs, SRQ, direction, rdma_cm. In
# make check the first rows of the pairwise table, in make soak the table and
# then every valid combination (thousands), but for kernels with checkers, where it
# would take days. ROWS=short|pairs|all overrides that.
#
# Rows take about 3 s each in an emulated guest, so that the product of them takes
# five hours; its limit in make soak is ten (twenty times this).
#
# timeout: 1800
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../perftest-rows"

mtu_now=1500
set_mtu() {
	[ "$1" != "$mtu_now" ] || return 0
	in_a ip link set veth_a mtu "$1" && in_b ip link set veth_b mtu "$1" && mtu_now=$1
}

make_pair $mtu_now
# A UC message of 8 MiB is 2048 packets, none of which may be lost where a CPU
# does not come to receiving.
run sysctl -q net.core.netdev_max_backlog=10000
# shellcheck disable=SC2034 # of perftest-rows
declare -A address=([4]=$ip4_b [6]=$ip6_b) path_a path_b
near=shca_a far=shca_b
path_a=([4]="-x $(gid_index $near $ip4_a)" [6]="-x $(gid_index $near $ip6_a)")
path_b=([4]="-x $(gid_index $far $ip4_b)" [6]="-x $(gid_index $far $ip6_b)")
perftest_tables
