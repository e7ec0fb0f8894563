#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Packets that arrive one by one are joined before the IP stack, where the netdev uses
# GRO: with identifiers that count (the sender's kernel has split a batch) and that stay
# (packets that left alone), over IPv4 and IPv6, and not while a capture is to see packets.
# What is joined on a router is split again. Damage to one packet costs that one. About 25 s.
. "$(dirname "$0")/../lib.sh"

mtu=4096 rounds=10
make_pair 9000
for family in 4 6; do
	for end in a b; do
		address=ip${family}_$end
		printf -v "gid${family}_$end" %s "$(gid_index shca_$end "${!address}")"
	done
done

# Each end receives by NAPI, and so by GRO, what the other one has not segmented.
for end in a b; do
	run in_$end ethtool -K "veth_$end" gro on tso off gso off tx-udp-segmentation off
done

# skbs that the IP stack of b has received, and RoCEv2 packets that its device has
field() { in_b awk -v name="$1" '$1 == name { print $2 }' /proc/net/snmp6; }
skbs4() {
	in_b awk '/^Ip:/ { if (n) print $n; else for (n = 1; $n != "InReceives"; n++); }' /proc/net/snmp
}
skbs() { if [ "$1" = 4 ]; then skbs4; else field Ip6InReceives; fi; }
hw() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }

# traffic FAMILY : verified messages of many packets; sets skbs and packets of b
traffic() {
	local gid_a=gid$1_a gid_b=gid$1_b status=0 before_skbs before_packets
	before_skbs=$(skbs "$1") before_packets=$(hw shca_b rx_packets)
	between_pair ibv_rc_pingpong -c -d shca_b -g "${!gid_b}" -m $mtu -n $rounds -s 200003 -- \
		ibv_rc_pingpong -c -d shca_a -g "${!gid_a}" -m $mtu -n $rounds -s 200003 ADDRESS || status=1
	skbs=$(($(skbs "$1") - before_skbs)) packets=$(($(hw shca_b rx_packets) - before_packets))
	echo "$packets packets in $skbs skbs"
	return $status
}
least() { [ "$packets" -ge $((200003 * rounds / mtu)) ]; }
joined() { traffic "$1" && least && [ $((skbs * 2)) -lt "$packets" ]; }
alone() { traffic "$1" && [ "$skbs" -ge "$packets" ]; }

# One by one from their sender: all have the same identifier.
run in_a ip link set veth_a gso_max_segs 1
run in_b ip link set veth_b gso_max_segs 1
check same_id.ipv4 joined 4
check same_id.ipv6 joined 6

# Identifiers that stay, in packets of nobody: joined only where nobody may fragment them
# (DF), because the kernel could not split them again. GRO's timer gathers what a slow
# sender sends.
stray() { # FRAGMENT-FIELD : sends 32 packets; sets skbs
	local before
	before=$(skbs4)
	in_b sh -c 'echo 50000000 >/sys/class/net/veth_b/gro_flush_timeout' || return
	in_a python3 -c "import socket, struct
ip = struct.pack('!BBHHHBBH', 0x45, 0, 0, 0x1234, $1, 64, 17, 0) + socket.inet_aton('$ip4_a') + socket.inet_aton('$ip4_b')
packet = ip + struct.pack('!HHHH', 50000, 4791, 1008, 0) + bytes(1000)
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for _ in range(32): s.sendto(packet, ('$ip4_b', 0))" || return
	sleep 0.5
	in_b sh -c 'echo 0 >/sys/class/net/veth_b/gro_flush_timeout'
	skbs=$(($(skbs4) - before))
	echo "32 packets in $skbs skbs"
}
fixed_id_joined() { stray 0x4000 && [ "$skbs" -lt 32 ]; }
fixed_id_alone() { stray 0 && [ "$skbs" -ge 32 ]; }
check same_id.of_nobody fixed_id_joined
check same_id.without_df fixed_id_alone

# A batch that the sender's kernel has split: identifiers count, and there are checksums.
run in_a ip link set veth_a gso_max_segs 65535
run in_b ip link set veth_b gso_max_segs 65535
check counting_id.ipv4 joined 4
check counting_id.ipv6 joined 6
# 64 KiB are 15 packets with checksums and one without; in lists their order shows.
in_order() {
	between_pair ib_write_bw -F -d shca_b -x "$gid4_b" -s 65536 -l 8 -n 200 -- \
		ib_write_bw -F -d shca_a -x "$gid4_a" -s 65536 -l 8 -n 200 ADDRESS || return
	echo "$(hw shca_b out_of_sequence) out of sequence"
	[ "$(hw shca_b out_of_sequence)" = 0 ]
}
check counting_id.in_order in_order
run in_a ip link set veth_a gso_max_segs 1
run in_b ip link set veth_b gso_max_segs 1

