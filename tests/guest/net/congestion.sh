#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Congestion control: eight queue pairs share a link of 20 Mbit/s whose queue marks
# packets (RED with ECN). Marks draw CNPs, CNPs slow their senders down, the queue
# becomes short, and the link stays busy. Settings and parameters. About 30 s.
#
# timeout: 200
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

seconds=2
[ -z "${SHCA_SOAK-}" ] || seconds=10
mbit=20
# The senders have to be faster than the link, on slow machines and with checkers too.
if [ "$slow" -gt 1 ]; then
	mbit=$((mbit / (slow < 5 ? slow : 5))) seconds=$((seconds * (slow < 5 ? slow : 5)))
fi
make_pair 1500
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
run ip -n $ns_a link set dev veth_a gso_max_segs 1
run ip -n $ns_b link set dev veth_b gso_max_segs 1
# 600 kB: less than eight windows of 128 packets
run in_a tc qdisc add dev veth_a root handle 1: tbf rate ${mbit}mbit burst 10kb limit 2000kb
run in_a tc qdisc add dev veth_a parent 1:1 handle 2: red limit 600kb min 20kb max 60kb avpkt 1100 \
	burst 30 probability 0.1 bandwidth ${mbit}mbit ecn

backlog() { in_a tc -s qdisc show dev veth_a | awk '/^qdisc red/ { here = 1 } here && /backlog/ { sub("b", "", $2); sub("K", "000", $2); print $2; exit }'; }

# streams LABEL : eight of them; sets goodput (percent of the link) and queue (mean, bytes)
streams() {
	local out bytes pid
	"$test_programs/bench/goodput" -o WRITE -q 8 -D 4 -T 18 -t $seconds -w 1 shca_a "$gid_a" shca_b "$gid_b" >/tmp/goodput &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		backlog
		sleep 0.05
	done >/tmp/backlog
	wait $pid || return
	# (the second half of the time: the first windows fill the queue)
	queue=$(awk '{ at[NR] = $1 } END { for (i = int(NR / 2) + 1; i <= NR; i++) sum += at[i]; print int(sum / (NR - int(NR / 2))) }' /tmp/backlog)
	out=$(cat /tmp/goodput)
	bytes=$(sed -n 's/^{"bytes": \([0-9]*\),.*/\1/p' <<<"$out")
	goodput=$((bytes * 8 * 100 / (mbit * 1000000 * seconds)))
	echo "$1: $out: $goodput percent of the link, $queue bytes in its queue"
	grep -q '"wrong": 0, "error": ""' <<<"$out"
}
set_cc() { in_a softhca dev set shca_a cc "$1" && in_b softhca dev set shca_b cc "$1"; }
at_least() { echo "$1, at least $2"; [ "$1" -ge "$2" ]; }
at_most() { echo "$1, at most $2"; [ "$1" -le "$2" ]; }

# ---- off: nothing is ECN-capable, so the queue drops

run set_cc off
check off.streams streams off
check off.no_marks [ "$(counter shca_b np_ecn_marked_roce_packets)" = 0 ]
check off.no_cnps [ "$(counter shca_b np_cnp_sent)" = 0 ]

# ---- by default: the peer is known, as it is in this kernel

run set_cc auto
# (how busy is judged by `make bench BENCH=badnet`: a slow machine is no congestion)
for algorithm in window delay dcqcn; do
	run in_a softhca dev set shca_a cc_algorithm $algorithm
	marks=$(counter shca_b np_ecn_marked_roce_packets) sent=$(counter shca_b np_cnp_sent) handled=$(counter shca_a rp_cnp_handled)
	check $algorithm.streams streams $algorithm
	check $algorithm.marks differs "$marks" "$(counter shca_b np_ecn_marked_roce_packets)"
	check $algorithm.cnps_sent differs "$sent" "$(counter shca_b np_cnp_sent)"
	check $algorithm.cnps_handled differs "$handled" "$(counter shca_a rp_cnp_handled)"
	check $algorithm.link_is_busy at_least "$goodput" 10
	[ $algorithm = dcqcn ] || check $algorithm.queue_is_short at_most "$queue" 100000
