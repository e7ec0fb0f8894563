#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# An acknowledgement leaves with the reply of its process: one skb for both across the
# veth, and none more where packets leave one by one. The last one has no reply: it comes
# in time, and little is sent again. About 10 s.
. "$(dirname "$0")/../lib.sh"

make_pair 9000
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
rounds=400

both() { echo $(($(counter shca_a "$1") + $(counter shca_b "$1"))); }
skbs() {
	local n
	n=$(in_a cat /sys/class/net/veth_a/statistics/tx_packets)
	echo $((n + $(in_b cat /sys/class/net/veth_b/statistics/tx_packets)))
}
early='tx_early_retransmits tx_ack_probes local_ack_timeout_err duplicate_request'
# Messages there and back; sets packets, skbs and again. (On one CPU a reply takes what the
# processes take, however busy the host is.)
exchange() {
	local name status=0 before_skbs before_packets
	again=0
	for name in $early; do again=$((again - $(both "$name"))); done
	before_skbs=$(skbs) before_packets=$(both tx_packets)
	between_pair taskset 1 ibv_rc_pingpong -c -e -d shca_b -g "$gid_b" -n $rounds -s 64 -- \
		taskset 1 ibv_rc_pingpong -c -e -d shca_a -g "$gid_a" -n $rounds -s 64 ADDRESS || status=1
	skbs=$(($(skbs) - before_skbs)) packets=$(($(both tx_packets) - before_packets))
	for name in $early; do again=$((again + $(both "$name"))); done
	echo "$packets packets in $skbs skbs, $again sent again"
	return $status
}
# Where the machine makes the processes slow, few replies come in time, and none is awaited.
rides() {
	local try
	for try in {1..20}; do
		exchange || return
		[ "$skbs" -gt $((packets * 3 / 4)) ] || return 0
		echo "try $try: most acknowledgements have left alone"
	done
	return 1
}
# (With checkers no reply comes in time.)
if [ -n "$checkers" ]; then
	check batches.exchange exchange
else
	check batches.one_skb rides
fi
# (A host that takes its CPU away makes answers late.)
little_again() { [ "$again" -le $((8 * slow)) ]; }
check batches.little_again little_again

# packets leave one by one: there is nothing to wait for
run in_a softhca dev set shca_a path wire
run in_b softhca dev set shca_b path wire
one_by_one() { exchange && [ "$skbs" -ge "$packets" ]; }
check wire.one_by_one one_by_one
check wire.little_again little_again
