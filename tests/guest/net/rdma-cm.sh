#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Connections by address: rdma_cm between namespaces and to the host's own
# address, IPv4 and IPv6, connected and datagram; the peer's hardware address is
# found without a pause; sockets over RDMA; several devices on one netdev, of which
# the first answers and the next inherits; a VLAN on the netdev.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

# cm_pair NAMESPACE_SERVER SERVER... -- CLIENT... : the client is in a
cm_pair() {
	local where=$1
	shift
	cm_between "$where" $ns_a "$@"
}

make_pair 1500
for family in 4 6; do
	eval "address=\$ip${family}_b own=\$ip${family}_a"
	# shellcheck disable=SC2154 # set by eval
	{
		check "rping_ipv$family" cm_pair $ns_b rping -s -v -V -C 5 -a "$address" -- \
			rping -c -v -V -C 5 -a "$address"
		check "rping_own_address_ipv$family" cm_pair $ns_a rping -s -v -V -C 5 -a "$own" -- \
			rping -c -v -V -C 5 -a "$own"
		check "ucmatose_ipv$family" cm_pair $ns_b ucmatose -b "$address" -C 10 -S 5000 -- \
			ucmatose -s "$address" -C 10 -S 5000
		check "udaddy_ipv$family" cm_pair $ns_b udaddy -b "$address" -- udaddy -s "$address"
		check "rdma_client_ipv$family" cm_pair $ns_b rdma_server -s "$address" -p 7471 -- \
			rdma_client -s "$address" -p 7471
	}
done

# The answer of a veth's other end comes before the RDMA core waits for it. It would wait
# for all of its time: 2 s in rdma_resolve_addr(), 1 s in modify_qp.
# (A probe that is under way brings an entry back.)
forget() {
	local known
	for _ in 1 2 3 4 5; do
		in_a ip neigh flush all
		in_b ip neigh flush all
		known=$(in_a ip neigh && in_b ip neigh) || return
		grep lladdr <<<"$known" || return 0
	done
	return 1
}
# quickest COMMAND... : of three, in ms; a machine that is busy is slower, never faster
quickest() {
	local begin ms best=
	for _ in 1 2 3; do
		[ "$known" = yes ] || forget || return
		begin=$(millis)
		"$@" >/tmp/quickest.out 2>&1 || { cat /tmp/quickest.out; return 1; }
		ms=$(($(millis) - begin))
		[ "${best:-$ms}" -lt "$ms" ] || best=$ms
	done
	took=$best
}
# no_pause MS COMMAND... : less than this longer when the peer's address is not known
no_pause() {
	local limit=$1 known took with
	shift
	known=yes quickest "$@" || return
	with=$took
	known=no quickest "$@" || return
	echo "$with ms with the peer's address, $took ms without"
	until [ $((took - with)) -lt $((limit * slow)) ]; do became_slower || return; done
}
gid_a=$(gid_index shca_a $ip6_a) gid_b=$(gid_index shca_b $ip6_b)
check no_pause.rdma_cm_ipv4 no_pause 1000 cm_pair $ns_b rping -s -C 1 -a $ip4_b -- rping -c -C 1 -a $ip4_b
check no_pause.rdma_cm_ipv6 no_pause 1000 cm_pair $ns_b rping -s -C 1 -a $ip6_b -- rping -c -C 1 -a $ip6_b
check no_pause.modify_qp no_pause 500 between_pair ibv_rc_pingpong -d shca_b -g "$gid_b" -n 10 -- \
	ibv_rc_pingpong -d shca_a -g "$gid_a" -n 10 $ip4_b
check rping_large cm_pair $ns_b rping -s -V -C 3 -S 60000 -a $ip4_b -- rping -c -V -C 3 -S 60000 -a $ip4_b
# (as XRC: verbs/xrc)
check rdma_xclient cm_pair $ns_b rdma_xserver -p 7471 -c r -- rdma_xclient -s $ip4_b -p 7471 -c r

# sockets over RDMA: inline, WRITE with immediate, credits by SEND; riostream
# writes into mapped memory of the peer. `v` compares what has arrived. With polls (`a`) a
# client fails (POLLERR, POLLHUP) if the server's end is there before it has read the last
# data, which is a matter of luck, and on a busy machine of much luck. So there it may try
# again, more often on a slow machine.
streams() {
	local how=$1 status n
	shift
	for ((n = 0; n < 8 * slow; n++)); do
		status=0
		cm_pair $ns_b "$@" -- "$@" -s $ip4_b || status=$?
		case "$how $status" in 'a 8' | 'a 16') ;; *) break ;; esac
	done
	return $status
}
for how in b a n; do
	for program in rstream riostream; do
		check "$program.$how" streams $how $program -I 5 -C 20 -S 30000 -T $how -T v
	done
