#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# IP over two InfiniBand ports that OpenSM has brought up: addresses are resolved by
# multicast and the subnet administrator, datagrams go by LIDs, and rdma_cm connects
# by IP addresses. TCP both ways in both modes, multicast groups; a netdev flaps and a port is
# removed under traffic.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe -a ib_umad ib_ipoib || skip "this kernel has no ib_ipoib"

mtu_is() { in_a ip -o link show ip0 | grep -q " mtu $1 "; }

two_ports 2200
start_opensm -s 2
both_active
enter "$ns_a" shib_a 10.78.0.1
enter "$ns_b" shib_b 10.78.0.2

check ping wait_for 30 in_a ping -c 1 -W 2 10.78.0.2
check ping_back in_b ping -c 3 10.78.0.1
check ping_large in_a ping -c 200 -i 0.01 -s 2000 -M 'do' 10.78.0.2
six=$(ip -n "$ns_b" -6 -o addr show dev ip0 scope link | sed 's/.*inet6 \([^/]*\).*/\1/')
check ping6 wait_for 30 in_a ping -6 -c 1 -W 2 "$six%ip0"
check mtu mtu_is 2044
in_a rping -s -a 10.78.0.1 -C 5 >/tmp/rping 2>&1 &
cm_server=$!
in_cm() { timeout $((20 * slow)) ip netns exec "$ns_b" rping -c -a 10.78.0.1 -C 5; }
check rdma_cm wait_for 20 in_cm
check rdma_cm_server wait $cm_server

# tcp MODE : iperf3 both ways
bytes=${SHCA_SOAK:+500M}
bytes=${bytes:-8M}
iperf3_listens() { listening "$ns_b" 5201; }
ip netns exec "$ns_b" iperf3 -s >/tmp/iperf3 2>&1 &
at_exit kill $!
run wait_for 20 iperf3_listens
tcp() {
	check "$1.tcp" in_a timeout $((60 * slow)) iperf3 -c 10.78.0.2 -n "$bytes"
	check "$1.tcp_back" in_a timeout $((60 * slow)) iperf3 -R -c 10.78.0.2 -n "$bytes"
}
tcp datagram

# Multicast: a group of the subnet manager's for each that is joined.
neighbours() { in_a ping -6 -c 2 -W 2 ff02::1%ip0 | tee /tmp/ping6 && grep -q "from $six" /tmp/ping6; }
check multicast.all_nodes wait_for 20 neighbours
for group in 239.1.2.3 ff15::1:2:3; do
	: >/tmp/multicast
	in_b "$(dirname "$0")/../helpers/multicast.py" ip0 $group receive >/tmp/multicast 2>&1 &
	receiver=$!
	run wait_for 20 test -s /tmp/multicast
	check multicast.$group.send in_a "$(dirname "$0")/../helpers/multicast.py" ip0 $group send
	check multicast.$group.received wait $receiver
done

# Connected mode: a connection of its own for each peer, and messages of 64 KiB.
connected() {
	local in
	for in in in_a in_b; do
		run $in bash -c 'echo connected >/sys/class/net/ip0/mode'
		run $in ip link set ip0 mtu 65520
	done
}
connected
connects() { in_a ping -c 1 -W 2 -s 60000 -M 'do' 10.78.0.2; }
check connected.ping wait_for 60 connects
check connected.ping_back in_b ping -c 20 -i 0.05 -s 65000 -M 'do' 10.78.0.1
check connected.mtu mtu_is 65520
tcp connected
for in in in_a in_b; do
	run $in bash -c 'echo datagram >/sys/class/net/ip0/mode'
	run $in ip link set ip0 mtu 2044
done
check datagram_again wait_for 30 in_a ping -c 1 -W 2 10.78.0.2

in_a ping -q -i 0.002 -s 1000 10.78.0.2 >/tmp/ping 2>&1 &
at_exit kill $!
for netdev in veth_a veth_b; do
	run nsenter --net="/run/netns/shca-${netdev#veth_}" "$(dirname "$0")/../helpers/netdev-blip.py" $netdev 0.3 down
	check "flap.$netdev" wait_for 30 has shib_a state ACTIVE
done
check flap.ping wait_for 30 in_b ping -c 1 -W 2 10.78.0.1
run rdma link delete shib_b
check removed device_is_gone shib_b
run add_ib "$ns_b" shib_b veth_b
check active_again wait_for 30 has shib_b state ACTIVE
enter "$ns_b" shib_b 10.78.0.2
check ping_again wait_for 30 in_b ping -c 1 -W 2 10.78.0.1
# IPoIB leaves its groups, and there is nobody to answer: no request of QP1 waits for that.
run kill -KILL $opensm_pid
wait $opensm_pid
check removed_without_a_manager within $((removal_seconds * 2000)) "rdma link show" rdma link delete shib_b
check removed_without_a_manager.all device_is_gone shib_b
