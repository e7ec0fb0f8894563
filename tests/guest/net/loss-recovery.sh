#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What a loss costs between two softhcas: packets that come out of order are kept, and
# those that are lost are sent again, not all that follow them. Each duplicate of a WRITE or
# SEND was sent again for nothing. Also: queue pairs end while packets are kept. About 10 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"

make_pair 1500
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
# Nobody waits for a neighbour whose answer is lost.
run wait_for 10 in_a ping -q -c 1 -W 1 $ip4_b
# What netem loses is one packet then, and not a batch (docs/performance.md).
run ip -n $ns_a link set dev veth_a gso_max_segs 1
run ip -n $ns_b link set dev veth_b gso_max_segs 1

dropped() { tc -n "shca-$1" -s qdisc show dev "veth_$1" | sed -n 's/.*dropped \([0-9]*\),.*/\1/p' | sum; }

# stream OPERATION END : END's packets are lost, one in fifty; the other one's come through.
# Behind each lost one follow the packets of a window, some hundred: go-back-N repeats them.
# Of selective repeat there are at most four duplicates a loss, however late an answer is
# on a busy machine, and a time-out for at most each second one. (How few they are with
# answers in time, the simulator's units tell.)
stream() {
	local lost again timeouts out
	again=$(counter shca_b duplicate_request) timeouts=$(counter shca_a local_ack_timeout_err)
	run tc -n "shca-$2" qdisc add dev "veth_$2" root netem loss 2% limit 20000
	out=$("$test_programs/bench/goodput" -o "$1" -t 1 shca_a "$gid_a" shca_b "$gid_b")
	lost=$(dropped "$2")
	again=$(($(counter shca_b duplicate_request) - again))
	timeouts=$(($(counter shca_a local_ack_timeout_err) - timeouts))
	run tc -n "shca-$2" qdisc del dev "veth_$2" root
	echo "$out"
	echo "$1: $lost packets lost, $again came twice, $timeouts time-outs"
	grep -q '"wrong": 0, "error": ""' <<<"$out" || return
	[ "$lost" -ge 10 ] && [ "$again" -le $((4 * lost)) ] && [ $((2 * timeouts)) -le "$lost" ]
}

check write.only_losses_are_sent_again stream WRITE a
check send.only_losses_are_sent_again stream SEND a
# (a response is lost, so each request that asks for it again is a duplicate)
check read.only_losses_are_asked_for_again stream READ b

# Half of all packets are lost: something is kept whenever the program is killed.
killed() {
	local i pid
	for i in 1 2 3 4 5; do
		"$test_programs/bench/goodput" -q 4 -t 9 shca_a "$gid_a" shca_b "$gid_b" >/dev/null 2>&1 &
		pid=$!
		sleep 0.$((i + 3))
		kill -9 $pid
		wait $pid
	done 2>/dev/null
	wait_for 10 no_qps
}
no_qps() { ! rdma resource show qp link shca_a/1 | grep -q 'type RC'; }
run tc -n $ns_a qdisc add dev veth_a root netem loss 50% limit 20000
check killed.while_packets_are_kept killed
run tc -n $ns_a qdisc del dev veth_a root
