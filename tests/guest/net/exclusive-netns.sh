#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Devices and network namespaces. Shared mode: several devices on one network
# device, which moves to another namespace in full traffic. Exclusive mode: a
# device is in one namespace, moves between them, and always uses the addresses
# and routes of its network device's namespace, wherever it is itself. In both modes the
# network device also moves while the device is being made, or moved.
#
# Takes 30 to 60 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

limit_ms=${removal_seconds}000
is_down() { grep -q DOWN "/sys/class/infiniband/$1/ports/1/state"; }
port_free() { ! ip netns exec "$1" ss -Huan 'sport = :4791' | grep -q .; }
pair() {
	between_pair ibv_rc_pingpong -c -n 50 -d shca_b -g "$(gid_in $ns_b shca_b $ip4_b)" -- \
		ibv_rc_pingpong -c -n 50 -d shca_a -g "$(gid_in $ns_a shca_a $ip4_a)" ADDRESS
}
# gid_in NAMESPACE DEVICE ADDRESS : gid_index as seen there
gid_in() { ip netns exec "$1" bash -c "$(declare -f gid_index gid_of); gid_index $2 $3"; }

# ---- shared: three devices on one netdev, each in another state
make_pair 1500
add_device shca_c veth_a $ns_a
add_device shca_d veth_a $ns_a
for device in shca_c shca_d; do run wait_for 10 gid_index $device $ip4_a; done
for device in shca_a shca_c; do hold $device -d $device -p shca_b -u 18; done
hold shca_d -d shca_d --idle
for device in shca_a shca_c shca_d; do
	check "several.traffic_$device" wait_for 20 said $device traffic
done
check several.delete_one within $limit_ms "rdma link show" rdma link delete shca_a
check several.released_it released shca_a
check several.others_live alive shca_c
run in_a ip link set veth_a down
for device in shca_c shca_d; do check "several.down_$device" wait_for 5 is_down $device; done
run in_a ip link set veth_a up
for device in shca_c shca_d; do check "several.up_$device" wait_for 5 port_active $device; done
check several.lives_on alive shca_c

# ---- shared: the netdev moves under two devices with traffic
at_exit ip netns del shca-x
run ip netns add shca-x
move() { in_a ip link set veth_a netns shca-x && wait_for $removal_seconds device_is_gone shca_c && wait_for $removal_seconds device_is_gone shca_d; }
log_mark
check moved.devices_go within $limit_ms "in_a ip link show veth_a" move
for device in shca_c shca_d; do check "moved.released_$device" released $device; done
check moved.log_is_silent eval '! kernel_log | grep -E "shca|infiniband|query_port"'
check moved.port_4791_is_free wait_for 5 port_free $ns_a
run ip -n shca-x addr add $ip4_a/24 dev veth_a
run ip -n shca-x link set veth_a up
add_device shca_a veth_a shca-x
run wait_for 10 gid_index shca_a $ip4_a
hold there -d shca_a -p shca_b
check moved.works_there wait_for 20 said there traffic
kill "${holder[there]}"
run rdma link delete shca_a
run rdma link delete shca_b

# ---- shared: the netdev moves while a device is made on it. Either there is none in the
# end, or it is of the namespace of the netdev. One that stayed here would keep this
# namespace from its end; its socket shows it.
back() { ip -n shca-x link set veth_a netns $ns_a; }
makes_while_it_moves() {
	local i pid
	for i in {0..9}; do
		ip netns exec $ns_a rdma link add shca_c type softhca netdev veth_a &
		pid=$!
		sleep "0.0$i"
		in_a ip link set veth_a netns shca-x || return
		wait $pid
		wait_for 10 port_free $ns_a || { rdma link show; return 1; }
		device_is_gone shca_c || rdma link delete shca_c
		back || return
	done
}
run back
check moved.while_it_is_made makes_while_it_moves
rdma link delete shca_c 2>/dev/null
run ip netns del shca-x
run ip netns del $ns_a
run ip netns del $ns_b

# ---- exclusive: only without other namespaces can the mode change
mode_is() { rdma system | grep -q "netns $1"; }
at_exit set_netns_mode shared
run wait_for 10 no_namespaces
check exclusive.set set_netns_mode exclusive
check exclusive.is_set mode_is exclusive
make_namespaces 1500

