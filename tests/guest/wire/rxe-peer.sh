#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's Soft-RoCE as the peer: each operation of RC, UC and UD, both ways,
# IPv4 and IPv6, every byte checked; RC also where one packet of a hundred is
# lost. rxe on 6.12 has the initial namespace, softhca's end is in another.
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

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
# (make_pair says why)
run wait_for 10 in_a ping -q -c 1 -W 1 "$ip6_b"

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


# verified LABEL FAMILY PROGRAM ARGUMENT... : a program of tests/userspace/verbs
# with softhca as its first device and rxe as the peer, then the other way round
verified() {
	local label=$1 family=$2 program=$3
	shift 3
	verbs "ipv$family.${label}to_rxe" "$program" -d shca_a -p rxe_b -f "$family" "$@"
	verbs "ipv$family.${label}from_rxe" "$program" -d rxe_b -p shca_a -f "$family" "$@"
}

# exchange LABEL FAMILY OPTION... : each operation, in rounds, both ways
exchange() {
	local label=$1 family=$2
	shift 2
	check "ipv$family.${label}to_rxe" \
		"$test_programs/traffic" -d shca_a -p rxe_b -f "$family" "$@"
	check "ipv$family.${label}from_rxe" \
		"$test_programs/traffic" -d rxe_b -p shca_a -f "$family" "$@"
}

# rxe's completions of sends say WITH_IMM, too; with rdma-core 44 it takes more
# requests than it says
of_rxe=only_receives_carry_immediate_data,full_send_queue_refuses,full_receive_queue_refuses
for family in 4 6; do
	exchange operations. $family -n ${SHCA_SOAK:+50}20
	both rc_pingpong ibv_rc_pingpong $family -c -n 30 -s 20000
done
# These send both ways themselves; long enough for packets of 256 bytes.
if [ -z "${SHCA_SOAK-}" ]; then
	verbs ipv4.to_rxe rc_data -d shca_a -p rxe_b -f 4 -m 20000 -x $of_rxe
	verbs ipv6.from_rxe rc_data -d rxe_b -p shca_a -f 6 -m 20000 -x $of_rxe
else
	for family in 4 6; do verified '' $family rc_data -m 400000 -x $of_rxe; done
fi
# windows of either, opened to and closed by the other (mem/regions has the rest, where
# queue pairs are connected anew with the same numbers many times over, which a late
# packet of rxe can spoil)
verbs to_rxe windows -d shca_a -p rxe_b peer_invalidates_a_window
verbs from_rxe windows -d rxe_b -p shca_a peer_invalidates_a_window peer_cannot_invalidate_a_region \
	peer_cannot_close
# ATOMIC WRITE.  Not FLUSH: rxe's table gives it no place for a payload, so that its
# ICRC has the headers twice, and neither end takes what the other sends.
if [[ $(uname -r) != 6.1.* ]]; then # which has neither
	words="atomic_write_stores_the_word atomic_write_is_one_piece"
	# shellcheck disable=SC2086 # several names
	verbs to_rxe flush -d shca_a -p rxe_b $words
	# shellcheck disable=SC2086
	verbs from_rxe flush -d rxe_b -p shca_a $words
fi
both write ib_write_bw 4 -s 65536 -n 50
both read ib_read_bw 4 -s 65536 -n 50
both atomic ib_atomic_bw 6 -n 50
# connections by rdma_cm
for family in 4 6; do
	eval "shca=\$ip${family}_a rxe=\$ip${family}_b"
	# shellcheck disable=SC2154 # set by eval
	{
		check "rping_ipv${family}_to_rxe" cm_between "" $ns_a \
			rping -s -V -C 5 -a "$rxe" -- rping -c -V -C 5 -a "$rxe"
		check "rping_ipv${family}_from_rxe" cm_between $ns_a "" \
			rping -s -V -C 5 -a "$shca" -- rping -c -V -C 5 -a "$shca"
		check "rdma_client_ipv${family}_to_rxe" cm_between "" $ns_a \
			rdma_server -s "$rxe" -p 7471 -- rdma_client -s "$rxe" -p 7471
		check "rdma_client_ipv${family}_from_rxe" cm_between $ns_a "" \
			rdma_server -s "$shca" -p 7471 -- rdma_client -s "$shca" -p 7471
	}
done

run tc qdisc add dev veth_rxe root netem loss 1%
run in_a tc qdisc add dev veth_a root netem loss 1%
# 0.07 s to find a loss that nothing else tells
for family in 4 6; do
	exchange loss. $family -q rc -u 14 -n ${SHCA_SOAK:+20}60
done
dropped() { sed -n 's/.*dropped \([0-9]*\),.*/\1/p' | head -n 1; }
both_lost() {
	local rxe shca
	rxe=$(tc -s qdisc show dev veth_rxe | dropped) shca=$(in_a tc -s qdisc show dev veth_a | dropped)
	echo "packets lost from rxe: $rxe, from softhca: $shca"
	[ "$rxe" -gt 0 ] && [ "$shca" -gt 0 ]
}
check packets_were_lost both_lost
