#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# Applications of our own over what Debian has no program for (tests/userspace/apps): RDS,
# SMC-R with PNETIDs, Gloo's ibverbs transport. Every byte is compared. About 25 s.
. "$(dirname "$0")/../lib.sh"

programs=$test_programs
made=
# moved DEVICE : packets that it sent, also those that were executed directly
moved() {
	local port=/sys/class/infiniband/$1/ports/1 a b
	read -r a <"$port/counters/port_xmit_packets"
	read -r b <"$port/hw_counters/tx_direct_packets"
	echo $((a + b))
}

# ---- SMC-R: a TCP program's connection, in two namespaces

if modprobe smc && modprobe smc_diag; then
	at_exit modprobe -r smc_diag smc
	make_pair 1500
	made=yes
	# (a label of each end: all devices of this kernel are in one list, and both networks the
	# same. Other namespaces than the initial one cannot label RDMA devices.)
	for side in a b; do
		run ip netns exec shca-$side "$programs/smc" pnet SIDE$side veth_$side -
		run "$programs/smc" pnet SIDE$side - shca_$side
	done
	# (one table for all namespaces)
	run "$programs/smc" eid SOFTHCA
	smc() { # BYTES
		local server before
		before=$(moved shca_a)
		ip netns exec $ns_b "$programs/smc" server 7000 &
		server=$!
		wait_for 20 smc_listens
		in_a timeout $((20 * slow)) "$programs/smc" client $ip4_b 7000 "$1" || { kill $server; return 1; }
		wait $server && [ $(($(moved shca_a) - before)) -gt $(($1 / 4096)) ]
	}
	smc_listens() { ip netns exec $ns_b ss -Hltn 'sport = :7000' | grep -q .; }
	check smc.small smc 1000
	check smc.large smc 8000000
else
	echo "skip smc # this kernel has no SMC"
fi

# ---- Gloo: three ranks on one device

if [ -x "$programs/gloo" ]; then
	[ -n "$made" ] || make_pair 1500
	gloo() {
		local gid rank ranks=3 pids=() status=0 before
		before=$(moved shca_a)
		gid=$(gid_index shca_a $ip4_a) || return
		rm -rf /tmp/gloo
		mkdir /tmp/gloo
		for ((rank = 0; rank < ranks; rank++)); do
			ip netns exec $ns_a timeout $((20 * slow)) "$programs/gloo" shca_a "$gid" $rank $ranks /tmp/gloo &
			pids+=($!)
		done
		for rank in "${pids[@]}"; do wait "$rank" || status=1; done
		[ $(($(moved shca_a) - before)) -gt 1000 ] && [ $status = 0 ]
	}
	check gloo gloo
fi

# ---- RDS: it knows the initial namespace only

# A connection that comes takes RDS's rds_trans_sem within rdma_cm's handler_mutex, and a socket's
# bind() the other way round (net/rds, with every device): lockdep says so and is off from then on.
[ ! -e /proc/lockdep ] || { echo "skip rds # net/rds takes two locks in both orders"; exit 0; }
[ -z "$made" ] || { ip netns del $ns_a; ip netns del $ns_b; }
modprobe rds_rdma || { echo "skip rds # this kernel has no RDS"; exit 0; }
at_exit modprobe -r rds_rdma
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add 10.78.0.1/24 dev veth_a
run ip addr add 10.78.0.2/24 dev veth_a
run ip link set lo up
run ip link set veth_a up
run ip link set veth_b up
add_device shca_a veth_a
run wait_for 10 gid_index shca_a 10.78.0.1
run wait_for 10 gid_index shca_a 10.78.0.2
before=$(moved shca_a)
"$programs/rds" 10.78.0.1 10.78.0.2 | sed -u -E 's/^(ok|not ok) /\1 rds./'
check rds.it_was_rdma [ $(($(moved shca_a) - before)) -gt 1000 ]
check rds.link_delete_in_use link_delete shca_a
