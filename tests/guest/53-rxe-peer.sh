#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's Soft-RoCE as the peer: each operation, both ways, with checked
# data. rxe on 6.12 has the initial namespace, softhca's end is in another.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"

command -v ibv_rc_pingpong >/dev/null || fail "no rdma-core"
modprobe rdma_rxe || skip "this kernel has no rdma_rxe"
at_exit modprobe -r rdma_rxe
at_exit ip netns del $ns_a
run ip netns add $ns_a
run ip link add veth_a mtu 9000 netns $ns_a type veth peer name veth_rxe mtu 9000
at_exit ip link del veth_rxe
run in_a ip addr add $ip4_a/24 dev veth_a
run in_a ip -6 addr add $ip6_a/64 dev veth_a nodad
run ip addr add $ip4_b/24 dev veth_rxe
run ip -6 addr add $ip6_b/64 dev veth_rxe nodad
run in_a ip link set lo up
run in_a ip link set veth_a up
run ip link set veth_rxe up
run rdma link add rxe_b type rxe netdev veth_rxe
at_exit rdma link delete rxe_b
add_device shca_a veth_a $ns_a
for address in $ip4_a $ip6_a; do run wait_for 10 gid_index shca_a "$address"; done
for address in $ip4_b $ip6_b; do run wait_for 10 gid_index rxe_b "$address"; done

# both NAME PROGRAM FAMILY ARGUMENT... : rxe as the server, then softhca as the
# server; the client always connects by IPv4
both() {
	local name=$1 program=$2 family=$3 option=-g shca rxe
	case $program in ib_*) option=-x ;; esac
	eval "shca=\$(gid_index shca_a \$ip${family}_a) rxe=\$(gid_index rxe_b \$ip${family}_b)"
	shift 3
	check "${name}_ipv${family}_to_rxe" pair "" $ns_a \
		"$program" -d rxe_b $option "$rxe" "$@" -- \
		"$program" -d shca_a $option "$shca" "$@" $ip4_b
	check "${name}_ipv${family}_from_rxe" pair $ns_a "" \
		"$program" -d shca_a $option "$shca" "$@" -- \
		"$program" -d rxe_b $option "$rxe" "$@" $ip4_a
}

# at NAMESPACE COMMAND... : "" is the initial one
at() {
	local where=$1
	shift
	if [ -n "$where" ]; then exec ip netns exec "$where" "$@"; else exec "$@"; fi
}

# pair SERVER_NAMESPACE CLIENT_NAMESPACE SERVER... -- CLIENT...
pair() {
	local at_server=$1 at_client=$2 server=() log=/tmp/pair.$$ pid status=0
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	(at "$at_server" "${server[@]}") >"$log" 2>&1 &
	pid=$!
	wait_for 20 listens "$at_server" || status=1
	[ "$status" != 0 ] || (at "$at_client" timeout $((60 * slow)) "$@") || status=$?
	[ "$status" = 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || status=$((status ? status : $?))
	[ "$status" = 0 ] || { echo "server's output:"; cat "$log"; }
	return "$status"
}
listens() {
	(at "$1" ss -Hltn) | grep -qE ':(18515|18516) '
}

for family in 4 6; do
	both rc_pingpong ibv_rc_pingpong $family -c -n 30 -s 20000
	both uc_pingpong ibv_uc_pingpong $family -c -n 30 -s 20000
	both ud_pingpong ibv_ud_pingpong $family -c -n 30 -s 1000
done
both write ib_write_bw 4 -s 65536 -n 50
both read ib_read_bw 4 -s 65536 -n 50
both atomic ib_atomic_bw 6 -n 50
run tc qdisc add dev veth_rxe root netem loss 1%
run in_a tc qdisc add dev veth_a root netem loss 1%
both rc_loss ibv_rc_pingpong 4 -c -n 30 -s 20000
