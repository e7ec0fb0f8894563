#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# UC, UD and shared receive queues with the programs of rdma-core, between two
# namespaces, IPv4 and IPv6 GIDs, polling and events; datagrams, their headers and
# errors in detail, also from a VLAN and from behind a router.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

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

# ---- datagrams: what the receiver learns, answers by ibv_create_ah_from_wc, errors

for family in 4 6; do
	verbs "ipv$family" ud -d shca_a -p shca_b -f $family
done
verbs itself ud -d shca_a -f 4

# a VLAN: its address, and no other, is the way back
for side in a b; do
	if [ $side = a ]; then host=1; else host=2; fi
	run ip -n shca-$side link add link veth_$side name veth_$side.5 type vlan id 5
	run configure shca-$side veth_$side.5 10.78.5.$host fd78:5::$host
	for address in 10.78.5.$host fd78:5::$host; do
		run wait_for 10 gid_index "shca_$side" "$address"
	done
done
run wait_for 10 in_a ping -q -c 1 -W 1 fd78:5::2
verbs vlan_ipv4 ud -d shca_a -p shca_b -g "$(gid_index shca_a 10.78.5.1)" -G "$(gid_index shca_b 10.78.5.2)"
verbs vlan_ipv6 ud -d shca_a -p shca_b -g "$(gid_index shca_a fd78:5::1)" -G "$(gid_index shca_b fd78:5::2)"

# sources that are no neighbours: a router is the way to them
run in_a ip addr add 10.99.0.1/32 dev veth_a
run in_a ip -6 addr add fd99::1/128 dev veth_a nodad
run in_b ip route add 10.99.0.1 via $ip4_a
run in_b ip -6 route add fd99::1 via $ip6_a
for address in 10.99.0.1 fd99::1; do run wait_for 10 gid_index shca_a $address; done
verbs foreign_ipv4 ud -d shca_a -p shca_b -g "$(gid_index shca_a 10.99.0.1)" -G "$(gid_index shca_b $ip4_b)"
verbs foreign_ipv6 ud -d shca_a -p shca_b -g "$(gid_index shca_a fd99::1)" -G "$(gid_index shca_b $ip6_b)"