done
check rstream.small cm_pair $ns_b rstream -I 20 -C 20 -S 40 -T v -- rstream -s $ip4_b -I 20 -C 20 -S 40 -T v
for program in rstream riostream; do
	check "$program.ipv6" cm_pair $ns_b $program -b $ip6_b -I 5 -C 20 -S 3000 -T v -- \
		$program -s $ip6_b -I 5 -C 20 -S 3000 -T v
done
if [ -n "${SHCA_SOAK-}" ]; then
	for program in rstream riostream; do
		check "$program.all_sizes" cm_pair $ns_b $program -S all -T v -- $program -s $ip4_b -S all -T v
	done
fi

# perftest with its connections made by rdma_cm, IPv4 and IPv6
check ib_send_bw cm_pair $ns_b ib_send_bw -R -F -s 65536 -n 20 -- \
	ib_send_bw -R -F -s 65536 -n 20 $ip4_b
check ib_send_bw.ud cm_pair $ns_b ib_send_bw -R -F -c UD -s 1000 -n 20 -- \
	ib_send_bw -R -F -c UD -s 1000 -n 20 $ip4_b
ipv6_perftest() {
	local words=(ib_write_bw -R --ipv6-addr -F -s 65536 -n 20 -q 8)
	perftest_has ib_write_bw --ipv6-addr && cm_pair $ns_b "${words[@]}" -- "${words[@]}" $ip6_b
}
check ib_write_bw.ipv6 ipv6_perftest

# a second device on a's netdev; the first goes, the second inherits
add_device shca_c veth_a $ns_a
# answered_by DEVICE OTHER COMMAND... : it succeeds, and all that a receives is for
# that device, none of it for the other
answered_by() {
	local device=$1 other=$2 before before_other
	shift 2
	before=$(counter "$device" rx_packets) before_other=$(counter "$other" rx_packets)
	"$@" || return 1
	before=$(($(counter "$device" rx_packets) - before)) before_other=$(($(counter "$other" rx_packets) - before_other))
	echo "received by $device: $before, by $other: $before_other"
	[ "$before" -gt 5 ] && [ "$before_other" = 0 ]
}
check first_device_answers answered_by shca_a shca_c \
	cm_between $ns_a $ns_b rping -s -V -C 3 -a $ip4_a -- rping -c -V -C 3 -a $ip4_a
check first_device_asks answered_by shca_a shca_c \
	cm_pair $ns_b rping -s -V -C 3 -a $ip4_b -- rping -c -V -C 3 -a $ip4_b
run rdma link delete shca_a
check inherited cm_between $ns_a $ns_b rping -s -V -C 3 -a $ip4_a -- rping -c -V -C 3 -a $ip4_a
# the one that was first comes back, and is the second now
add_device shca_a veth_a $ns_a
run wait_for 10 gid_index shca_a $ip4_a
check heir_answers answered_by shca_c shca_a \
	cm_between $ns_a $ns_b rping -s -V -C 3 -a $ip4_a -- rping -c -V -C 3 -a $ip4_a
run rdma link delete shca_a

# a VLAN: its addresses are GIDs of the device on the parent
run in_a ip link add link veth_a name veth_a.5 type vlan id 5
run in_b ip link add link veth_b name veth_b.5 type vlan id 5
run in_a ip addr add 10.78.5.1/24 dev veth_a.5
run in_b ip addr add 10.78.5.2/24 dev veth_b.5
run in_a ip link set veth_a.5 up
run in_b ip link set veth_b.5 up
run wait_for 10 gid_index shca_c 10.78.5.1
run wait_for 10 gid_index shca_b 10.78.5.2
check rping_vlan cm_pair $ns_b rping -s -V -C 3 -a 10.78.5.2 -- rping -c -V -C 3 -a 10.78.5.2
check no_pause.vlan no_pause 1000 cm_pair $ns_b rping -s -C 1 -a 10.78.5.2 -- rping -c -C 1 -a 10.78.5.2
refuse_vlan() {
	! in_a rdma link add shca_v type softhca netdev veth_a.5 &&
		dmesg | tail -n 3 | grep -q "veth_a.5.*attach to its parent"
}
check vlan_netdev_refused refuse_vlan