# is_visible NAMESPACE DEVICE : it is visible there, and can be opened
is_visible() { ip netns exec "$1" rdma dev show "$2" && ip netns exec "$1" ibv_devinfo -d "$2" >/dev/null; }
init_has() { rdma dev show "$1" && ibv_devinfo -d "$1" >/dev/null; }
lacks() { ! ip netns exec "$1" rdma dev show "$2" && ! ip netns exec "$1" ibv_devinfo -d "$2" >/dev/null; }
init_lacks() { ! rdma dev show "$1" && ! ibv_devinfo -d "$1" >/dev/null; }
# add_there DEVICE NETDEV NAMESPACE : up to 6.12 the core makes every device in
# the initial namespace
add_there() {
	at_exit rdma link delete "$1"
	ip netns exec "$3" rdma link add "$1" type softhca netdev "$2" || return
	! rdma dev show "$1" 2>/dev/null || rdma dev set "$1" netns "$3"
}
check exclusive.add_a add_there shca_a veth_a $ns_a
check exclusive.add_b add_there shca_b veth_b $ns_b
for a_then_b in "$ns_a shca_a" "$ns_b shca_b"; do
	# shellcheck disable=SC2086 # two words
	check "exclusive.${a_then_b#* }_in_its_namespace" is_visible $a_then_b
done
check exclusive.not_in_another lacks $ns_b shca_a
check exclusive.not_in_the_first init_lacks shca_a
run wait_for 10 gid_in $ns_a shca_a $ip4_a
run wait_for 10 gid_in $ns_b shca_b $ip4_b
check exclusive.traffic pair
cm_traffic() {
	local pid status=0
	ip netns exec $ns_b rping -s -V -C 3 -a $ip4_b >/tmp/rping 2>&1 &
	pid=$!
	wait_for 10 eval "in_b rdma resource show cm_id | grep -q 'state LISTEN.* pid $pid '" || status=1
	in_a timeout $((20 * slow)) rping -c -V -C 3 -a $ip4_b || status=1
	[ $status = 0 ] || kill $pid
	wait $pid || status=1
	cat /tmp/rping
	return $status
}
check exclusive.rdma_cm cm_traffic

# ---- exclusive: the device moves to b, its netdev stays in a
tx_packets() { in_a cat /sys/class/net/veth_a/statistics/tx_packets; }
hold_in $ns_b stays -d shca_b --idle
hold_in $ns_a leaves -d shca_a --idle
for name in stays leaves; do run wait_for 20 said $name traffic; done
move_to_b() { in_a rdma dev set shca_a netns $ns_b; }
check move.while_held within $limit_ms "in_a rdma dev show" move_to_b
check move.released released leaves
check move.gone_from_a lacks $ns_a shca_a
check move.is_in_b is_visible $ns_b shca_a
before=$(tx_packets)
hold_in $ns_b both -d shca_a -p shca_b
check move.traffic wait_for 20 said both traffic
many_packets() { [ "$(tx_packets)" -gt $((before + 100)) ]; }
check move.packets_leave_by_the_netdev many_packets
kill "${holder[both]}" "${holder[stays]}"
wait "${holder[both]}" "${holder[stays]}"

# ---- exclusive: the netdev leaves while the device is between two namespaces, and so the
# RDMA core has it disabled: it goes all the same
run ip netns add shca-x
nowhere() { ! in_a rdma dev show shca_a 2>/dev/null && ! in_b rdma dev show shca_a 2>/dev/null; }
netdev_leaves_between() {
	local i pid
	for i in {0..9}; do
		ip netns exec $ns_b rdma dev set shca_a netns $ns_a &
		pid=$!
		sleep "0.0$i"
		in_a ip link set veth_a netns shca-x || return
		wait $pid
		wait_for $removal_seconds nowhere || { rdma system; in_a rdma dev; in_b rdma dev; return 1; }
		back && add_there shca_a veth_a $ns_a && in_a rdma dev set shca_a netns $ns_b || return
	done
}
check move.netdev_leaves_between netdev_leaves_between
run ip netns del shca-x
run configure $ns_a veth_a $ip4_a $ip6_a

# ---- exclusive: a's namespace goes, with the netdev: so does the device in b
namespace_delete() { ip netns del $ns_a && wait_for $removal_seconds eval "! in_b rdma dev show shca_a"; }
hold_in $ns_b last -d shca_a --idle
run wait_for 20 said last traffic
check netdev_goes.device_in_b_goes within $limit_ms "ip netns list" namespace_delete
check netdev_goes.released released last
run rdma system
run ip netns del $ns_b
check exclusive.all_gone wait_for 10 eval '! rdma link show | grep -q shca_'
