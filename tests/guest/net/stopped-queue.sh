#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The queue below is stopped for a second, as when a peer or a switch pauses the link
# (priority flow control), and the acknowledgement time-out is 67 ms (longer on a slow
# machine, where answers take as long, and the queue stops for longer): nothing is lost,
# nothing is sent again, no retry is used, and traffic goes on as soon as the queue does.
# Once with a queue that takes less than a window, so that it refuses, and once with one
# that takes all. (On a busy machine a window was 16 packets.) About 15 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"

make_pair 1500
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
run ip -n $ns_a link set dev veth_a gso_max_segs 1
run in_order $ns_a veth_a
run in_order $ns_b veth_b

# rate RATE BURST : of the queue; 8bit: a packet in twenty minutes
rate() { in_a tc qdisc "$verb" dev veth_a root tbf rate "$1" burst "$2" limit "$limit"; }
queue_drops() { in_a tc -s qdisc show dev veth_a | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p' | head -n 1; }
backlog() { in_a tc -s qdisc show dev veth_a | sed -n 's/.* \([0-9]*\)p requeues.*/\1/p' | head -n 1; }
code=14
for ((n = slow; n >= 4 && code < 17; n /= 2)); do code=$((code + 1)); done
counters='local_ack_timeout_err tx_dropped_locally packet_seq_err implied_nak_seq_err'
count() {
	local name
	for name in $counters; do echo "$name $(counter shca_a "$name")"; done
}
flows() { [ "$(counter shca_a tx_packets)" -gt $(($1 + 200)) ]; }
holds() { [ "$(backlog)" -gt 0 ]; }

# paused OPERATION : the queue stops for a second in the midst of a stream
paused() {
	local pid status=0 before early sent
	sent=$(counter shca_a tx_packets)
	"$test_programs/bench/goodput" -o "$1" -T $code -t $((code - 11 + slow)) -w 0.2 shca_a "$gid_a" shca_b "$gid_b" >/tmp/stopped &
	pid=$!
	wait_for 10 flows "$sent" || status=1
	before=$(count)
	rate 8bit 2kb || status=1
	wait_for 10 holds || status=1
	early=$(counter shca_a tx_early_retransmits)
	sleep $((code - 13)).2
	early=$(($(counter shca_a tx_early_retransmits) - early))
	echo "$(backlog) packets are held, $(queue_drops) were refused, $early were sent again early"
	# (the first look does not know yet that the queue is stopped)
	[ "$early" -le 1 ] || status=1
	[ "$(count)" = "$before" ] || { echo "before: $before; stopped: $(count)"; status=1; }
	rate 10gbit 1mb || status=1
	wait $pid || status=1
	cat /tmp/stopped
	# (a machine that takes several times as long as an idle one may be late once more)
	[ "$(count)" = "$before" ] || { echo "before: $before; after: $(count)"; [ "$slow" != 1 ] || status=1; }
	[ $(($(counter shca_a local_ack_timeout_err) - $(sed -n 's/^local_ack_timeout_err //p' <<<"$before"))) -le 2 ] || status=1
	[ "$(counter shca_a tx_dropped_locally)" = "$(sed -n 's/^tx_dropped_locally //p' <<<"$before")" ] || status=1
	return $status
}
good() { grep -q '"wrong": 0, "error": ""' /tmp/stopped; }

for limit in 8kb 4mb; do
	verb=add
	run rate 10gbit 1mb
	verb=change
	for op in WRITE SEND; do
		full=$(counter shca_a tx_queue_full)
		check $op.$limit.nothing_is_lost_or_repeated paused $op
		check $op.$limit.ends_well good
		[ $limit = 4mb ] || check $op.$limit.sender_was_refused differs "$full" "$(counter shca_a tx_queue_full)"
	done
	run in_a tc qdisc del dev veth_a root
done
