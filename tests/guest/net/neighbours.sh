#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Packets that arrive confirm the neighbours of a connected queue pair, as with TCP. Both
# ends send for longer than an entry lasts, and each question about a neighbour is lost, as
# in a queue that is full. Without packets from it, the entry fails. About 20 s.
. "$(dirname "$0")/../lib.sh"

make_pair 1500
# After 0.5 to 1.5 s an entry is old, a second later the host asks, 3 to 6 times.
for end in a b; do
	for family in ipv4 ipv6; do
		neigh=net.$family.neigh.veth_$end
		run ip netns exec shca-$end sysctl -qw "$neigh.base_reachable_time_ms=1000" \
			"$neigh.delay_first_probe_time=1" "$neigh.retrans_time_ms=200"
	done
done
lasts=5

lose_questions() {
	local end
	for end in a b; do
		ip netns exec shca-$end nft "add table netdev own;
			add chain netdev own in { type filter hook ingress device veth_$end priority 0; };
			add rule netdev own in ether type arp drop;
			add rule netdev own in icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } drop" || return
	done
}
answer_questions() { in_a nft flush ruleset && in_b nft flush ruleset; }

# What becomes of the neighbours' entries is told as it changes.
for end in a b; do
	ip -n shca-$end monitor neigh >>/tmp/neighbours.$end &
	at_exit kill -KILL $!
done
failed() { grep -E "^($1|$2) .*FAILED" /tmp/neighbours.[ab]; }

# They are lost once packets have crossed.
moves() { [ "$(counter shca_a rx_packets)" -gt $(($1 + 10)) ]; }
stream() { # OPERATION ADDRESS ADDRESS
	local before pid status=0
	before=$(counter shca_a rx_packets)
	"$test_programs/bench/goodput" -o "$1" -D 2 -t $((lasts + 1)) shca_a "$(gid_index shca_a "$2")" \
		shca_b "$(gid_index shca_b "$3")" >/tmp/stream &
	pid=$!
	wait_for 10 moves "$before" || status=1
	truncate -s 0 /tmp/neighbours.[ab]
	lose_questions || status=1
	wait $pid || status=1
	answer_questions || status=1
	cat /tmp/stream
	[ $status = 0 ] && grep -q '"wrong": 0, "error": ""' /tmp/stream && ! failed "$2" "$3"
}
check ipv4.stream stream WRITE $ip4_a $ip4_b
check ipv6.stream stream READ $ip6_a $ip6_b

# Without packets that arrive, the host asks.
run lose_questions
truncate -s 0 /tmp/neighbours.[ab]
in_a ping -q -c $lasts $ip4_b &
in_a ping -q -c $lasts $ip6_b &
check ipv4.host_asks wait_for 10 failed $ip4_a $ip4_b
check ipv6.host_asks wait_for 10 failed $ip6_a $ip6_b
