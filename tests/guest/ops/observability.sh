#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What one sees of a device from outside: objects with the driver's details and raw
# dumps, counters of single QPs and optional ones, a port's counters as monitoring
# reads them. About 25 s.
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

make_pair 1500
ports=/sys/class/infiniband/shca_a/ports/1

# ---- objects -------------------------------------------------------------------

# what a holder has: QPs, CQs, MRs
hold_in "$ns_a" h -d shca_a
run wait_for 20 said h traffic
pid=${holder[h]}

# details OBJECT NAME... : each is shown of the holder's objects
details() {
	local object=$1 shown name
	shift
	shown=$(rdma -dd resource show "$object" link shca_a/1 2>/dev/null || rdma -dd resource show "$object" dev shca_a)
	[ -n "$shown" ] || shown=$(rdma -dd resource show "$object")
	echo "$shown" | head -n 3
	for name; do grep -q "$name" <<<"$shown" || { echo "no $name"; return 1; }; done
}
check details.qp details qp sq_entries sq_running rq_posted epsn msn "pid $pid"
check details.cq details cq entries written overflow
check details.mr details mr type access block_shift

# raw OBJECT BYTES : a dump of that length is there (the tool prints each byte)
raw() {
	rdma -j -r resource show "$1" >/tmp/raw
	head -c 300 /tmp/raw && echo
	"$test_programs/guest/helpers/raw-dumps.py" /tmp/raw "$2"
}
check raw.qp raw qp 136
check raw.cq raw cq 16
check raw.mr raw mr 32
not_for_everybody() { ! setpriv --reuid 65534 --clear-groups rdma -j -r resource show qp | grep -q data; }
check raw.needs_admin not_for_everybody
kill -TERM "$pid"
wait "$pid"

# ---- counters ---------------------------------------------------------------------

# one word of a JSON answer: the sum of NAME over what "rdma statistic ..." shows
statistic() {
	local name=$1
	shift
	rdma -j statistic "$@" >/tmp/statistic
	python3 -c 'import json, sys; print(sum(row.get(sys.argv[1], 0) for row in json.load(open("/tmp/statistic"))))' "$name"
}
sent() { cat $ports/hw_counters/tx_packets; }
traffic() { between_pair ibv_rc_pingpong -d shca_b -g "$(gid_index shca_b $ip4_b)" -n 200 -s 4096 -- \
	ibv_rc_pingpong -d shca_a -g "$(gid_index shca_a $ip4_a)" -n 200 -s 4096 ADDRESS; }

modes() { rdma statistic mode supported link shca_a/1 | grep -o '[a-z_]*_pkts\|rx_[a-z]*_requests' | sort | paste -sd,; }
check optional.named [ "$(modes)" = cc_rx_ce_pkts,rx_atomic_requests,rx_read_requests,rx_write_requests ]

# In auto mode QPs that are made from here on count for themselves.
run rdma statistic qp set link shca_a/1 auto type on
before=$(sent)
start_traffic t shca_a shca_b
bound() {
	local qps
	qps=$(statistic tx_packets qp show link shca_a/1)
	echo "bound: $qps; port: $(sent), before $before"
	rdma statistic qp show link shca_a/1 | head -n 2
	[ "$qps" -gt 0 ] && [ $(($(sent) - before)) -ge "$qps" ]
}
check auto.qps_count_for_themselves wait_for 10 bound
# the numbers of the QPs are with it
has_qpns() { rdma statistic qp show link shca_a/1 | grep -qi 'lqpn:* *<*[0-9]'; }
check auto.names_qps has_qpns

# optional ones: nothing until they are asked for
optional() { statistic rx_write_requests show link shca_b/1; }
check optional.off_at_first [ "$(optional)" = 0 ]
run rdma statistic set link shca_b/1 optional-counters rx_write_requests,rx_read_requests,rx_atomic_requests
counts() { [ "$(optional)" -gt 0 ] && [ "$(statistic rx_read_requests show link shca_b/1)" -gt 0 ]; }
check optional.count wait_for 10 counts
run rdma statistic unset link shca_b/1 optional-counters
check auto.traffic_was_right end_traffic t

# What they counted does not get lost with the QPs, neither here nor there.
gone() { ! has_qpns; }
check auto.gone_with_qps wait_for 10 gone
kept() {
	echo "port: $(sent), before $before; sysfs: $(cat $ports/counters/port_xmit_packets)"
	[ "$(sent)" -gt $((before + 100)) ] && [ "$(cat $ports/counters/port_xmit_packets)" = "$(sent)" ]
}
check auto.history_is_kept kept
run rdma statistic qp set link shca_a/1 auto off

# ---- as monitoring reads a port ---------------------------------------------------

# The files that node_exporter and ibstat's kin read: all there, all numbers.
port_files() {
	local name
	for name in port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets \
		unicast_xmit_packets unicast_rcv_packets multicast_xmit_packets multicast_rcv_packets \
		port_rcv_errors port_xmit_discards port_xmit_wait symbol_error link_downed \
		port_rcv_constraint_errors VL15_dropped excessive_buffer_overrun_errors; do
		[[ $(cat "$ports/counters/$name") =~ ^[0-9]+$ ]] || { echo "$name"; return 1; }
	done
	for name in state phys_state rate link_layer lid sm_lid cap_mask; do
		grep -q . "$ports/$name" || { echo "$name"; return 1; }
	done
}
check port.files port_files
device_files() {
	local device=/sys/class/infiniband/shca_a
	[ "$(cat $device/hca_type) $(cat $device/hw_rev)" = "softhca 1" ]
}
check device.files device_files
# in words of four bytes, as an adapter counts
words() {
	local before after
	before=$(cat $ports/counters/port_xmit_data)
	traffic >/dev/null || return
	after=$(cat $ports/counters/port_xmit_data)
	echo "$before to $after"
	[ $((after - before)) -ge $((200 * 4096 / 4)) ] && [ $((after - before)) -lt $((200 * 4096)) ]
}
check port.data_in_words words

# ---- rdma monitor -------------------------------------------------------------------

# (where the kernel has it: 6.12 of Debian, not 6.1)
if rdma monitor help >/dev/null 2>&1 && rdma system show 2>/dev/null | grep -q monitor; then
	: >/tmp/monitor
	timeout $((30 * slow)) rdma monitor >/tmp/monitor &
	monitor=$!
	run wait_for 5 kill -0 $monitor
	run ip -n "$ns_a" link add dummy0 type dummy
	run in_a rdma link add shca_m type softhca netdev dummy0
	check monitor.sees_a_device wait_for 5 grep -q shca_m /tmp/monitor
	run rdma link delete shca_m
	kill $monitor
fi
