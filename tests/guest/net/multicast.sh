#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Multicast groups: messages, memberships (which end with the QP, whatever ends
# it, and which a switch learns of), hardware addresses, bonds and bridges that
# a netdev is put into, rdma_cm, rxe as the peer. About 60 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
verbs ipv4 mcast -d shca_a -p shca_b -f 4
# (240 members take their time)
for family in 4 6; do
	verbs "itself.ipv$family" mcast -d shca_a -f $family -x group_has_a_limit
done
verbs ipv6 mcast -d shca_a -p shca_b -f 6 -x group_has_a_limit

# ---- memberships

group_of() { if [ "$1" = 4 ]; then echo 239.77.1.2; else echo ff15::77:102; fi; }
ether_of() { if [ "$1" = 4 ]; then echo 01:00:5e:4d:01:02; else echo 33:33:00:77:01:02; fi; }
# joined NETDEV FAMILY : IP and Ethernet address are among those that it takes
joined() {
	in_b ip maddr show dev "$1" | grep -q " $(group_of "$2")\\b" &&
		in_b ip maddr show dev "$1" | grep -q "$(ether_of "$2")"
}
left() { ! in_b ip maddr show dev "$1" | grep -qE " $(group_of "$2")\\b|$(ether_of "$2")"; }

# start_member FAMILY [DEVICE] : a QP of $ns_b is attached until end_member
start_member() {
	rm -f /tmp/member
	mkfifo /tmp/member.stdin 2>/dev/null
	: >/tmp/member
	"$test_programs/mcast" -d "${2:-shca_b}" -f "$1" member </tmp/member.stdin >/tmp/member 2>&1 &
	member=$!
	exec 8>/tmp/member.stdin
	wait_for 10 grep -q attached /tmp/member
}
end_member() {
	exec 8>&-
	wait "$member"
}
at_exit rm -f /tmp/member.stdin
killed_member() {
	pkill -KILL -P "$member"
	exec 8>&-
	wait "$member"
	wait_for 5 left veth_b "$1"
}

# IPv6 addresses go with the link, and where an MTU is too small for them
addresses_again() {
	run in_b ip -6 addr replace $ip6_b/64 dev veth_b nodad
	for address in $ip4_b $ip6_b; do run wait_for 10 gid_index shca_b "$address"; done
}

for family in 4 6; do
	check "not_yet_joined.ipv$family" left veth_b $family
	run start_member $family
	check "joined.ipv$family" joined veth_b $family
	run in_b ip link set veth_b down
	run in_b ip link set veth_b up
	check "joined_after_down_and_up.ipv$family" wait_for 5 joined veth_b $family
	check "member_ends.ipv$family" end_member
	check "left.ipv$family" left veth_b $family
	run start_member $family
	check "left_when_killed.ipv$family" killed_member $family
	addresses_again
done

# ---- netdevs that have their addresses elsewhere; MTUs without IPv6

run start_member 6
run in_b ip link set veth_b mtu 1000
run in_b ip link set veth_b mtu 1500
check joined_again_with_the_mtu wait_for 5 joined veth_b 6
check member_of_mtu_ends end_member
for family in 4 6; do
	addresses_again
	run start_member $family
	run in_b ip link add br0 type bridge
	run in_b ip link set br0 up
	run in_b ip link set veth_b master br0
	check "bridge_joins.ipv$family" joined br0 $family
	check "netdev_leaves.ipv$family" left veth_b $family
	# which would wait for references
	check "bridge_can_go.ipv$family" timeout $((5 * slow)) ip -n $ns_b link del br0
	check "netdev_joins_again.ipv$family" joined veth_b $family
	check "bridged_member_ends.ipv$family" end_member
done

# ---- the device goes while a group has members

run start_member 4
run rdma link delete shca_b
check left_with_the_device wait_for 5 left veth_b 4
end_member
add_device shca_b veth_b $ns_b
addresses_again

# ---- on the wire: addresses and the reports of IGMP and MLD

