#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Partitions of an InfiniBand subnet, by OpenSM's partitions.conf: full and limited
# members, what may not talk is dropped, counted and trapped, a change under traffic,
# IPoIB on a partition, and the P_Keys of QP1.
#
# timeout: 900
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe -a ib_umad ib_ipoib || skip "this kernel has no ib_ipoib"

# partition_conf MEMBERS_OF_0x0001
partition_conf() {
	cat >/tmp/partitions.conf <<-END
		Default=0x7fff, ipoib, mtu=4, defmember=full : ALL=full, SELF=full;
		both=0x0001, ipoib, mtu=4 : $1;
		halves=0x0002 : $a=limited, $b=limited;
		mixed=0x0003 : $a=full, $b=limited;
	END
	for i in $(seq 16 36); do
		echo "p$i=0x00$i : $a=full;"
	done >>/tmp/partitions.conf
}

# index DEVICE P_KEY : its place in the table
index() {
	local file
	for file in "/sys/class/infiniband/$1/ports/1/pkeys/"*; do
		[ "$(<"$file")" != "$2" ] || { basename "$file"; return; }
	done
	return 1
}

# within P_KEY_A P_KEY_B COMMAND... : both ends of it, each in its partition
within() {
	local of_a of_b server status=0
	of_a=$(index shib_a "$1") && of_b=$(index shib_b "$2") || return
	shift 2
	timeout $((60 * slow)) "$@" -d shib_b --pkey_index="$of_b" >/tmp/server 2>&1 &
	server=$!
	wait_for 20 listens || { cat /tmp/server; return 1; }
	timeout $((60 * slow)) "$@" -d shib_a --pkey_index="$of_a" 127.0.0.1 >/tmp/client 2>&1 || status=$?
	[ $status = 0 ] && wait $server && return
	kill $server 2>/dev/null
	wait $server 2>/dev/null
	return 1
}
# For whom nobody answers, the time is short.
talk() { within "$1" "$2" ib_send_bw -F -n 100 -s 1024 -u 12 "${@:3}"; }
silent() { refused talk "$@" && grep -Eq 'Failed status 12|Completion with error' /tmp/client; }
mismatches() { attribute "$1" hw_counters/rx_pkey_mismatch; }
violations() { smpquery -C shib_a portinfo "$lid_b" 1 | sed -n 's/^PkeyViolations:\.*//p'; }
grows() { [ "$(mismatches "$1")" -gt "$2" ]; }

two_ports 2200
run ip link set lo up
a=0x$(guid shib_a) b=0x$(guid shib_b)
partition_conf "$a=full, $b=full"
rm -f /tmp/opensm.log
opensm -g "$a" -s 0 -P /tmp/partitions.conf -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
manager=$!
at_exit kill $manager
both_active
lid_b=$(attribute shib_b lid)
lid_b=$((lid_b))

check table wait_for 20 index shib_a 0x8001
check table_peer wait_for 20 index shib_b 0x0003
# Of 25 partitions, more than the 16 entries of old:
check table_of_many [ "$(index shib_a 0x8036)" -ge 20 ]
check table_has_32 [ -e /sys/class/infiniband/shib_a/ports/1/pkeys/31 ]
check table_has_no_more [ ! -e /sys/class/infiniband/shib_a/ports/1/pkeys/32 ]
check full_members talk 0x8001 0x8001
check limited_with_full talk 0x8003 0x0003
before=$(mismatches shib_b) violations=$(violations)
check limited_members silent 0x0002 0x0002
check limited.are_counted grows shib_b "$before"
check limited.are_violations [ "$(violations)" -gt "$violations" ]
trapped() { grep -q 'num:257 .* from LID:'"$lid_b " /tmp/opensm.log; }
check limited.are_trapped wait_for 20 trapped
check other_partition silent 0x8001 0x0003

# A member is taken out while it works, and comes back.
watch_events shib_b
gone() { ! index shib_b 0x8001; }
partition() {
	partition_conf "$1"
	kill -HUP $manager
}
of_a=$(index shib_a 0x8001) of_b=$(index shib_b 0x8001)
ib_write_bw -F -d shib_b --pkey_index="$of_b" -u 12 -D 60 >/tmp/server 2>&1 &
server=$!
run wait_for 20 listens
ib_write_bw -F -d shib_a --pkey_index="$of_a" -u 12 -D 60 127.0.0.1 >/tmp/client 2>&1 &
client=$!
packets=$(attribute shib_b hw_counters/rx_packets)
flows() { [ "$(attribute shib_b hw_counters/rx_packets)" -gt $((packets + 1000)) ]; }
check traffic wait_for 20 flows
run partition "$a=full"
check taken_out wait_for 20 gone
check taken_out.event wait_for 10 grep -q PKEY_CHANGE /tmp/events
ended() { ! kill -0 "$1" 2>/dev/null; }
check taken_out.traffic_ends wait_for 30 ended $client
kill $server 2>/dev/null
run partition "$a=full, $b=full"
check back wait_for 20 index shib_b 0x8001
check back.traffic talk 0x8001 0x8001

# enter_child NAMESPACE DEVICE ADDRESS : a child of its netdev, in the partition, goes there
enter_child() {
	local netdev
	run wait_for 20 ipoib "$2"
	netdev=$(ipoib "$2")
	run ip link set "$netdev" up
	run ip link add link "$netdev" name "child_$1" type ipoib pkey 0x8001
	run ip link set "child_$1" netns "$1"
	run ip -n "$1" link set "child_$1" name ip1
	run ip -n "$1" addr add "$3/24" dev ip1
	run ip -n "$1" link set ip1 up
}
enter_child "$ns_a" shib_a 10.79.0.1
enter_child "$ns_b" shib_b 10.79.0.2
check child.ping wait_for 30 in_a ping -c 1 -W 2 10.79.0.2
check child.ping_back in_b ping -c 3 10.79.0.1
: >/tmp/qp1
nsenter --net="/run/netns/$ns_b" "$(dirname "$0")/../helpers/ib-qp1-pkeys.py" veth_b 0x8001 >/tmp/qp1 &
listener=$!
run wait_for 10 test -s /tmp/qp1
in_a rping -s -a 10.79.0.1 -C 5 >/tmp/rping 2>&1 &
cm_server=$!
in_cm() { timeout $((20 * slow)) ip netns exec "$ns_b" rping -c -a 10.79.0.1 -C 5; }
check child.rdma_cm wait_for 20 in_cm
check child.rdma_cm_server wait $cm_server
check child.qp1_has_its_p_key wait $listener

# A child goes while it is in use, and comes back.
# (ping itself, not a shell around it, is what has to end.)
ip netns exec "$ns_a" ping -q -i 0.005 -s 1000 10.79.0.2 >/tmp/ping 2>&1 &
at_exit kill $!
ip netns exec "$ns_b" ping -q -i 0.005 -s 1000 10.79.0.1 >/tmp/ping.back 2>&1 &
at_exit kill $!
run sleep 1
check child.removed in_b ip link del ip1
enter_child "$ns_b" shib_b 10.79.0.2
check child.ping_again wait_for 30 in_b ping -c 1 -W 2 10.79.0.1
