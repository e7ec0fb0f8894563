#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two devices on two netdevs of one namespace reach each other, as two adapters
# of a host do: within the host, on the direct path or as packets on `lo`, and not
# by the wires. About 15 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

other4=10.79.1.1 other6=fd79:1::1
modprobe dummy || fail "no dummy"
make_namespaces 1500
add_device shca_a veth_a "$ns_a"
run in_a ip link add dummy_a type dummy
run in_a ip addr add $other4/24 dev dummy_a
run in_a ip -6 addr add $other6/64 dev dummy_a nodad
run in_a ip link set dummy_a up
add_device shca_c dummy_a "$ns_a"
for address in $ip4_a $ip6_a; do run wait_for 10 gid_index shca_a "$address"; done
for address in $other4 $other6; do run wait_for 10 gid_index shca_c "$address"; done

# For IPv4 the RDMA core itself asks for a neighbour on the source's netdev, also
# where the address is of this host and nobody out there has it.
run in_a ip neigh replace $other4 dev veth_a nud permanent lladdr "$(in_a cat /sys/class/net/dummy_a/address)"
run in_a ip neigh replace $ip4_a dev dummy_a nud permanent lladdr "$(in_a cat /sys/class/net/veth_a/address)"

pingpong() { # KIND ADDRESS_A ADDRESS_C
	local gid_a gid_c
	gid_a=$(gid_index shca_a "$2") gid_c=$(gid_index shca_c "$3")
	on_itself "ibv_${1}_pingpong" -n 20 -d shca_c -g "$gid_c" -- \
		timeout $((20 * slow)) "ibv_${1}_pingpong" -n 20 -d shca_a -g "$gid_a" ADDRESS
}
left() { in_a cat /sys/class/net/veth_a/statistics/tx_packets; }
is_direct() {
	local before
	before=$(counter shca_a tx_direct_packets)
	"$@" || return
	echo "direct packets: $before before, $(counter shca_a tx_direct_packets) after"
	[ "$(counter shca_a tx_direct_packets)" -ge $((before + 20)) ]
}
# (neighbour discovery and the like may pass meanwhile)
stays_here() {
	local before
	before=$(left)
	"$@" || return
	echo "packets that left by the wire: $(($(left) - before))"
	[ $(($(left) - before)) -lt 10 ]
}
# (With IPv4 the RDMA core looks for the peer behind the first netdev alone when a
# QP is connected without rdma_cm, and refuses.)
check direct is_direct pingpong rc $ip6_a $other6
check ud stays_here pingpong ud $ip6_a $other6
run in_a softhca dev set shca_a path wire
run in_a softhca dev set shca_c path wire
check wire stays_here pingpong rc $ip6_a $other6
check uc stays_here pingpong uc $ip6_a $other6

rping_to() {
	local pid status=0
	ip netns exec $ns_a rping -s -V -C 3 -a "$1" >/tmp/rping 2>&1 &
	pid=$!
	wait_for 10 eval "rdma resource show cm_id | grep -q 'state LISTEN.* pid $pid '" || status=1
	in_a timeout $((20 * slow)) rping -c -V -C 3 -a "$1" || status=1
	[ $status = 0 ] || kill $pid
	wait $pid || status=1
	cat /tmp/rping
	return $status
}
check rdma_cm rping_to $other4
check rdma_cm.ipv6 rping_to $other6