# Path MTU 1024: the last packet is short, and pages have several packets.
run in_a ip link set veth_a mtu 1500
run in_b ip link set veth_b mtu 1500
mtu=1024 rounds=3
check mtu1500 joined 4

# Datagrams: each has its own header in the receiver's buffer.
ud() {
	between_pair ibv_ud_pingpong -c -d shca_b -g "$gid4_b" -n 200 -s 900 -r 100 -- \
		ibv_ud_pingpong -c -d shca_a -g "$gid4_a" -n 200 -s 900 -r 100 ADDRESS
}
check datagrams ud

# A capture at the receiving end shows each packet.
captured() {
	local status=0 pid
	: >/tmp/gro.tcpdump
	ip netns exec "$ns_b" tcpdump -i veth_b -w /dev/null udp port 4791 2>/tmp/gro.tcpdump &
	pid=$!
	wait_for 10 grep -q 'listening on' /tmp/gro.tcpdump && alone 4 || status=1
	kill $pid
	wait $pid
	return $status
}
check captured.one_by_one captured

# Packets of batches that are damaged on arrival: each is refused alone, and the data is right.
damaged() {
	local before refused hit
	before=$(hw shca_b rx_icrc_errors)
	in_b softhca fault add dev=shca_b do=corrupt-icrc dir=rx every=40 || return
	joined 4 || return
	refused=$(($(hw shca_b rx_icrc_errors) - before))
	hit=$(in_b softhca fault list | sed -n 's/.* hits //p')
	in_b softhca fault del all || return
	echo "$hit damaged, $refused refused"
	[ "$refused" -gt 0 ] && [ "$refused" = "$hit" ]
}
check damaged_alone damaged

# A third host between them, with a device of its own: what its GRO joins, it splits again
# for a netdev without offloads. The addresses of the ends stay.
cross=shca-gro
between() {
	local end
	at_exit ip netns del $cross
	ip netns add $cross || return
	in_a ip link del veth_a
	for end in a b; do
		ip link add "veth_$end" mtu 1500 netns "shca-$end" type veth peer name "mid_$end" mtu 1500 netns $cross || return
		ip -n $cross link set "mid_$end" up
		ip netns exec $cross ethtool -K "mid_$end" gro on tso off gso off tx-udp-segmentation off || return
		in_$end ethtool -K "veth_$end" tso off gso off tx-udp-segmentation off || return
	done
	ip -n $cross link add bridge type bridge || return
	ip -n $cross link set mid_a master bridge
	ip -n $cross link set mid_b master bridge
	ip -n $cross addr add 10.77.0.9/24 dev bridge
	ip -n $cross link set bridge up
	configure "$ns_a" veth_a $ip4_a $ip6_a && configure "$ns_b" veth_b $ip4_b $ip6_b || return
	ip netns exec $cross rdma link add shca_m type softhca netdev bridge || return
	at_exit rdma link delete shca_m
	in_a rdma link add shca_a type softhca netdev veth_a && in_b rdma link add shca_b type softhca netdev veth_b || return
	ip -n $ns_a link set veth_a gso_max_segs 1
	ip -n $ns_b link set veth_b gso_max_segs 1
	wait_for 10 gid_index shca_a $ip4_a && wait_for 10 gid_index shca_b $ip4_b &&
		wait_for 10 in_a ping -q -c 1 -W 1 $ip4_b || return
	gid4_a=$(gid_index shca_a $ip4_a) gid4_b=$(gid_index shca_b $ip4_b)
}
check bridge.setup between

# What the bridge forwards is counted by skbs there.
crosses() {
	local forwarded
	ip netns exec $cross nft 'table bridge gro { chain forward { type filter hook forward priority 0; counter; }; }' || return
	traffic 4 || return
	forwarded=$(ip netns exec $cross nft list table bridge gro | sed -n 's/.*packets \([0-9]*\).*/\1/p')
	echo "$forwarded skbs were forwarded"
	least && [ "$skbs" -ge "$packets" ] && [ $((forwarded * 2)) -lt "$packets" ]
}
check bridge.split_again crosses
