#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two kernels that share nothing but an Ethernet: RC, UC and UD with checked data
# over IPv4 and IPv6, rdma_cm, and bandwidth runs at MTU 1500 and 9000.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"

# shellcheck disable=SC2034 # gid6_* are used by name
find_gids() {
	gid4_1=$(gid_index shca0 $ip4_1) gid6_1=$(gid_index shca0 $ip6_1)
	gid4_2=$(remote node2 gid_index shca0 $ip4_2) gid6_2=$(remote node2 gid_index shca0 $ip6_2)
}

# pingpong PROGRAM FAMILY ARGUMENT... : -c checks each byte, at both ends
pingpong() {
	local program=ibv_$1_pingpong name=$1_ipv$2 gid_1=gid$2_1 gid_2=gid$2_2
	shift 2
	check "$name$mtu" between_nodes "$program" -c -d shca0 -g "${!gid_2}" "$@" -- \
		"$program" -c -d shca0 -g "${!gid_1}" "$@" $ip4_2
}

# wire_is_used : all of that came over the wire, none by a way inside of a kernel
wire_is_used() { [ "$(counter shca0 rx_packets)" -gt 1000 ]; }

mtu=''
make_nodes 1500
find_gids
for family in 4 6; do
	pingpong rc $family -n 20 -s 100003
	pingpong uc $family -n 20 -s 20000
	pingpong ud $family -n 20 -s 1000
done
check rping_ipv4 between_nodes rping -s -v -V -C 3 -S 60000 -a $ip4_2 -- rping -c -v -V -C 3 -S 60000 -a $ip4_2
check rping_ipv6 between_nodes rping -s -v -V -C 3 -S 60000 -a $ip6_2 -- rping -c -v -V -C 3 -S 60000 -a $ip6_2
for mtu in 1500 9000; do
	set_mtu $mtu
	for program in ib_write_bw ib_send_bw; do
		check $program.mtu$mtu between_nodes $program -F -d shca0 -x "$gid4_2" -s 65536 -n 100 -- \
			$program -F -d shca0 -x "$gid4_1" -s 65536 -n 100 $ip4_2
	done
done
mtu=.mtu9000
pingpong rc 4 -n 5 -s 1000003
check wire_is_used wire_is_used
