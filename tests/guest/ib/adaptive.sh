#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Adaptive routing: eight real ports at two leaves, whose cables to four spines carry 1 MB/s each.
# OpenSM puts all LIDs on one spine (by weights of hops), which four RC flows from leaf to leaf share.
# With adaptive routing each spine has its part, in make soak 2.5 times as much passes, and data
# arrives as it was sent.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

# Hosts 1 to 4 are those of the first leaf, at its ports 1 to 4.
begin_leaves 8 4 --leaf-spine=2x4

# All ports at spines but the first one are far: (switches 0x200000 and 0x200001 are the leaves)
for spine in 2 3 4; do
	for leaf in 1 2; do
		printf '0x%x %d 8\n' $((0x200000 + leaf - 1)) $((4 + spine)) $((0x200001 + spine)) $leaf
	done
done >/tmp/weights
# shellcheck disable=SC2034 # (for patient_opensm)
opensm_conf='hop_weights_file /tmp/weights'
patient_opensm
for n in 1 2 3 4 5 6 7 8; do check active.$n wait_for 100 has shib$n state ACTIVE; done
for port in 5 6 7 8; do
	for leaf in 0 1; do run ask rate "leaf $leaf" $port 1; done
done

# show PORT WORD : of the first leaf
show() { ask show 'leaf 0' "$1" | sed -n "s/.*\"$2\": *\"\?\([a-z0-9]*\).*/\1/p"; }
# sent : packets, by each port of the first leaf to a spine
sent() { for port in 5 6 7 8; do show $port sent; done; }
# (programs that poll would leave the process no CPU)
write_bw=(nice -n 19 ib_write_bw -F -u 20 -s 16384 -t 2 -D $((6 + 5 * slow)))
begin_flows() {
	local n
	for n in 1 2 3 4; do
		"${write_bw[@]}" -d shib$((n + 4)) -p $((18600 + n)) >/tmp/server$n 2>&1 &
		flows[n]=$!
		wait_for 20 listening "" $((18600 + n)) || return
		"${write_bw[@]}" -d shib$n -p $((18600 + n)) 127.0.0.1 >/tmp/client$n 2>&1 &
		flows[n + 4]=$!
	done
}
end_flows() {
	local pid status=0
	for pid in "${flows[@]}"; do wait "$pid" || status=1; done
	[ $status = 0 ] || cat /tmp/client? /tmp/server?
	return $status
}
# grow PACKETS : since before; sets grown, by each port, and sum
grow() {
	local now i
	mapfile -t now < <(sent)
	sum=0
	for i in 0 1 2 3; do
		grown[i]=$((now[i] - before[i]))
		sum=$((sum + grown[i]))
	done
	[ $sum -gt "$1" ]
}
# measure MODE : sets rate, of packets in three seconds, and grown
measure() {
	local began
	run ask adaptive "$1"
	mapfile -t before < <(sent)
	run begin_flows
	run wait_for 30 grow 300
	mapfile -t before < <(sent)
	began=$EPOCHREALTIME
	sleep 3
	grow 0
	rate=$((sum * 3000000 / (${EPOCHREALTIME/./} - ${began/./})))
	check "$2.data" timeout $((60 * slow)) "$test_programs/traffic" -d shib1 -p shib5 -n 2
	check "$2.flows" end_flows
	echo "# $1: $rate packets in three seconds, ${grown[*]}"
}
# spread PERCENT : has each port sent at least so much?
spread() {
	local n
	for n in "${grown[@]}"; do [ $((100 * n)) -ge $(($1 * sum)) ] || return; done
}
# all_in_one : by one port, but for datagrams of management
all_in_one() { [ $((grown[1] + grown[2] + grown[3])) -le $((sum / 10)) ]; }
measure off off
off=$rate
check off.all_in_one all_in_one
for mode in flowlet packet; do
	measure $mode $mode
	check $mode.spread spread 10
	# What a slow machine can do says nothing of the fabric.
	[ -z "${SHCA_SOAK-}" ] || check $mode.throughput [ $((10 * rate)) -ge $((25 * off)) ]
done
measure off again
check again.all_in_one all_in_one
