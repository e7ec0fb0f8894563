#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# InfiniBand ports: two of them at the ends of a veth find each other, lose each
# other, and go, in each way there is. Frames that are none are counted.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

is_up() { becomes "$1" phys_state LinkUp && becomes "$1" state INIT; }
is_polling() { becomes "$1" phys_state Polling && becomes "$1" state DOWN; }
mtu_is() { ibv_devinfo -d "$1" | grep -Eq "active_mtu:[[:space:]]+$2 "; }
mtu_becomes() { wait_for 10 mtu_is "$@" || { ibv_devinfo -d "$1"; return 1; }; }

make_namespaces 1500
at_exit rdma link delete shib_a
at_exit rdma link delete shib_b

# what is no netdev for it
check loopback_is_refused refused add_ib "$ns_a" shib_a lo
run in_a ip link set veth_a mtu 389
check small_mtu_is_refused refused add_ib "$ns_a" shib_a veth_a
dmesg | grep -q 'its MTU is 389, and the smallest InfiniBand MTU, 256, takes 390' &&
	echo "ok refusal_names_the_mtu" || echo "not ok refusal_names_the_mtu"
run in_a ip link set veth_a mtu 1500

check add add_ib "$ns_a" shib_a veth_a
check is_infiniband has shib_a link_layer InfiniBand
check second_is_refused refused add_ib "$ns_a" shib_2 veth_a
check polls_alone is_polling shib_a
# A RoCE device would have it.
check no_udp_port refused eval "ip netns exec $ns_a ss -Huln 'sport = :4791' | grep -q ."
check add_peer add_ib "$ns_b" shib_b veth_b
check up is_up shib_a
check up_peer is_up shib_b
check mtu mtu_becomes shib_a 1024
ibstat shib_a >/tmp/ibstat 2>&1
check ibstat grep -q 'State: Initializing' /tmp/ibstat
check ibstat_physical grep -q 'Physical state: LinkUp' /tmp/ibstat
check ibstat_layer grep -q 'Link layer: InfiniBand' /tmp/ibstat
check port_guid grep -q "Port GUID: 0x$(cut -d: -f5-8 /sys/class/infiniband/shib_a/ports/1/gids/0 | tr -d :)" /tmp/ibstat

# the smaller one of both, once the other end has said so
run in_b ip link set veth_b mtu 390
check mtu_of_the_peer mtu_becomes shib_a 256
run in_b ip link set veth_b mtu 389
check too_small_is_down is_polling shib_b
run in_b ip link set veth_b mtu 1500
check large_again is_up shib_b

# What the doctor says of it: before a subnet manager, which needs no address; and after
run modprobe -a ib_umad rdma_ucm
run wait_for 10 has_umad shib_a
# doctor_says STATUS TEXT [CURE [PROBLEMS]] : that is its status, and the only problem, if any,
# or one of so many, has this text
doctor_says() {
	local status=0
	in_a softhca doctor >/tmp/doctor 2>&1 || status=$?
	sed 's/^/# /' /tmp/doctor	# it says "ok", as a test does
	[ "$status" = "$1" ] && [ "$(grep -c '^problem ' /tmp/doctor)" = "${4-$1}" ] && grep -qF -e "$2" /tmp/doctor &&
		{ [ -z "${3-}" ] || grep -qF -e "cure:   $3" /tmp/doctor; }
}
check doctor.init doctor_says 1 'problem  subnet    shib_a: no subnet manager has configured the InfiniBand port (2: INIT)' \
	"modprobe ib_umad; opensm -B -g 0x$(attribute shib_a gids/0 | cut -d: -f5-8 | tr -d :) "
make_active shib_a 1
check doctor.active doctor_says 0 'ok       subnet    shib_a: the InfiniBand port is Active, LID 0x1'

downed=$(attribute shib_a counters/link_downed)
run in_a ip link set veth_a down
check doctor.netdev doctor_says 1 'the network device veth_a is down' 'ip link set dev veth_a up'
check down_here is_polling shib_a
check down_is_counted becomes shib_a counters/link_downed "^$((downed + 1))\$"
check down_there is_polling shib_b
run in_a ip link set veth_a up
check up_again_here is_up shib_a
check up_again_there is_up shib_b

