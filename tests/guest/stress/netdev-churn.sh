#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Network devices change below verified traffic and beside it: names, MAC addresses,
# MTUs, addresses, VLANs, devices that come and go, namespaces that end with a device in
# them. The traffic goes on, and nothing is left over.
#
# CHURN_SECONDS (make soak: 600, else 20)
# timeout: 240
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=${CHURN_SECONDS:-${SHCA_SOAK:+600}}
seconds=${seconds:-20}

name_changes() { in_a ip link set veth_a name eth_a && in_a ip link set eth_a name veth_a; }
mac_changes() {
	in_a ip link set veth_a address "02:00:00:77:01:$(printf %02x $((round % 256)))" && in_b ip neigh flush dev veth_b
}
mtu_changes() {
	local mtu
	for mtu in 9000 1400 1500; do in_a ip link set veth_a mtu $mtu && in_b ip link set veth_b mtu $mtu || return; done
}
addresses_change() {
	local i
	for i in {1..20}; do printf 'addr add 10.79.%d.1/24 dev veth_a\naddr add fd79:%x::1/64 dev veth_a nodad\n' "$i" "$i"; done >/tmp/batch
	ip -n $ns_a -batch /tmp/batch && sed -i 's/ add / del /; s/ nodad//' /tmp/batch && ip -n $ns_a -batch /tmp/batch
}
vlans_come_and_go() {
	in_a ip link add link veth_a name veth_a.9 type vlan id 9 && in_a ip addr add 10.78.9.1/24 dev veth_a.9 &&
		in_a ip link set veth_a.9 up && in_a ip link del veth_a.9
}
devices_come_and_go() {
	in_a ip link add dummy_c type dummy && in_a rdma link add shca_c type softhca netdev dummy_c &&
		in_a ip link set dummy_c up && in_a ip link set dummy_c name dummy_d && in_a ip link del dummy_d &&
		wait_for 10 device_is_gone shca_c
}
namespaces_come_and_go() {
	ip netns add shca-c && ip link add dummy_e netns shca-c type dummy &&
		ip netns exec shca-c rdma link add shca_e type softhca netdev dummy_e &&
		ip -n shca-c link set dummy_e up && ip netns del shca-c && wait_for 20 device_is_gone shca_e
}
link_blinks() { in_b ip link set veth_b down && in_b ip link set veth_b up; }

make_pair 1500
run in_a sysctl -qw net.ipv6.conf.all.keep_addr_on_down=1
run in_b sysctl -qw net.ipv6.conf.all.keep_addr_on_down=1
at_exit ip netns del shca-c
declare -A times
start_traffic churn shca_a shca_b -f 4 -u 18
round=0 end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
	for change in name_changes mac_changes mtu_changes addresses_change vlans_come_and_go devices_come_and_go \
		namespaces_come_and_go link_blinks; do
		$change || { check "$change" false; break 2; }
		times[$change]=$((${times[$change]-0} + 1))
		traffic_is_alive churn || break 2
	done
	round=$((round + 1))
done
for change in "${!times[@]}"; do echo "ok $change"; done
echo "$round rounds"
check traffic_is_right end_traffic churn
check traffic_moved grep -q 'rc: [1-9][0-9]* rounds verified' /tmp/traffic.churn
