#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kill -9 of either side in full traffic: the kernel stays silent, the peer gets
# completion errors and leaves, nothing is left over. ROUNDS times, 50 in make
# soak.
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-${SHCA_SOAK:+50}}
rounds=${rounds:-4}

# One round: perftest between the pair, the given side is killed in the middle.
# Perftest's exchange over TCP ends the survivor; the QPs went first.
killed() {
	local victim=$1 server client status=0
	ip netns exec $ns_b ib_write_bw -d shca_b -x "$gid_b" -s 65536 -D 30 >/tmp/k.b 2>&1 &
	server=$!
	wait_for 20 listening $ns_b 18515 || return 1
	ip netns exec $ns_a ib_write_bw -d shca_a -x "$gid_a" -s 65536 -D 30 $ip4_b >/tmp/k.a 2>&1 &
	client=$!
	wait_for 20 moving || status=1
	if [ "$victim" = server ]; then kill -KILL $server; else kill -KILL $client; fi
	# the other one notices, by an error completion or by its TCP connection
	wait_for 30 gone $server || status=1
	wait_for 30 gone $client || status=1
	wait_for 5 nothing_left || status=1
	return $status
}
tx_packets() { cat /sys/class/infiniband/shca_a/ports/1/hw_counters/tx_packets; }
moving() { [ "$(tx_packets)" -gt $((before + 100)) ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
nothing_left() { ! rdma resource show qp | grep -q 'type RC'; }

make_pair 9000
gid_a=$(gid_index shca_a $ip4_a)
gid_b=$(gid_index shca_b $ip4_b)
for ((i = 1; i <= rounds; i++)); do
	before=$(tx_packets)
	if ((i % 2)); then who=server; else who=client; fi
	check "${who}_killed_$i" killed $who
	pkill ib_write_bw
	wait
done
