#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# UC, UD and shared receive queues with the programs of rdma-core, between two
# namespaces, IPv4 and IPv6 GIDs, polling and events.
. "$(dirname "$0")/lib.sh"

# pingpong NAME PROGRAM ADDRESS_A ADDRESS_B ARGUMENT...
pingpong() {
	local name=$1 program=$2 gid_a gid_b
	gid_a=$(gid_index shca_a "$3")
	gid_b=$(gid_index shca_b "$4")
	shift 4
	check "$name" between_pair "$program" -d shca_b -g "$gid_b" "$@" -- \
		"$program" -d shca_a -g "$gid_a" "$@" ADDRESS
}

make_pair 9000
for events in '' -e; do
	# shellcheck disable=SC2086 # no word where it is empty
	{
		pingpong "uc_ipv4$events" ibv_uc_pingpong $ip4_a $ip4_b -c -n 50 -s 20000 $events
		pingpong "uc_ipv6$events" ibv_uc_pingpong $ip6_a $ip6_b -c -n 50 -s 20000 $events
		pingpong "ud_ipv4$events" ibv_ud_pingpong $ip4_a $ip4_b -c -n 50 -s 2000 $events
		pingpong "ud_ipv6$events" ibv_ud_pingpong $ip6_a $ip6_b -c -n 50 -s 2000 $events
		pingpong "srq_ipv4$events" ibv_srq_pingpong $ip4_a $ip4_b -c -n 50 $events
		pingpong "srq_ipv6$events" ibv_srq_pingpong $ip6_a $ip6_b -c -n 50 $events
	}
done
