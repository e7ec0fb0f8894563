#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Round trips of 8 B beside four queue pairs that stream 64 KiB WRITEs. A packet of theirs
# takes at most three times as long from one device to the other as on an idle machine, by
# the trace. (How long a process then waits for a CPU is the scheduler's, and as long beside
# loops that only compute: make bench BENCH=badnet/*/ROUND.) About 10 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"

make_pair 9000
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
trace=/sys/kernel/tracing/instances/isolation
[ -d /sys/kernel/tracing/instances ] || run mount -t tracefs tracefs /sys/kernel/tracing
run mkdir $trace
at_exit rmdir $trace
echo mono >$trace/trace_clock
for event in shca_tx shca_rx; do
	echo 'paylen == 8' >$trace/events/softhca/$event/filter
	echo 1 >$trace/events/softhca/$event/enable
	at_exit eval "echo 0 >$trace/events/softhca/$event/enable"
done

# round_trips : prints how long packets took, in us: the median, 90% of them, 99%
round_trips() {
	echo >$trace/trace
	"$test_programs/bench/goodput" -o ROUND -s 8 -n 300 -t 30 -w 0.05 -m 4096 shca_a "$gid_a" shca_b "$gid_b" >&2 || return
	sed -n 's/^.* \([0-9.]*\): shca_\([rt]\)x: .* dqpn=\([^ ]*\) psn=\([0-9]*\) .*/\1 \2 \3 \4/p' $trace/trace |
		awk '$2 == "t" { at[$3 " " $4] = $1 }
		     $2 == "r" && $3 " " $4 in at { printf "%.0f\n", ($1 - at[$3 " " $4]) * 1e6; delete at[$3 " " $4] }' |
		sort -n | awk '{ v[NR] = $1 } END { if (NR >= 300) print v[int(NR / 2)], v[int(NR * 0.9)], v[int(NR * 0.99)] }'
}

isolated() {
	local pid idle busy status=0
	idle=$(round_trips)
	"$test_programs/bench/goodput" -o WRITE -q 4 -t 600 -m 4096 shca_a "$gid_a" shca_b "$gid_b" >/dev/null 2>&1 &
	pid=$!
	sleep 1
	busy=$(round_trips)
	kill -0 $pid || status=1
	kill -9 $pid
	wait $pid 2>/dev/null
	echo "a packet takes ${idle:-?} us alone, ${busy:-?} us beside streams (50, 90, 99%)"
	[ -n "$idle" ] && [ -n "$busy" ] && [ $status = 0 ] && [ "${busy%% *}" -le $((3 * ${idle%% *})) ]
}
# (twice, for others come and go on the machine)
check small_packets.are_not_held_up eval "isolated || isolated"
