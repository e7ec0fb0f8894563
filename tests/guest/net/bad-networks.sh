#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Streams of 64 KiB messages over networks that lose, reorder, repeat and flip bits: every
# byte is compared, no request ends in error, and goodput keeps a part of what it is
# without all that. `make bench BENCH=badnet` measures the same beside Soft-RoCE. About
# 30 s.
#
# timeout: 200
. "$(dirname "$0")/../lib.sh"

seconds=1
[ -z "${SHCA_SOAK-}" ] || seconds=20
make_pair 1500
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
# What netem loses is one packet then, and not a batch (docs/performance.md).
run ip -n $ns_a link set dev veth_a gso_max_segs 1
run ip -n $ns_b link set dev veth_b gso_max_segs 1

# counted NAME : of both qdiscs: "dropped", "requeues" (what was put first)
counted() {
	local end
	for end in a b; do tc -n shca-$end -s qdisc show dev veth_$end; done |
		sed -n "s/.*\<$1 \([0-9]*\).*/\1/p" | sum
}
icrc_errors() { cat /sys/class/infiniband/shca_[ab]/ports/1/hw_counters/rx_icrc_errors | sum; }

# stream OPERATION LEAST : at least LEAST thousandths of what it had on a good network
declare -A good
stream() {
	local out bytes rate status=0
	out=$("$test_programs/bench/goodput" -o "$1" -t $seconds shca_a "$gid_a" shca_b "$gid_b") || status=$?
	bytes=$(sed -n 's/^{"bytes": \([0-9]*\),.*/\1/p' <<<"$out")
	rate=$((${bytes:-0} / seconds))
	[ "$2" != 1000 ] || good[$1]=$rate
	echo "$out: $((1000 * rate / (${good[$1]:-0} + 1))) of 1000"
	[ $status = 0 ] && grep -q '"wrong": 0, "error": ""' <<<"$out" && [ "$rate" -gt 0 ] &&
		[ $((1000 * rate)) -ge $(($2 * good[$1])) ]
}
# (in this shell, which remembers)
streams() {
	local label=$1 op
	shift
	for op in WRITE READ SEND; do
		check "$label.$op" stream $op "$1"
		shift
	done
}
more_than() { echo "$3: $2"; [ "$2" -gt "$1" ]; }

# What these lose today is time, in time-outs, and a fast machine loses more in the same
# time: so the bars are far below what a slow one has.
streams good 1000 1000 1000
network loss 1%
streams loss 5 5 5
check loss.packets_were_lost more_than 10 "$(counted dropped)" lost
network delay 1ms reorder 25%
seconds=$((2 * seconds))
streams reorder 0 0 0
seconds=$((seconds / 2))
check reorder.packets_were_put_first more_than 10 "$(counted requeues)" "put first"
network corrupt 0.5%
before=$(icrc_errors)
streams corrupt 5 5 5
check corrupt.packets_were_refused more_than 10 $(($(icrc_errors) - before)) "with a wrong ICRC"
network duplicate 1%
streams duplicate 100 100 100
