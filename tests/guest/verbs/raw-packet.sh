#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# RAW_PACKET and flow steering: frames and rules between two devices, what the host
# still gets, TCP as single frames, bridges, removal; frames and datagrams over work
# queues. About 40 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
verbs pair raw -d shca_a -p shca_b
verbs pair4 rss -d shca_a -p shca_b -f 4
verbs pair6 rss -d shca_a -p shca_b -f 6 datagrams_go_where_their_hash_says

# start_raw take|sniff : a QP of $ns_b, until end_raw
start_raw() {
	rm -f /tmp/raw
	mkfifo /tmp/raw.stdin 2>/dev/null
	: >/tmp/raw
	"$test_programs/raw" -d shca_b "$1" </tmp/raw.stdin >/tmp/raw 2>&1 &
	raw=$!
	exec 8>/tmp/raw.stdin
	wait_for 10 grep -q ready /tmp/raw
}
end_raw() {
	exec 8>&-
	wait "$raw"
	cat /tmp/raw
}
at_exit rm -f /tmp/raw.stdin
frames() { sed -n 's/^frames \([0-9]*\) .*/\1/p' /tmp/raw; }
longest() { sed -n 's/.* longest \([0-9]*\)$/\1/p' /tmp/raw; }

# heard PORT : does a socket of the host at b get a datagram from a?
heard() {
	rm -f /tmp/heard
	ip netns exec $ns_b timeout $((10 * slow)) python3 -c "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', $1)); open('/tmp/heard', 'w').close(); s.settimeout(2); s.recv(100)" 2>/dev/null &
	local pid=$!
	wait_for 10 test -e /tmp/heard
	in_a bash -c "echo hello >/dev/udp/$ip4_b/$1"
	wait $pid
}
check host_gets_it heard 7777
run start_raw take
check host_does_not_get_what_is_taken eval '! heard 7777'
check host_gets_other_ports heard 7778
check host_gets_pings in_a ping -q -c 2 -W 2 $ip4_b
end_raw
check taken eval '[ "$(frames)" = 1 ]'
check host_gets_it_again heard 7777

# A sniffer: nothing is taken, and what came as one large piece is seen as frames.
stream() {
	rm -f /tmp/listens
	ip netns exec $ns_b python3 -c "import socket; s = socket.socket(); s.bind(('', 7779)); s.listen()
open('/tmp/listens', 'w').close(); c = s.accept()[0]; n = 0
while True:
    d = c.recv(65536)
    if not d: break
    n += len(d)
print('bytes', n); exit(n != 1000000)" &
	local pid=$!
	wait_for 10 test -e /tmp/listens
	in_a python3 -c "import socket; s = socket.create_connection(('$ip4_b', 7779)); s.sendall(bytes(1000000))"
	wait $pid
}
run start_raw sniff
check host_gets_the_stream stream
end_raw
check sniffed eval '[ "$(frames)" -gt 100 ]'
check sniffed_frames_are_no_longer_than_on_a_wire eval '[ "$(longest)" -le 1514 ]'
check promiscuous_no_more eval '! in_b ip -d link show dev veth_b | grep -q "promiscuity [1-9]"'

# beside a bridge, which has the receive handler of the netdev
run in_b ip link add br0 type bridge
run in_b ip link set br0 up
run in_b ip link set veth_b master br0
run in_b ip addr add 10.77.0.3/24 dev br0
run start_raw take
in_a bash -c "echo hello >/dev/udp/10.77.0.3/7777"
in_a ping -q -c 1 -W 2 10.77.0.3 >/dev/null
end_raw
check taken_from_a_bridge eval '[ "$(frames)" -ge 1 ]'
run in_b ip link del br0

# the device, and the netdev, go while there are rules
run start_raw take
run rdma link delete shca_b
check device_can_go wait_for 5 device_is_gone shca_b
end_raw
check host_gets_it_without_the_device heard 7777
add_device shca_b veth_b $ns_b
run start_raw sniff
run in_b ip link del veth_b
check netdev_can_go wait_for 10 device_is_gone shca_b
end_raw
