#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# soak: yes
#
# perftest as a table of combinations (app/perftest-table.sh) across an InfiniBand link with
# path MTU 4096: rows with IPv4 go by LIDs alone, those with IPv6 with a GRH; rdma_cm goes by
# the addresses of IPoIB.
#
# timeout: 1800
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../subnet"
. "$(dirname "$0")/../perftest-rows"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe -a ib_umad ib_ipoib || skip "this kernel has no ib_ipoib"

set_mtu() { :; }
tables=${ROWS:-${SHCA_SOAK:+pairs}}
two_ports 4230
start_opensm -s 2
both_active
enter "$ns_a" shib_a 10.78.0.1
enter "$ns_b" shib_b 10.78.0.2
run ip -n "$ns_a" addr add fd78::1/64 dev ip0 nodad
run ip -n "$ns_b" addr add fd78::2/64 dev ip0 nodad
run wait_for 30 in_a ping -c 1 -W 2 10.78.0.2
run wait_for 30 in_a ping -c 1 -W 2 fd78::2
run sysctl -q net.core.netdev_max_backlog=10000
# shellcheck disable=SC2034 # of perftest-rows
declare -A address=([4]=10.78.0.2 [6]=fd78::2) path_a=([4]="" [6]="-x 0") path_b=([4]="" [6]="-x 0")
near=shib_a far=shib_b
perftest_tables
