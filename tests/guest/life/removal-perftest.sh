#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# As life/removal, under programs that only look at their completion queues and
# never at events of the device: they end with an error, too.
#
# Takes about 25 s.
#
# timeout: 180
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

limit_ms=${removal_seconds}000
moving() { [ "$(counter shca_a tx_packets)" -gt $((before_a + 100)) ] && [ "$(counter shca_b tx_packets)" -gt "$before_b" ]; }

# start PROGRAM OPTION... : in full traffic between a and b
start() {
	local program=$1
	shift
	make_pair 9000
	before_a=$(counter shca_a tx_packets) before_b=$(counter shca_b tx_packets)
	# shellcheck disable=SC2046
	ip netns exec $ns_b "$program" -F -d shca_b -x "$(gid_index shca_b $ip4_b)" "$@" >/tmp/perf.b 2>&1 &
	server_pid=$!
	at_exit kill -KILL $server_pid
	wait_for 20 listening $ns_b 18515 || fail "no server: $(cat /tmp/perf.b)"
	ip netns exec $ns_a "$program" -F -d shca_a -x "$(gid_index shca_a $ip4_a)" "$@" $ip4_b >/tmp/perf.a 2>&1 &
	client=$!
	at_exit kill -KILL $client
	wait_for 20 moving || fail "no traffic: $(cat /tmp/perf.a)"
}

# ended SIDE PID : by itself, with an error
ended() {
	local status=0
	wait_for 10 is_over "$2" || kill -KILL "$2"
	wait "$2" || status=$?
	sed "s/^/$1: /" "/tmp/perf.$1"
	echo "$1: status $status"
	[ "$status" != 0 ] && [ "$status" -lt 128 ]
}

# remove LABEL REFERENCE COMMAND...
remove() {
	local label=$1
	shift
	check "$label.device_goes" within $limit_ms "$@"
	check "$label.client_ends" ended a "$client"
	check "$label.server_ends" ended b "$server_pid"
	rdma link delete shca_a 2>/dev/null
	rdma link delete shca_b 2>/dev/null
	ip netns del $ns_a
	ip netns del $ns_b
	check "$label.all_gone" wait_for 10 eval '! ip netns list | grep -q shca-'
}

# Nothing completes any more, for 8 times 17 s (-u 22): all that the client does
# is poll, and without a flush it would do so for ever.
stalled() {
	local before
	before=$(counter shca_a tx_packets)
	sleep 0.3
	[ "$(counter shca_a tx_packets)" = "$before" ]
}
stall() {
	run in_b ip link set veth_b down
	run wait_for 10 stalled
}
link_delete_of_stalled() {
	device_delete shca_a || return
	in_b ip link set veth_b up # for the server to see the end of the TCP connection
}
was_flushed() { grep -q 'Failed status 5' /tmp/perf.a; }

forever="-D 30 --run_infinitely"
# shellcheck disable=SC2086 # several words
{
	start ib_write_bw $forever
	remove write_bw.link_delete "rdma link show" device_delete shca_a
	start ib_write_bw $forever -u 22
	stall
	remove stalled.link_delete "rdma link show" link_delete_of_stalled
	check stalled.was_flushed was_flushed
	start ib_write_bw $forever
	remove write_bw.rmmod "rmmod no_such_module" module_remove
	start ib_send_bw $forever
	remove send_bw.link_delete_at_server "rdma link show" device_delete shca_b
	start ib_send_bw -n 10000000 -e
	remove send_bw_events.rmmod "rmmod no_such_module" module_remove
}
