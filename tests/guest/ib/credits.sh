#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Credits of an InfiniBand link: a peer that is no softhca grants them, a lane whose
# receiver is slow stops itself only, nothing is lost on the way, weights count, and what
# waits for credit holds nobody up for ever.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
python3 -c 'import pyverbs' 2>/dev/null || skip "this guest has no pyverbs"
modprobe ib_umad || skip "this kernel has no ib_umad"

helpers=$(dirname "$0")/../helpers
counter() { attribute "$1" "hw_counters/$2"; }
listens() { ss -Hltn "sport = :$1" | grep -q .; }
refused() { ! "$@"; }
set_port() { ibportstate -C shib_a -P 1 -D 0 1 "$@" >/dev/null; }

# judge WHAT : shib_a against a peer in its place, active without a subnet manager. Batches are for
# ports of softhca only.
judge() {
	: >/tmp/judge
	nsenter --net="/run/netns/$ns_b" "$helpers/ib-credits.py" veth_b shib_a "$1" >/tmp/judge 2>&1 &
	judge=$!
	run wait_for 20 grep -q up /tmp/judge
	run becomes shib_a state INIT
	run set_port lid 1
	run set_port arm
	run set_port active
	run in_a softhca dev set shib_a path wire
}
judged() {
	wait $judge || echo "not ok judge.$1" >>/tmp/judge
	# What it measures by time, a busy machine spoils: one that failed is told, and judges again.
	if [ $# = 1 ] && grep -q '^not ok' /tmp/judge; then
		sed 's/^/# before: /' /tmp/judge
		run becomes shib_a state DOWN
		judge "$1"
		judged "$1" again
		return
	fi
	grep -v '^up$' /tmp/judge
	run becomes shib_a state DOWN
	run in_a softhca dev set shib_a path auto
}

make_namespaces 4230
run ip link set lo up
at_exit rdma link delete shib_a
at_exit rdma link delete shib_b
run add_ib "$ns_a" shib_a veth_a
run wait_for 10 has_umad shib_a
run wait_for 10 has_node shib_a

# a peer of an earlier version: it has one lane, and no credits
judge old
judged old

# (not active: there nothing waits for credit)
nsenter --net="/run/netns/$ns_b" "$helpers/ib-credits.py" veth_b shib_a mute || fail "ib-credits.py"
run becomes shib_a state DOWN

# one that gives no credit: HOQLife is 4 s as long as no manager sets another
judge starve
judged starve

# two ports, of which OpenSM sets weights
run add_ib "$ns_b" shib_b veth_b
run becomes shib_b state INIT
run wait_for 10 has_node shib_b
# (and no limit of time: nothing is lost on a slow machine, either)
printf '%s\n' 'qos TRUE' 'head_of_queue_lifetime 0x14' 'leaf_head_of_queue_lifetime 0x14' 'qos_max_vls 8' 'qos_high_limit 0' 'qos_vlarb_high 0:0' \
	'qos_vlarb_low 0:64,1:192,2:64,3:64' 'qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3' >/tmp/opensm.conf
opensm -F /tmp/opensm.conf -g "0x$(guid shib_a)" -s 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
opensm=$!
at_exit kill $opensm
both_active
weighted() { smpquery -C shib_a -D vlarb 0 1 2>&1 | grep -q '0x40|0xC0|'; }
check weights_are_set wait_for 20 weighted

# lost : what has been lost on the way, anywhere between both ends
lost() {
	local port
	for port in shib_a shib_b; do
		counter $port tx_dropped_locally
		counter $port rx_backlog_drops
		counter $port rx_buffer_overruns
	done
	ip -n "$ns_a" -s -j link show veth_a | grep -o '"dropped":[0-9]*'
	ip -n "$ns_b" -s -j link show veth_b | grep -o '"dropped":[0-9]*'
}
none_since() { [ "$1" = "$(lost)" ] || { echo "$1"; lost; return 1; }; }
# crowd SECONDS : 16 queue pairs over 4 service levels
crowd() {
	local level servers=() clients=() pid status=0
	for level in 0 1 2 3; do
		ib_write_bw -F -d shib_b -S $level -q 4 -s 16384 -D "$1" -p $((18600 + level)) >/tmp/server$level 2>&1 &
		servers+=($!)
		wait_for 30 listens $((18600 + level))
	done
	for level in 0 1 2 3; do
		ib_write_bw -F -d shib_a -S $level -q 4 -s 16384 -D "$1" -p $((18600 + level)) 127.0.0.1 \
			>/tmp/client$level 2>&1 &
		clients+=($!)
	done
	for pid in "${clients[@]}" "${servers[@]}"; do
		wait "$pid" || status=1
	done
	[ $status = 0 ] || tail -n 5 /tmp/client?
	return $status
}
losses=$(lost)
waited=$(counter shib_a tx_credit_waits)
check crowd crowd $((${SHCA_SOAK:+60} + 5))
check crowd.nothing_is_lost none_since "$losses"
echo "# $(($(counter shib_a tx_credit_waits) - waited)) of $(counter shib_a tx_packets) packets waited for credit"
echo "# out of sequence: $(counter shib_a out_of_sequence), $(counter shib_b out_of_sequence)"

# UC packets of service level 1 stay in the receiver's buffer for half a second each, 180 at a time.
# Lane 1 stops; lane 0 does not notice.
run in_b softhca fault add dev=shib_b do=delay dir=rx opcode=0x24 delay=500ms
timeout $((90 * slow)) ib_send_bw -F -c UC -d shib_b -S 1 -s 2048 -n $((1200 * (1 + slow))) -p 18610 >/tmp/server 2>&1 &
slow_server=$!
wait_for 20 listens 18610
losses=$(lost)
timeout $((90 * slow)) ib_send_bw -F -c UC -d shib_a -S 1 -s 2048 -n $((1200 * (1 + slow))) -p 18610 127.0.0.1 >/tmp/slow 2>&1 &
slow_client=$!
waits() { [ "$(counter shib_a tx_credit_waits)" -gt "$waited" ]; }
waited=$(counter shib_a tx_credit_waits)
check slow_lane.waits wait_for 20 waits
ib_write_bw -F -d shib_b -S 0 -s 65536 -n 40 -p 18611 >/tmp/server0 2>&1 &
fast_server=$!
wait_for 20 listens 18611
check slow_lane.other_goes_on timeout $((20 * slow)) ib_write_bw -F -d shib_a -S 0 -s 65536 -n 40 -p 18611 127.0.0.1
check slow_lane.other_server wait $fast_server
check slow_lane.is_still_slow kill -0 $slow_client
check slow_lane.ends wait $slow_client
check slow_lane.server_has_all wait $slow_server
run in_b softhca fault del all
check slow_lane.nothing_is_lost none_since "$losses"
xmit_waits() { [ "$(perfquery -C shib_a "$(attribute shib_a lid | xargs printf %d)" 1 | sed -n 's/^PortXmitWait:\.*//p')" -gt 0 ]; }
check slow_lane.xmit_wait xmit_waits

# The weights stay without a manager. A peer that grants little makes both lanes wait.
kill $opensm
run rdma link delete shib_b
run becomes shib_a state DOWN
judge all
judged all

# What waits when its sender is killed, when the link flaps, and when the port is removed
judge stuck
check stuck wait_for 60 grep -q stuck /tmp/judge
run kill -9 $judge
check stuck.link_goes becomes shib_a state DOWN
judge stuck
check stuck.again wait_for 60 grep -q stuck /tmp/judge
run in_a ip link set veth_a down
run in_a ip link set veth_a up
check stuck.flap becomes shib_a state INIT
run rdma link delete shib_a
check stuck.removed device_is_gone shib_a
kill -9 $judge