# The carrier stays, but no frame comes.
run in_b tc qdisc add dev veth_b root netem loss 100%
check silent_peer_is_lost is_polling shib_a
check doctor.alone doctor_says 1 'no InfiniBand port answers at the other end of veth_a (2: Polling)' 'rdma link add NAME type softhca_ib ' 2
check doctor.why grep -q 'netem is on veth_b, the other end of veth_a' /tmp/doctor
check loss_is_counted becomes shib_a counters/link_downed "^$((downed + 2))\$"
check peer_hears_of_it becomes shib_b phys_state Training
run in_b tc qdisc del dev veth_b root
check heard_again is_up shib_a
check heard_again_peer is_up shib_b

# Frames that are none. Each line: what, counter, bytes behind the EtherType.
send_frame() {
	ip netns exec "$ns_b" python3 - "$1" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind(("veth_b", 0))
		mac = s.getsockname()[4]
		s.send(b"\xff" * 6 + mac + b"\x88\xb5" + bytes.fromhex(sys.argv[1]))
	END
}
counted() { wait_for 10 eval "[ \$(counter shib_a $1) -gt $2 ]"; }
while read -r what name bytes; do
	before=$(counter shib_a "$name")
	send_frame "$bytes"
	check "frame.$what" counted "$name" "$before"
done <<-END
	cut rx_truncated 1100
	longer_than_it_is rx_truncated 1100040000000001
	other_version rx_malformed 2100000000000001
	other_type rx_malformed 1500000000000001
	no_session rx_malformed 1100000000000000
	short_hello rx_truncated 120000040000000112345678
	empty_data rx_truncated 1100000000000001
	raw_packet rx_malformed 1100001a000000010090ffff00060000$(printf '%036d' 0)
	other_lrh_version rx_malformed 1100001a000000010192ffff00060000$(printf '%036d' 0)
	wrong_length rx_malformed 1100001a000000010092ffff00070000$(printf '%036d' 0)
	other_session rx_path_mismatch 1100001a000000010092ffff00060000$(printf '%036d' 0)
END
check still_up is_up shib_a

# The other end says goodbye, to the peer alone, and is another one when it comes back.
mac_a=$(in_a cat /sys/class/net/veth_a/address) mac_b=$(in_b cat /sys/class/net/veth_b/address)
ip netns exec "$ns_a" tcpdump --immediate-mode -U -w /tmp/goodbye.pcap -i veth_a "ether src $mac_b and ether proto 0x88b5" 2>/tmp/goodbye &
tcpdump=$!
run wait_for 20 grep -q 'listening on' /tmp/goodbye
run rdma link delete shib_b
check goodbye is_polling shib_a
kill $tcpdump
wait $tcpdump
goodbye_is_for() { tcpdump -enr /tmp/goodbye.pcap | grep ethertype | tail -n 1 | grep "> $1"; }
check goodbye_is_for_the_peer goodbye_is_for "$mac_a"
check add_again add_ib "$ns_b" shib_b veth_b
check up_with_the_new_one is_up shib_a

run wait_for 10 has_node shib_a
# processes that hold it: killed, or told that it is gone
: >/tmp/watch.killed
: >/tmp/watch.left
stdbuf -oL ibv_asyncwatch -d shib_a >/tmp/watch.killed 2>&1 &
killed=$!
stdbuf -oL ibv_asyncwatch -d shib_a >/tmp/watch.left 2>&1 &
left=$!
run wait_for 10 test -s /tmp/watch.killed
run wait_for 10 test -s /tmp/watch.left
kill -9 $killed
run rdma link delete shib_a
check removed_while_held device_is_gone shib_a
check holder_hears_of_it wait_for 10 grep -q DEVICE_FATAL /tmp/watch.left
run kill $left
check peer_polls is_polling shib_b
run add_ib "$ns_a" shib_a veth_a
check both_up_again is_up shib_b

run in_a ip link del veth_a
check gone_with_its_netdev wait_for 10 device_is_gone shib_a
check gone_with_the_other_end wait_for 10 device_is_gone shib_b

run ip link add veth_a netns "$ns_a" type veth peer name veth_b netns "$ns_b"
run in_a ip link set veth_a up
run in_b ip link set veth_b up
run add_ib "$ns_a" shib_a veth_a
run add_ib "$ns_b" shib_b veth_b
check up_in_new_netdevs is_up shib_a
run ip netns del "$ns_b"
check gone_with_its_namespace wait_for 10 device_is_gone shib_b
