#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What a device advertises can be had, by one process, and not more. Here sizes and
# queues, about 20 s; SHCA_SOAK: each kind. Address handles take what they take on
# Soft-RoCE: at most twice as long (SHCA_SOAK, in both orders).
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

at_exit ip netns del $ns_a
run ip netns add $ns_a
run in_a ip link set lo up
add_device shca_a lo $ns_a
run wait_for 10 gid_index shca_a 127.0.0.1
kinds=(max_srq_wr max_rd_atom max_mcast max_dm_size max_srq max_cq max_qp)
[ -z "${SHCA_SOAK-}" ] || kinds+=(max_wq max_pd max_ah max_mr max_mw)
verbs limits limits -d shca_a -f 4 "${kinds[@]}"
[ -n "${SHCA_SOAK-}" ] || exit 0

# ahs TYPE FAMILY : milliseconds of 8,192 on a device of that type, on the netdev
# veth_a. Of two drivers in one namespace only one can have the UDP port, which
# Soft-RoCE of 6.12 takes when it is loaded.
at_exit ip netns del $ns_b
run ip netns add $ns_b
run modprobe -r rdma_rxe
at_exit modprobe -r rdma_rxe
run ip link add veth_a type veth peer name veth_b netns $ns_b
at_exit ip link del veth_a
run ip -n $ns_b link set veth_b up
run ip link set veth_a up
run ip addr add $ip4_a/24 dev veth_a
run ip addr add $ip6_a/64 dev veth_a nodad
declare -A ms
ahs() {
	[ "$1" != rxe ] || modprobe rdma_rxe || return
	rdma link add ahs_dev type "$1" netdev veth_a && wait_for 10 port_active ahs_dev &&
		wait_for 10 gid_index ahs_dev $ip4_a && wait_for 10 gid_index ahs_dev $ip6_a &&
		"$test_programs/limits" -d ahs_dev -f "$2" first_ahs >/tmp/ahs || return
	cat /tmp/ahs
	rdma link delete ahs_dev
	[ "$1" != rxe ] || modprobe -r rdma_rxe
	ms[$1]=$((${ms[$1]-0} + $(sed -n 's/.* AHs in \([0-9]*\) ms/\1/p' /tmp/ahs)))
}
not_slower() {
	local type
	ms=()
	for type in softhca rxe rxe softhca; do ahs $type "$1" || return; done
	echo "two times 8,192: softhca ${ms[softhca]} ms, rxe ${ms[rxe]} ms"
	[ "${ms[softhca]}" -le $((2 * ms[rxe])) ]
}
check ahs.ipv4 not_slower 4
check ahs.ipv6 not_slower 6
