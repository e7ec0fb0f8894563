#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# ibv_rc_pingpong with checked data: IPv4 and IPv6 GIDs, polling and events,
# between two namespaces and on one device with itself, messages of one packet
# and of many.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

# pingpong NAME HOW SERVER_DEVICE SERVER_ADDRESS CLIENT_ADDRESS ARGUMENT...
pingpong() {
	local name=$1 how=$2 to=$3 server_gid client_gid
	server_gid=$(gid_index "$to" "$4")
	client_gid=$(gid_index shca_a "$5")
	shift 5
	check "$name" "$how" ibv_rc_pingpong -c -d "$to" -g "$server_gid" "$@" -- \
		ibv_rc_pingpong -c -d shca_a -g "$client_gid" "$@" ADDRESS
}

make_pair 1500
for events in '' -e; do
	for size in 4096 100003; do
		# shellcheck disable=SC2086 # no word where it is empty
		{
			set -- -n 50 -s $size $events
			pingpong "pair_ipv4_${size}$events" between_pair shca_b $ip4_b $ip4_a "$@"
			pingpong "pair_ipv6_${size}$events" between_pair shca_b $ip6_b $ip6_a "$@"
			pingpong "self_ipv4_${size}$events" on_itself shca_a $ip4_a $ip4_a "$@"
			pingpong "self_ipv6_${size}$events" on_itself shca_a $ip6_a $ip6_a "$@"
		}
	done
done
