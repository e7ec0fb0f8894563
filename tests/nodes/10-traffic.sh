#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two kernels that share nothing but an Ethernet: RC, UC and UD with checked data
# over IPv4 and IPv6, rdma_cm, and bandwidth runs at MTU 1500 and 9000.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"

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
rx_packets() { cat /sys/class/infiniband/shca0/ports/1/hw_counters/rx_packets; }
wire_is_used() { [ "$(rx_packets)" -gt 1000 ]; }

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
# While rping runs both ends know that the other is a softhca: nothing on the wire says
# so, but ECE, which librdmacm carries.
# (the details are on lines of their own)
qp_says_peer_known() { rdma -dd resource show qp | grep -A 4 'type RC' | grep -q 'peer_known 1'; }
ece_tells_the_peers() {
	local pid here=0 there=0
	(between_nodes timeout $((20 * slow)) rping -s -a $ip4_2 -C 1000000 -- \
		timeout $((20 * slow)) rping -c -a $ip4_2 -C 1000000) >/tmp/long-rping 2>&1 &
	pid=$!
	wait_for 15 qp_says_peer_known && here=1
	# (functions of this file are not there)
	wait_for 5 on node2 sh -c 'rdma -dd resource show qp | grep -A 4 "type RC" | grep -q "peer_known 1"' && there=1
	wait "$pid"
	[ $here = 1 ] && [ $there = 1 ] || { echo "here $here, there $there"; cat /tmp/long-rping; return 1; }
}
check ece_tells_the_peers ece_tells_the_peers
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
