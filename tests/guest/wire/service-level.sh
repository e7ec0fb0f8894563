#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The service level: the priority of packets, by which queueing disciplines sort
# them and VLANs choose the PCP of the tag. Seen on the parent of a VLAN, for
# connected QPs (requests and answers) and datagrams. About 15 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

command -v tcpdump >/dev/null || skip "tcpdump is not installed"
make_pair 1500
run in_a ip link add link veth_a name veth_a.9 type vlan id 9 egress-qos-map 1:1 5:5 6:3
run in_b ip link add link veth_b name veth_b.9 type vlan id 9 egress-qos-map 1:1 5:5 6:3
run in_a ip addr add 10.78.9.1/24 dev veth_a.9
run in_b ip addr add 10.78.9.2/24 dev veth_b.9
run in_a ip link set veth_a.9 up
run in_b ip link set veth_b.9 up
run wait_for 10 gid_index shca_a 10.78.9.1
run wait_for 10 gid_index shca_b 10.78.9.2
run wait_for 10 in_a ping -q -c 1 -W 1 10.78.9.2
vlan_a=$(gid_index shca_a 10.78.9.1) vlan_b=$(gid_index shca_b 10.78.9.2)
plain_a=$(gid_index shca_a $ip4_a) plain_b=$(gid_index shca_b $ip4_b)

pingpong() { # KIND SL GID_A GID_B
	between_pair "ibv_${1}_pingpong" -n 20 -l "$2" -d shca_b -g "$4" -- \
		"ibv_${1}_pingpong" -n 20 -l "$2" -d shca_a -g "$3" ADDRESS
}

# tagged KIND SL PCP : all its packets, of both directions, are of VLAN 9 with
# that priority
tagged() {
	local kind=$1 sl=$2 pcp=$3 all good
	capture /tmp/sl.pcap "-i veth_a" pingpong "$kind" "$sl" "$vlan_a" "$vlan_b" || return
	tcpdump -nn -e -r /tmp/sl.pcap >/tmp/sl.text 2>/dev/null
	head -n 3 /tmp/sl.text
	all=$(wc -l </tmp/sl.text)
	good=$(grep -c "vlan 9, p $pcp, .*\.4791: " /tmp/sl.text)
	echo "$all packets, $good of them with PCP $pcp"
	[ "$all" -ge 40 ] && [ "$good" = "$all" ] &&
		grep -q '10\.78\.9\.1\.[0-9]* > 10\.78\.9\.2' /tmp/sl.text &&
		grep -q '10\.78\.9\.2\.[0-9]* > 10\.78\.9\.1' /tmp/sl.text
}
for kind in rc uc ud; do
	check "pcp.$kind" tagged $kind 5 5
done
check pcp.mapped tagged rc 6 3
check pcp.by_default tagged rc 0 0

# The third band of a prio qdisc is for priority 5 alone.
run in_a tc qdisc add dev veth_a root handle 1: prio bands 3 priomap 1 1 1 1 1 2 1 1 1 1 1 1 1 1 1 1
banded() { in_a tc -s class show dev veth_a | awk '/class prio 1:3/ { here = 1 } here && /Sent/ { print $4; exit }'; }
sorted() { # KIND SL EXPECTED: more packets than that, or 0: none
	local before after
	before=$(banded)
	pingpong "$1" "$2" "$plain_a" "$plain_b" || return
	after=$(banded)
	echo "priority 5: $before packets before, $after after"
	if [ "$3" = 0 ]; then [ "$after" = "$before" ]; else [ "$after" -ge $((before + $3)) ]; fi
}
check qdisc.rc sorted rc 5 20
check qdisc.ud sorted ud 5 20
check qdisc.others_elsewhere sorted rc 4 0
