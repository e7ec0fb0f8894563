#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Devices are taken away in each way there is, while processes use and hold
# them: nothing waits for those processes, they learn of it, and what they still
# do afterwards fails in an orderly way; a peer that stays gets RETRY_EXC_ERR. Each
# way is gone several times: ROUNDS, 20 in make soak. (The peer of a module that is
# removed is on another machine: tests/nodes/life/module-remove.sh.)
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

rounds=${ROUNDS:-${SHCA_SOAK:+20}}
rounds=${rounds:-2}
limit_ms=${removal_seconds}000

# The processes run outside of the two namespaces: one inside would keep its
# namespace alive.
start_holders() {
	make_pair 9000
	hold itself -d shca_a
	hold across -d shca_a -p shca_b
	hold server -d shca_b --listen 7471
	hold client -d shca_a --connect 127.0.0.1:7471
	hold idle -d shca_a --idle
	local name
	for name in itself across server client idle; do
		wait_for 20 said $name traffic || { cat /tmp/hold.$name; fail "no traffic: $name"; }
	done
}

# end_holders LABEL NAME... : those notice, the devices' names are free again
end_holders() {
	local label=$1 name
	shift
	for name; do
		check "$label.released_$name" released "$name"
	done
	rdma link delete shca_b 2>/dev/null
	ip netns del $ns_a 2>/dev/null
	ip netns del $ns_b 2>/dev/null
	check "$label.netdev_is_gone" wait_for 10 no_veth
}
no_ports() { [ ! -e /sys/class/net/port_a ] && [ ! -e /sys/class/net/port_b ]; }
no_veth() { ! ip netns list | grep -q shca- && [ ! -e /sys/class/infiniband/shca_a ]; }

by_link_delete() { device_delete shca_a; }
by_netdev_delete() { in_a ip link del veth_a && wait_for $removal_seconds device_is_gone shca_a; }
by_namespace_delete() { ip netns del $ns_a && wait_for $removal_seconds device_is_gone shca_a; }

# A device that goes falls silent, queue pairs first (hold): what its peer gets is
# the error of a peer that does not answer, never one about keys.
retry_exc_err='ended: transport retry counter exceeded'

for ((round = 1; round <= rounds; round++)); do
	start_holders
	check "link_delete.$round" within $limit_ms "rdma link show" device_delete shca_a
	check "link_delete.$round.peer_gets_retry_exc_err" wait_for 10 said server "$retry_exc_err"
	end_holders "link_delete.$round" itself across server client idle

	# veth ends go together, and so do their devices
	start_holders
	check "netdev_delete.$round" within $limit_ms "in_a ip link show veth_a" by_netdev_delete
	end_holders "netdev_delete.$round" itself across server client idle

	start_holders
	check "namespace_delete.$round" within $limit_ms "ip netns list" by_namespace_delete
	end_holders "namespace_delete.$round" itself across server client idle

	start_holders
	check "rmmod.$round" within $limit_ms "rmmod no_such_module" module_remove
	end_holders "rmmod.$round" itself across server client idle

	# the processes die first, then the devices go
	start_holders
	for name in itself across server client idle; do
		kill -KILL "${holder[$name]}"
		wait "${holder[$name]}" 2>/dev/null
	done
	check "killed.$round" within $limit_ms "rmmod no_such_module" module_remove
	end_holders "killed.$round"
done

# ---- the peer stays

# Between two namespaces, but a's netdev is not the other end of b's.
make_bridged_pair() {
	local side
	for side in a b; do
		at_exit ip netns del shca-$side
		run ip netns add shca-$side
		at_exit ip link del port_$side
		run ip link add veth_$side mtu 9000 netns shca-$side type veth peer name port_$side mtu 9000
	done
	run configure $ns_a veth_a $ip4_a $ip6_a
	run configure $ns_b veth_b $ip4_b $ip6_b
	at_exit ip link del shca_bridge
	run ip link add shca_bridge type bridge
	for side in a b; do run ip link set port_$side master shca_bridge up; done
	run ip link set shca_bridge up
	run wait_for 20 in_a ping -q -c 1 -W 1 $ip4_b
	add_device shca_a veth_a $ns_a
	add_device shca_b veth_b $ns_b
	run wait_for 10 gid_index shca_a $ip4_a
	run wait_for 10 gid_index shca_b $ip4_b
}

[ -n "${ROUNDS-}${SHCA_SOAK-}" ] || rounds=1
for ((round = 1; round <= rounds; round++)); do
	for way in link_delete netdev_delete namespace_delete; do
		make_bridged_pair
		hold server -d shca_b --listen 7471
		run wait_for 20 listening "" 7471
		hold client -d shca_a --connect 127.0.0.1:7471
		for name in server client; do
			wait_for 20 said $name traffic || { cat /tmp/hold.$name; fail "no traffic: $name"; }
		done
		check "peer_stays.$way.$round" within $limit_ms "ip netns list" by_$way
		check "peer_stays.$way.$round.peer_gets_retry_exc_err" wait_for 10 said server "$retry_exc_err"
		check "peer_stays.$way.$round.its_device_is_well" port_active shca_b
		ip link del shca_bridge
		ip netns del $ns_a 2>/dev/null
		for name in server client; do
			check "peer_stays.$way.$round.released_$name" released $name
		done
		rdma link delete shca_a 2>/dev/null
		run rdma link delete shca_b
		ip netns del $ns_b
		run wait_for 10 no_ports
	done
done
