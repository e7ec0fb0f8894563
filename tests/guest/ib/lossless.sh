#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Four hosts on TAPs at two leaves, four lanes, no packet expires (HOQLife 0x14): programs send
# random messages between random hosts on random service levels, for 15 s (ten minutes in make soak).
# No packet is lost anywhere: what has left at one end of a cable has come to the other one.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

hosts="1 2 3 4" seconds=${SHCA_SOAK:+600}
seconds=${seconds:-15}
begin_leaves 4 2 --leaf-spine=2x2
# shellcheck disable=SC2034 # (for patient_opensm)
printf -v opensm_conf '%s\n' 'qos TRUE' 'max_op_vls 3' 'qos_max_vls 4' 'packet_life_time 0x14' \
	'qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3'
patient_opensm
for n in $hosts; do check "active.$n" wait_for 60 has "shib$n" state ACTIVE; done
check lanes asks 'OperVLs:\.*VL0-3' smpquery -C shib1 -D portinfo 0,1 1
check lifetime asks 'HoqLife:\.*20' smpquery -C shib1 -D portinfo 0,1 1
is_up() { grep -q 'SUBNET UP' /tmp/opensm.log; }
run wait_for 60 is_up

# show SWITCH PORT WORD
show() { ask show "$1" "$2" | sed -n "s/.*\"$3\": *\([0-9]*\).*/\1/p"; }
port_of() { attribute "shib$1" "counters/$2"; }
# cables : of each cable, what one end has sent and the other received, both ways
cables() {
	local n leaf spine
	for n in $hosts; do
		leaf="leaf $(((n - 1) / 2))"
		echo "host $n to $leaf: $(port_of "$n" port_xmit_packets) $(show "$leaf" $(((n - 1) % 2 + 1)) received)"
		echo "$leaf to host $n: $(show "$leaf" $(((n - 1) % 2 + 1)) sent) $(port_of "$n" port_rcv_packets)"
	done
	for leaf in 0 1; do
		for spine in 0 1; do
			echo "leaf $leaf to spine $spine: $(show "leaf $leaf" $((3 + spine)) sent) $(show "spine $spine" $((1 + leaf)) received)"
			echo "spine $spine to leaf $leaf: $(show "spine $spine" $((1 + leaf)) sent) $(show "leaf $leaf" $((3 + spine)) received)"
		done
	done
}
# quiet FILE : cables, at a time when none carries anything
quiet() {
	cables >/tmp/cables
	cables >"$1"
	cmp /tmp/cables "$1"
}
# dropped : at any place where a packet or a frame can be
dropped() {
	local name node n
	for n in $hosts; do
		for name in tx_dropped_locally rx_backlog_drops rx_buffer_overruns rx_credit_errors rx_malformed rx_vcrc_errors rx_icrc_errors; do
			echo "shib$n $name $(counter "shib$n" $name)"
		done
		for name in rx_dropped tx_dropped rx_errors tx_errors; do
			echo "shib_tap$n $name $(<"/sys/class/net/shib_tap$n/statistics/$name")"
		done
	done
	for node in "leaf 0" "leaf 1" "spine 0" "spine 1"; do
		for n in 1 2 3 4; do
			case "$node $n" in spine*[34]) continue ;; esac
			for name in discards errors waiting bad_frames bad_credits unsent; do
				echo "$node $n $name $(show "$node" "$n" "$name")"
			done
		done
	done
}

# sends NUMBER : flows of one after the other, until /tmp/ends
sends() {
	local from to kinds kind words
	RANDOM=$1
	while [ ! -e /tmp/ends ]; do
		from=$((RANDOM % 4)) to=$(((from + 1 + RANDOM % 3) % 4))
		kinds=("ib_write_bw" "ib_send_bw" "ib_read_bw" "ib_write_bw -c UC")
		kind=${kinds[RANDOM % 4]}
		# shellcheck disable=SC2206 # (several words)
		words=(timeout $((120 * slow)) $kind -F -u 20 -p $((18700 + $1)) -S $((RANDOM % 16)) -s $((1 + RANDOM * 2)) -n $((20 + RANDOM % 200)) -t 8)
		nice -n 19 "${words[@]}" -d "shib$((to + 1))" >"/tmp/server$1" 2>&1 &
		wait_for 60 listening "" $((18700 + $1)) || { echo "no server: ${words[*]}"; return 1; }
		if ! nice -n 19 "${words[@]}" -d "shib$((from + 1))" 127.0.0.1 >"/tmp/client$1" 2>&1 || ! wait $!; then
			echo "failed: ${words[*]}"
			cat "/tmp/client$1" "/tmp/server$1"
			return 1
		fi
		echo "${words[*]}" >>/tmp/flows
	done
}
lives() {
	local pids=() pid status=0 n
	rm -f /tmp/ends /tmp/flows
	for n in 1 2 3 4 5; do
		sends $n >"/tmp/sends$n" 2>&1 &
		pids+=($!)
	done
	sleep "$seconds"
	: >/tmp/ends
	for pid in "${pids[@]}"; do wait "$pid" || status=1; done
	cat /tmp/sends?
	return $status
}
# (A port counts what it sends before it is Active, and a TAP drops what comes when it has no port.)
kill -STOP $opensm_pid
run wait_for 20 quiet /tmp/before
dropped >/tmp/dropped
kill -CONT $opensm_pid
check traffic lives
# (Traps go on: a cable is right if it was so once.)
all_has_come() {
	local name one_before one other_before other
	cables >/tmp/after
	paste -d ' ' <(cut -d : -f 2 /tmp/before) <(cut -d : -f 2 /tmp/after) <(cut -d : -f 1 /tmp/after) |
		while read -r one_before other_before one other name; do
			[ $((one - one_before)) != $((other - other_before)) ] || echo "$name" >>/tmp/right
			echo "$name: $((one - one_before)) sent, $((other - other_before)) have come"
		done >/tmp/sums
	[ "$(sort -u /tmp/right | wc -l)" = "$(wc -l </tmp/before)" ]
}
told() {
	: >/tmp/right
	wait_for 10 all_has_come && return
	cat /tmp/sums
	grep -H . /sys/class/infiniband/shib?/ports/1/hw_counters/* | grep -v ':0$'
	return 1
}
check all_has_come told
check nothing_dropped eval 'dropped | diff /tmp/dropped -'
waited() { for leaf in 0 1; do for n in 1 2 3 4; do show "leaf $leaf" $n xmit_wait_us; done; done | paste -sd+ | bc; }
check has_waited [ "$(waited)" -gt 0 ]
packets=$(awk -F '[: ]+' 'NR == FNR { before[FNR] = $(NF - 1); next } /^host/ { sum += $(NF - 1) - before[FNR] } END { print sum }' /tmp/before /tmp/after)
echo "# $packets packets in $(wc -l </tmp/flows) flows, which have waited for $(waited) us"