done
run in_a softhca dev set shca_a cc_algorithm window

# ---- CNPs that nobody's packet has drawn (docs/security.md), on a path of 1 ms

# forged RATE : 64 KiB WRITEs meanwhile, one after the other; sets rate, bytes a second
forged() {
	local stream forger='' qpns status=0
	"$test_programs/bench/goodput" -o WRITE -q 1 -D 1 -t $seconds -w 1 shca_a "$gid_a" shca_b "$gid_b" >/tmp/goodput &
	stream=$!
	if [ "$1" != 0 ]; then
		wait_for 5 stream_qps && qpns=$(stream_qps) || return
		# shellcheck disable=SC2086
		in_b "$(dirname "$0")/../helpers/forge-cnps.py" $ip4_b $ip4_a "$1" $qpns &
		forger=$!
	fi
	wait $stream || status=$?
	[ -z "$forger" ] || kill $forger
	cat /tmp/goodput
	rate=$(($(sed -n 's/^{"bytes": \([0-9]*\),.*/\1/p' /tmp/goodput) / seconds))
	[ $status = 0 ] && grep -q '"wrong": 0, "error": ""' /tmp/goodput
}
stream_qps() { in_a rdma resource show qp link shca_a/1 | sed -n 's/.* lqpn \([0-9]*\) .* type RC.*/\1/p' | grep .; }
# bears RATE LEAST : the stream keeps LEAST percent. That is judged where the guest has one CPU: by
# the clock of `SHCA_VM_ACCEL=icount`, whose round trips nothing else makes longer. On a busy
# machine there may be a CNP in each round trip.
bears() {
	forged "$1" || return
	echo "$rate of $without bytes a second"
	[ "$(nproc)" -gt 1 ] || [ $((100 * rate)) -ge $(($2 * without)) ]
}

run in_a tc qdisc del dev veth_a root
network delay 500us
check forged.none forged 0
without=$rate handled=$(counter shca_a rp_cnp_handled)
check forged.30_a_second bears 30 95
check forged.100_a_second bears 100 60
check forged.they_were_handled differs "$handled" "$(counter shca_a rp_cnp_handled)"
network

# ---- ECN bits of what leaves

tos_of() { # COMMAND... : of data packets
	capture /tmp/cc.pcap "-i veth_a" "$@" || return
	tcpdump -nn -v -r /tmp/cc.pcap 2>/dev/null | sed -n 's/.*(tos \(0x[0-9a-f]*\).*/\1/p' | sort | uniq -c | tee /tmp/cc.tos
}
pingpong() { between_pair ibv_rc_pingpong -n 20 -d shca_b -g "$gid_b" -- ibv_rc_pingpong -n 20 -d shca_a -g "$gid_a" ADDRESS; }
ect() { tos_of pingpong && awk '$2 == "0x2" { capable += $1 } END { exit capable < 20 }' /tmp/cc.tos; }
not_ect() { tos_of pingpong && ! grep -q -v 0x0 /tmp/cc.tos; }
run in_a softhca dev set shca_a path wire
run in_b softhca dev set shca_b path wire
check auto.packets_are_ecn_capable ect
run set_cc off
check off.packets_are_not not_ect
run set_cc on
check on.packets_are_ecn_capable ect
run set_cc auto

# ---- parameters

params=/sys/class/infiniband/shca_a/ports/1/cc_params
check params.names [ "$(printf '%s ' $params/*)" != "$params/* " ]
check params.preset grep -qx 300 $params/rp_time_reset
check params.set sh -c "echo 1200 >$params/rp_time_reset"
check params.is_kept grep -qx 1200 $params/rp_time_reset
for bad in -1 x 131072 4294967296; do
	check "params.refuses.$bad" sh -c "! echo $bad >$params/rp_time_reset"
done
check params.of_the_other_device grep -qx 300 /sys/class/infiniband/shca_b/ports/1/cc_params/rp_time_reset
check params.not_for_others [ "$(stat -c %a $params/rp_time_reset)" = 644 ]
