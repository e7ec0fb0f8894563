#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Devices are taken away in each way there is, while processes use and hold
# them: nothing waits for those processes, they learn of it, and what they still
# do afterwards fails in an orderly way. Each way is gone several times: ROUNDS,
# 20 in make soak.
#
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/scenario"

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
no_veth() { ! ip netns list | grep -q shca- && [ ! -e /sys/class/infiniband/shca_a ]; }

link_delete() { rdma link delete shca_a && device_is_gone shca_a; }
netdev_delete() { in_a ip link del veth_a && wait_for $removal_seconds device_is_gone shca_a; }
namespace_delete() { ip netns del $ns_a && wait_for $removal_seconds device_is_gone shca_a; }
module_remove() { rmmod softhca && device_is_gone shca_a && device_is_gone shca_b; }

for ((round = 1; round <= rounds; round++)); do
	start_holders
	check "link_delete.$round" within $limit_ms "rdma link show" link_delete
	check "link_delete.$round.peer_sees_it" wait_for 10 said server 'ended: \(transport retry\|remote\)'
	end_holders "link_delete.$round" itself across server client idle

	# veth ends go together, and so do their devices
	start_holders
	check "netdev_delete.$round" within $limit_ms "in_a ip link show veth_a" netdev_delete
	end_holders "netdev_delete.$round" itself across server client idle

	start_holders
	check "namespace_delete.$round" within $limit_ms "ip netns list" namespace_delete
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