frames() {
	ip netns exec $ns_a tcpdump -n -e -r /tmp/mcast.pcap 2>/dev/null
}
for family in 4 6; do
	check "captured.ipv$family" capture /tmp/mcast.pcap "-i veth_a" \
		"$test_programs/mcast" -d shca_a -p shca_b -f $family members_get
	check "ether_of_group.ipv$family" eval 'frames | grep -q "> '"$(if [ $family = 4 ]; then echo 01:00:5e:4d:00:01; else echo 33:33:00:77:00:01; fi)"', "'
	check "no_other_ether.ipv$family" eval '! frames | grep -v -E "> (01:00:5e|33:33)" | grep .'
done

# A bridge that snoops sends a group only where it was asked for.
at_exit ip netns del shca-sw
run ip netns add shca-sw
run ip -n shca-sw link add br0 type bridge mcast_snooping 1 mcast_querier 1 mcast_query_response_interval 100
run ip -n shca-sw link set br0 up
for side in a b; do
	run ip link add sw_$side mtu 1500 netns shca-$side type veth peer name port_$side netns shca-sw
	run ip -n shca-sw link set port_$side master br0 up
	if [ $side = a ]; then host=1; else host=2; fi
	run configure shca-$side sw_$side 10.81.0.$host fd81::$host
	add_device shca_sw_$side sw_$side shca-$side
	for address in 10.81.0.$host fd81::$host; do run wait_for 10 gid_index "shca_sw_$side" "$address"; done
done
mdb() { ip netns exec shca-sw bridge mdb show dev br0 | grep -q "port port_b grp $(group_of "$1")\\b"; }
for family in 4 6; do
	run start_member $family shca_sw_b
	check "switch_learns.ipv$family" wait_for 10 mdb $family
	check "switched_member_ends.ipv$family" end_member
done
for side in a b; do
	run rdma link delete shca_sw_$side
	run ip -n shca-$side link del sw_$side
done

# ---- rdma_cm

# mckey_between NAMESPACE_RECEIVER NAMESPACE_SENDER ADDRESS_RECEIVER ADDRESS_SENDER NR NR_SENT
# NR messages are waited for. The sender is repeated: it does not know when its peer
# is ready. It posts NR_SENT and destroys its QP at once, when rxe's worker has sent
# few of them or none: of 20 none 11 times of 12, of 3,000 at least 250.
mckey_between() {
	local pid end=$((SECONDS + 30 * slow)) status=0
	(at "$1" mckey -m 239.77.5.5 -b "$3" -C "$5") >/tmp/mckey 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null && [ $SECONDS -lt $end ]; do
		(at "$2" timeout $((10 * slow)) mckey -m 239.77.5.5 -b "$4" -s -C "$6") >/tmp/mckey.s 2>&1 || status=1
	done
	kill $pid 2>/dev/null && status=1
	wait $pid || status=1
	cat /tmp/mckey /tmp/mckey.s
	grep -q 'data transfers complete' /tmp/mckey || status=1
	return $status
}
check mckey mckey_between $ns_b $ns_a $ip4_b $ip4_a 20 20
check mckey_on_one_host mckey_between $ns_a $ns_a $ip4_a $ip4_a 20 20

# rxe on 6.12 has the initial namespace
if ! modprobe rdma_rxe; then
	echo "skip mckey_to_rxe # this kernel has no rdma_rxe"
else
	at_exit modprobe -r rdma_rxe
	run ip link add rxe0 type veth peer name veth_r netns $ns_a
	at_exit ip link del rxe0
	run ip addr add 10.82.0.2/24 dev rxe0
	run ip link set rxe0 up
	run in_a ip addr add 10.82.0.1/24 dev veth_r
	run in_a ip link set veth_r up
	run rdma link add rxe_r type rxe netdev rxe0
	at_exit rdma link delete rxe_r
	add_device shca_r veth_r $ns_a
	run wait_for 10 gid_index rxe_r 10.82.0.2
	run wait_for 10 gid_index shca_r 10.82.0.1
	check mckey_to_rxe mckey_between "" $ns_a 10.82.0.2 10.82.0.1 20 20
	check mckey_from_rxe mckey_between $ns_a "" 10.82.0.1 10.82.0.2 1 3000
fi
