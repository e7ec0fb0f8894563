#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# IP over two InfiniBand ports that OpenSM has brought up: addresses are resolved by
# multicast and the subnet administrator, datagrams go by LIDs, and rdma_cm connects
# by IP addresses. A port is removed under traffic.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/scenario"
. "$(dirname "$0")/subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe -a ib_umad ib_ipoib || skip "this kernel has no ib_ipoib"


# ipoib DEVICE : name of its netdev, whose address ends with the port's GUID
ipoib() {
	local file
	for file in /sys/class/net/*/address; do
		[[ $(tr -d : <"$file") != *"$(guid "$1")" ]] || { basename "${file%/address}"; return; }
	done 2>/dev/null
	return 1
}

mtu_is() { in_a ip -o link show ip0 | grep -q " mtu $1 "; }

# enter NAMESPACE DEVICE ADDRESS : its netdev goes there
enter() {
	local netdev
	run wait_for 20 ipoib "$2"
	netdev=$(ipoib "$2")
	run ip link set "$netdev" netns "$1"
	run ip -n "$1" link set "$netdev" name ip0
	run ip -n "$1" addr add "$3/24" dev ip0
	run ip -n "$1" link set ip0 up
}

make_namespaces 2200
at_exit rdma link delete shib_a
at_exit rdma link delete shib_b
run add_ib "$ns_a" shib_a veth_a
run add_ib "$ns_b" shib_b veth_b
run wait_for 20 has shib_a state INIT
run wait_for 20 has shib_b state INIT
run wait_for 20 has_umad shib_a
rm -f /tmp/opensm.log
opensm -g "0x$(guid shib_a)" -s 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
at_exit kill $!
check active wait_for 30 has shib_a state ACTIVE
check active_peer wait_for 30 has shib_b state ACTIVE
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
in_b iperf3 -s -1 >/tmp/iperf3 2>&1 &
iperf3=$!
listens() { ip netns exec "$ns_b" ss -Hltn 'sport = :5201' | grep -q .; }
if command -v iperf3 >/dev/null && wait_for 20 listens; then
	check connected.tcp in_a iperf3 -c 10.78.0.2 -n 20M
	check connected.tcp_server wait $iperf3
fi
for in in in_a in_b; do
	run $in bash -c 'echo datagram >/sys/class/net/ip0/mode'
	run $in ip link set ip0 mtu 2044
done
check datagram_again wait_for 30 in_a ping -c 1 -W 2 10.78.0.2

in_a ping -q -i 0.002 -s 1000 10.78.0.2 >/tmp/ping 2>&1 &
at_exit kill $!
sleep 1
run rdma link delete shib_b
check removed device_is_gone shib_b
run add_ib "$ns_b" shib_b veth_b
check active_again wait_for 30 has shib_b state ACTIVE
enter "$ns_b" shib_b 10.78.0.2
check ping_again wait_for 30 in_b ping -c 1 -W 2 10.78.0.1
