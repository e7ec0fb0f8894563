#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Beside connection tracking: a flow that comes only in batches, which never
# pass UDP, is confirmed all the same.  UC answers nothing, so there is no lone
# packet of the same flow that would be confirmed by itself.
. "$(dirname "$0")/../lib.sh"

make_namespaces 9000
# before the device: then its hook, of the same priority, stands before that of
# conntrack; and only our flows are tracked
in_b nft 'add table inet own;
	add chain inet own pre { type filter hook prerouting priority raw; };
	add chain inet own out { type filter hook output priority raw; };
	add chain inet own in { type filter hook input priority 0; };
	add rule inet own pre udp dport != 4791 notrack; add rule inet own pre meta l4proto != udp notrack;
	add rule inet own out udp dport != 4791 notrack; add rule inet own out meta l4proto != udp notrack;
	add rule inet own in udp dport 4791 ct state new counter accept' || skip "no nftables with conntrack here"
add_device shca_a veth_a "$ns_a"
add_device shca_b veth_b "$ns_b"
run wait_for 10 gid_index shca_a "$ip4_a"
run wait_for 10 gid_index shca_b "$ip4_b"

flows() { in_b sysctl -n net.netfilter.nf_conntrack_count; }
# one in, one out
both_flows_are_known() {
	local before after
	before=$(flows)
	between_pair ibv_uc_pingpong -c -n 50 -s 20000 -d shca_b -g "$(gid_index shca_b $ip4_b)" -- \
		ibv_uc_pingpong -c -n 50 -s 20000 -d shca_a -g "$(gid_index shca_a $ip4_a)" ADDRESS || return 1
	after=$(flows)
	echo "flows before: $before, after: $after"
	[ $((after - before)) = 2 ]
}
check both_flows_are_known both_flows_are_known
