#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# An InfiniBand link between two kernels that share nothing but an Ethernet: OpenSM of
# one brings up both ports, data is checked, nothing is lost for want of a buffer, and
# a port that goes away takes the link down until it comes back.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$here/../guest/subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

other_counter() { on node2 cat "/sys/class/infiniband/shib0/ports/1/hw_counters/$1"; }
# add_port : shib0 on eth0, of this node; without an exit command
add_port() { ip link set eth0 mtu 4230 && modprobe ib_umad && rdma link add shib0 type softhca_ib netdev eth0; }
has_other() { on node2 grep -q "$2" "/sys/class/infiniband/shib0/ports/1/$1"; }
# both_are STATE
both_are() {
	wait_for 60 has shib0 state "$1" && wait_for 60 has_other state "$1" && return
	attribute shib0 state
	tail /tmp/opensm.log
	return 1
}

run ssh -fNM "${ssh_options[@]}" node2
at_exit ssh "${ssh_options[@]}" -O exit node2
at_exit rdma link delete shib0
at_exit on node2 rdma link delete shib0
on node2 bash -c "$(declare -f add_port); add_port" || fail "no port on node2"
run add_port
check link_comes_up both_are INIT
run wait_for 10 has_umad shib0
run wait_for 10 has_node shib0
rm -f /var/cache/opensm/* /tmp/opensm.log
opensm -g "0x$(guid shib0)" -s 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
at_exit kill $!
check manager_makes_both_active both_are ACTIVE

for transport in rc uc ud; do
	size=100003
	[ $transport != ud ] || size=1000
	check $transport between_nodes ibv_${transport}_pingpong -c -d shib0 -n 20 -s $size -- \
		ibv_${transport}_pingpong -c -d shib0 -n 20 -s $size $ip4_2
done
for program in ib_write_bw ib_send_bw ib_read_bw; do
	check $program between_nodes $program -F -d shib0 -q 4 -s 65536 -n 100 -- \
		$program -F -d shib0 -q 4 -s 65536 -n 100 $ip4_2
done
# (what the link between the guests drops is no concern of the ports')
nothing_wants_a_buffer() {
	local name
	for name in tx_dropped_locally rx_backlog_drops rx_buffer_overruns rx_credit_errors rx_malformed; do
		[ "$(counter shib0 $name) $(other_counter $name)" = "0 0" ] ||
			{ echo "$name: $(counter shib0 $name), $(other_counter $name)"; return 1; }
	done
}
check nothing_wants_a_buffer nothing_wants_a_buffer
all_by_the_wire() { [ "$(counter shib0 rx_packets)" -gt 1000 ]; }
check all_by_the_wire all_by_the_wire

run on node2 rdma link delete shib0
check link_goes_down wait_for 20 has shib0 state DOWN
on node2 bash -c "$(declare -f add_port); add_port" || fail "no port on node2 again"
check link_comes_back both_are ACTIVE
check rc_again between_nodes ibv_rc_pingpong -c -d shib0 -n 20 -s 100003 -- \
	ibv_rc_pingpong -c -d shib0 -n 20 -s 100003 $ip4_2
