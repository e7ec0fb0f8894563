#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two guests as hosts of softhca-fabric, which runs on the machine (scripts/qemu/vm --fabric,
# tests/fabric/guests.topo): OpenSM in one guest configures switches and ports, data is checked,
# and nothing is lost. Under traffic, all stand still for a while, which no port notices; the process
# is killed, ends and hangs; OpenSM is killed, and a guest loses its power: all ports are Active
# again, and nothing of before is left. ROUNDS times each (1; 20 in make soak).
#
# timeout: 1200
. "$(dirname "$0")/../lib.sh"
. "$here/../guest/subnet"

[ -e /sys/class/net/fabric0 ] || skip "no fabric (scripts/qemu/vm --fabric)"
command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

rounds=${ROUNDS:-${SHCA_SOAK:+20}}
rounds=${rounds:-1}

# add_port : shib0 on fabric0, of this node; without an exit command
add_port() { modprobe ib_umad && rdma link add shib0 type softhca_ib netdev fabric0; }
add_other() { on node2 bash -c "$(declare -f add_port); add_port"; }
has_other() { on node2 grep -q "$2" "/sys/class/infiniband/shib0/ports/1/$1"; }
# both_are STATE
both_are() {
	wait_for 60 has shib0 state "$1" && wait_for 60 has_other state "$1" && return
	attribute shib0 state
	tail -n 5 /tmp/opensm.log
	tail -n 5 /run/vm/fabric
	return 1
}
# start_manager : OpenSM, which knows no LIDs of before. (No packet expires: this machine may be slow.)
printf '%s 0x14\n' head_of_queue_lifetime leaf_head_of_queue_lifetime >/tmp/opensm.conf
start_manager() {
	rm -f /var/cache/opensm/* /tmp/opensm.log
	opensm -F /tmp/opensm.conf -g "0x$(guid shib0)" -s 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
	manager=$!
}
connect() { ssh -fNM "${ssh_options[@]}" node2; }

run connect
at_exit ssh "${ssh_options[@]}" -O exit node2
at_exit rdma link delete shib0
at_exit on node2 rdma link delete shib0
run add_other
run add_port
check link_comes_up both_are INIT
run wait_for 10 has_umad shib0
run wait_for 10 has_node shib0
start_manager
at_exit pkill -x opensm
check manager_makes_both_active both_are ACTIVE

check ibnetdiscover asks '"simulated 2"' ibnetdiscover
check ibnetdiscover.nodes [ "$(grep -c '^Switch\|^Ca' /tmp/out)" = 8 ]
leaf2=$(sed -n 's/^Switch.*"leaf 2" enhanced port 0 lid \([0-9]*\).*/\1/p' /tmp/out)
check perfquery asks PortXmitPkts perfquery "$leaf2" 1

traffic() {
	local transport size
	for transport in rc uc ud; do
		size=100003
		[ $transport != ud ] || size=1000
		check "$1$transport" between_nodes ibv_${transport}_pingpong -c -d shib0 -n 20 -s $size -- \
			ibv_${transport}_pingpong -c -d shib0 -n 20 -s $size $ip4_2
	done
}
traffic ""
for program in ib_write_bw ib_send_bw ib_read_bw; do
	check $program between_nodes $program -F -d shib0 -u 18 -q 4 -s 65536 -n 100 -- \
		$program -F -d shib0 -u 18 -q 4 -s 65536 -n 100 $ip4_2
done
other_counter() { on node2 cat "/sys/class/infiniband/shib0/ports/1/hw_counters/$1"; }
nothing_is_lost() {
	local name
	for name in tx_dropped_locally rx_backlog_drops rx_buffer_overruns rx_credit_errors rx_malformed rx_vcrc_errors; do
		[ "$(counter shib0 $name) $(other_counter $name)" = "0 0" ] ||
			{ echo "$name: $(counter shib0 $name), $(other_counter $name)"; return 1; }
	done
	# (A port counts what it sends before it is Active.)
	ibqueryerrors --switch --suppress PortXmitWait >/tmp/out 2>&1
	! grep -E '\[[A-Z]' /tmp/out && return
	echo "link_downed of the guests: $(links_downed), $(other_links_downed)"
	return 1
}
links_downed() { cat /sys/class/infiniband/shib0/ports/1/counters/link_downed; }
other_links_downed() { on node2 cat /sys/class/infiniband/shib0/ports/1/counters/link_downed; }
check nothing_is_lost nothing_is_lost
no_errors() { ! opensm_errors "$@"; }
check opensm_has_no_errors no_errors

# ---- the process, under traffic that has to go on
# (the link may be up again before anybody looks)
fabric_signal() {
	downed=$(links_downed)
	echo "$1" >/run/vm/fabric-signal
}
goes_down() { [ "$(links_downed)" -gt "$downed" ]; }
is_taken() { [ ! -e /run/vm/fabric-signal ]; }
seconds=$((15 * (1 + rounds) * slow))
begin_traffic() {
	remote node2 serve ib_write_bw -F -d shib0 -u 18 -D $seconds >/tmp/server 2>&1 &
	far_end=$!
	wait_for 30 grep -q '^serve: listening' /tmp/server || return
	ib_write_bw -F -d shib0 -u 18 -D $seconds $ip4_2 >/tmp/client 2>&1 &
	near_end=$!
}
flows() { [ "$(counter shib0 tx_packets)" -gt $((before + 500)) ]; }
goes_on() {
	before=$(counter shib0 tx_packets)
	wait_for 60 flows
}
run begin_traffic
check traffic goes_on
for ((round = 1; round <= rounds; round++)); do
	fabric_signal PAUSE
	run wait_for 10 is_taken
	check $round.pause.traffic goes_on
	check $round.pause nothing_is_lost
done
for ((round = 1; round <= rounds; round++)); do
	for signals in KILL TERM STOP.CONT STOP.KILL; do
		fabric_signal ${signals%.*}
		check $round.$signals.down wait_for 20 goes_down
		run wait_for 10 is_taken
		# (what hangs leaves the guests' frames where they are, until it goes on or dies)
		[ $signals = ${signals#*.} ] || fabric_signal ${signals#*.}
		check $round.$signals.active both_are ACTIVE
		check $round.$signals.traffic goes_on
	done
done
check client wait "$near_end"
check server wait "$far_end"

# ---- OpenSM, which knows nothing of before
for ((round = 1; round <= rounds; round++)); do
	kill -9 $manager
	wait $manager
	fabric_signal KILL
	check $round.manager.down wait_for 20 goes_down
	check $round.manager.initialize both_are INIT
	start_manager
	check $round.manager.active both_are ACTIVE
	traffic $round.manager.
done

# ---- a guest: the other one sees its port go, and OpenSM gives it all back
find_leaf() {
	ibnetdiscover >/tmp/out 2>&1
	leaf2=$(sed -n 's/^Switch.*"leaf 2" enhanced port 0 lid \([0-9]*\).*/\1/p' /tmp/out)
	[ "${leaf2:-0}" -gt 0 ]
}
leaf_port() { asks "LinkState:\.*$1" smpquery portinfo "$leaf2" 1; }
answers() { timeout 20 ssh -n "${ssh_options[@]}" -o ControlPath=none node2 true; }
lid_of_other() { printf %d "$(on node2 cat /sys/class/infiniband/shib0/ports/1/lid)"; }
own_lid=$(printf %d "$(attribute shib0 lid)")
for ((round = 1; round <= rounds; round++)); do
	run wait_for 20 find_leaf
	on node2 sh -c ': >/run/vm/again; echo b >/proc/sysrq-trigger' &
	check $round.guest.leaf_is_down wait_for 30 leaf_port Down
	# (calls to node2 wait in vain)
	pkill -x ssh
	rm -f /tmp/nodes.*
	check $round.guest.starts wait_for 300 answers
	run connect
	run add_other
	check $round.guest.active both_are ACTIVE
	check $round.guest.leaf_is_active leaf_port Active
	check $round.guest.lid [ "$(printf %d "$(attribute shib0 lid)")" = "$own_lid" ]
	check $round.guest.way asks '^To ca' ibtracert "$own_lid" "$(lid_of_other)"
	traffic $round.guest.
done
