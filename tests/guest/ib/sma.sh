#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The subnet management agent of an InfiniBand port, asked on its own machine by the
# tools of infiniband-diags: NodeDesc, NodeInfo, PortInfo; a LID is set, and states.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../subnet"

command -v smpquery >/dev/null || skip "this guest has no infiniband-diags"
modprobe ib_umad || skip "this kernel has no ib_umad"

query() { smpquery -C shib_a -P 1 -D "$1" 0 | tee /tmp/smp; }
says() { grep -Eq "$1" /tmp/smp; }
set_port() { ibportstate -C shib_a -P 1 -D 0 1 "$@"; }
event() { wait_for 10 grep -q "$1" /tmp/events; }

make_namespaces 1500
at_exit rdma link delete shib_a
at_exit rdma link delete shib_b
run add_ib "$ns_a" shib_a veth_a
run add_ib "$ns_b" shib_b veth_b
run becomes shib_a state INIT
run wait_for 10 has_umad shib_a
run wait_for 10 has_node shib_a
guid=$(guid shib_a)

check node_desc query nodedesc
check node_desc.text says "$(cat /sys/class/infiniband/shib_a/node_desc)"
check node_info query nodeinfo
check node_info.type says 'NodeType:\.*Channel Adapter'
check node_info.guid says "PortGuid:\.*0x$guid"
check node_info.ports says 'NumPorts:\.*1$'
check port_info query portinfo
check port_info.state says 'LinkState:\.*Initialize'
check port_info.physical says 'PhysLinkState:\.*LinkUp'
check port_info.mtu says 'MtuCap:\.*1024'
check port_info.width says 'LinkWidthActive:\.*4X'

# as a subnet manager does
watch_events shib_a
check set_lid set_port lid 17
check lid becomes shib_a lid '^0x11$'
check event_lid_change event IBV_EVENT_LID_CHANGE
check set_armed set_port arm
check armed becomes shib_a state ARMED
check set_active set_port active
check active becomes shib_a state ACTIVE
check event_port_active event IBV_EVENT_PORT_ACTIVE
# Packets to a LID of the port itself do not leave it.
own_port() {
	local server
	ibv_rc_pingpong -d shib_a -n 20 >/tmp/server 2>&1 &
	server=$!
	wait_for 10 listening_here 18515 || return
	timeout $((30 * slow)) ibv_rc_pingpong -d shib_a -n 20 127.0.0.1 && wait $server
}
listening_here() { ss -Hltn "sport = :$1" | grep -q .; }
run ip link set lo up
check own_port own_port
run in_a ip link set veth_a down
check down becomes shib_a state DOWN
check event_port_error event IBV_EVENT_PORT_ERR
