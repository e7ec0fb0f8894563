#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Networks with random faults, one after the other: netem between the devices, rules of
# fault injection at both, streams of random kind through them. Every byte is compared,
# and no request ends in error.
#
# BAD_SECONDS (make soak: 3600, else 30); SHCA_SEED=N draws the same again
# timeout: 240
# soak: yes
. "$(dirname "$0")/../lib.sh"

seconds=${BAD_SECONDS:-${SHCA_SOAK:+3600}}
seconds=${seconds:-30}
seed=${SHCA_SEED:-$RANDOM$RANDOM}
echo "# SHCA_SEED=$seed BAD_SECONDS=$seconds"
RANDOM=$((seed % 32768))

make_pair 1500
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
# (in this shell: a subshell would draw the same number each time)
draw() { local to=$1; shift $((1 + RANDOM % ($# - 1))); printf -v "$to" %s "$1"; }	# VARIABLE WORD...
draw_part() { printf -v "$1" '%d.%d%%' $((RANDOM % $2)) $((1 + RANDOM % 9)); }	# VARIABLE PERCENT

# random_network : other faults at each end, or none; half of the time what is lost is a packet
# and not a batch
random_network() {
	local end words rule segments loss ms jitter prob dir
	draw segments 1 65535
	for end in a b; do
		tc -n shca-$end qdisc del dev veth_$end root 2>/dev/null
		run ip -n shca-$end link set dev veth_$end gso_max_segs "$segments"
		run ip netns exec shca-$end softhca fault del all
		draw_part loss 5
		draw ms 1 5
		draw jitter 1 5
		draw words "" "loss $loss" "loss gemodel 1% 30% 60% 0%" "duplicate $loss" "corrupt $loss" \
			"delay ${ms}ms ${jitter}ms" "delay 1ms reorder 25%" "rate 20mbit loss 1%" "slot 1ms 5ms loss 1%"
		echo "$end: segments $segments netem ${words:-nothing}"
		# shellcheck disable=SC2086 # several words
		[ -z "$words" ] || run tc -n shca-$end qdisc add dev veth_$end root netem $words limit 20000
		draw rule "" "" do=drop do=duplicate do=corrupt-payload do=corrupt-header do=corrupt-icrc do=ecn \
			"do=reorder by=3" "do=delay delay=100us jitter=2ms"
		draw_part prob 3
		draw dir tx rx
		# shellcheck disable=SC2086 # several words
		[ -z "$rule" ] || run ip netns exec shca-$end softhca fault add dev=shca_$end $rule "prob=$prob" "dir=$dir" \
			"seed=$((RANDOM + 1))"
	done
}
# befell : what the networks of this round have done, added to that of all rounds
injected() { cat /sys/class/infiniband/shca_[ab]/ports/1/hw_counters/injected_faults | sum; }
lost=0
befell() {
	local end now
	now=$(for end in a b; do tc -n shca-$end -s qdisc show dev veth_$end; done | sed -n 's/.*\<dropped \([0-9]*\).*/\1/p' | sum)
	echo "netem lost $now"
	lost=$((lost + now))
}
# stream : of any kind. A second is the time-out, so that seven retries outlast all of these.
total=0
stream() {
	local op size mtu qps depth out bytes status=0
	draw op WRITE READ SEND
	draw size 8 1000 4096 65536 300000
	draw mtu 256 1024
	draw qps 1 4
	draw depth 1 16
	out=$(timeout $((120 * slow)) "$test_programs/bench/goodput" -o "$op" -s "$size" -m "$mtu" -q "$qps" -D "$depth" \
		-t $((1 + slow)) -T 18 shca_a "$gid_a" shca_b "$gid_b") || status=$?
	echo "$op of $size, MTU $mtu, $qps QPs, depth $depth: $out"
	bytes=$(sed -n 's/^{"bytes": \([0-9]*\),.*/\1/p' <<<"$out")
	total=$((total + ${bytes:-0}))
	[ $status = 0 ] && [ "${bytes:-0}" -gt 0 ] && grep -q '"wrong": 0, "error": ""' <<<"$out"
}

before=$(injected) streams=0 end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
	random_network
	stream || { check "stream.$streams" false; break; }
	befell
	streams=$((streams + 1))
done
faults=$(($(injected) - before))
echo "$streams streams, $((total >> 20)) MiB, $lost lost by netem, $faults by rules"
check every_stream_was_right [ $SECONDS -ge $end ]
check faults_befell_them [ $lost -gt $((10 * streams)) -a $faults -gt $((10 * streams)) ]
