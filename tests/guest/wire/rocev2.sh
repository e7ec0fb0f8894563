#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What travels as packets is RoCEv2 to those who look: tcpdump sees UDP port
# 4791 on the netdev, tshark decodes it; also on one device with itself, which
# goes over lo, as all packets of a host to itself.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

# what passes NETDEV while COMMAND runs
watch() {
	local netdev=$1
	shift
	capture /tmp/wire.pcap "-i $netdev" "$@"
}
packets() { tcpdump -n -r /tmp/wire.pcap 2>/dev/null | wc -l; }
decoded() { tshark -r /tmp/wire.pcap -T fields -e infiniband.bth.opcode 2>/dev/null | sort | uniq -c; }
some_packets() { echo "$(packets) packets"; [ "$(packets)" -gt 0 ]; }
all_decoded() { decoded; [ "$(tshark -r /tmp/wire.pcap -Y infiniband 2>/dev/null | wc -l)" = "$(packets)" ]; }

pair_pingpong() {
	between_pair ibv_rc_pingpong -c -n 20 -d shca_b -g "$(gid_index shca_b "$1")" -- \
		ibv_rc_pingpong -c -n 20 -d shca_a -g "$(gid_index shca_a "$2")" ADDRESS
}
self_pingpong() {
	local gid
	gid=$(gid_index shca_a $ip4_a)
	on_itself ibv_rc_pingpong -c -n 20 -d shca_a -g "$gid" -- \
		ibv_rc_pingpong -c -n 20 -d shca_a -g "$gid" ADDRESS
}

make_pair 1500
run in_a softhca dev set shca_a path wire
run in_b softhca dev set shca_b path wire
check pair_ipv4 watch veth_a pair_pingpong $ip4_b $ip4_a
check pair_ipv4_is_seen some_packets
check pair_ipv4_is_decoded all_decoded
check pair_ipv6 watch veth_a pair_pingpong $ip6_b $ip6_a
check pair_ipv6_is_seen some_packets
check pair_ipv6_is_decoded all_decoded
check self_wire watch any self_pingpong
check self_wire_is_seen some_packets
