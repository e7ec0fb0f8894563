#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Congestion control of the IBTA annex A10: four real ports at two leaves. Two flows go to host 3, whose
# cable carries 1 MB/s, and a third one past it, to host 4. Without congestion control the third one
# waits behind packets for host 3. With it, as OpenSM sets it, the leaf marks packets for host 3, their
# senders slow down, and 1.5 times as much goes past them at least. (Twelve times, as it was measured.)
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

begin_leaves 4 2 --hosts=2 --leaf-spine=2x1
patient_opensm
for n in 1 2 3 4; do check active.$n wait_for 100 has shib$n state ACTIVE; done
# Hosts 3 and 4 are at ports 1 and 2 of the second leaf.
run ask rate 'leaf 1' 1 1

# show PORT WORD : of the second leaf
show() { ask show 'leaf 1' "$1" | sed -n "s/.*\"$2\": *\"\?\([a-z0-9]*\).*/\1/p"; }
becns() { echo $(($(counter shib1 rp_cnp_handled) + $(counter shib2 rp_cnp_handled))); }
# (programs that poll would leave the process no CPU)
write_bw=(nice -n 19 ib_write_bw -F -u 20 -D $((10 + 6 * slow)))
# begin_flow NUMBER FROM TO OPTION... : the first two have a window full of packets under way, the third one eight
begin_flow() {
	"${write_bw[@]}" "${@:4}" -d "shib$3" -p $((18600 + $1)) >"/tmp/server$1" 2>&1 &
	flows+=($!)
	wait_for 20 listening "" $((18600 + $1)) || return
	"${write_bw[@]}" "${@:4}" -d "shib$2" -p $((18600 + $1)) 127.0.0.1 >"/tmp/client$1" 2>&1 &
	flows+=($!)
}
end_flows() {
	local pid status=0
	for pid in "${flows[@]}"; do wait "$pid" || status=1; done
	[ $status = 0 ] || cat /tmp/client? /tmp/server?
	return $status
}
passed() { [ "$(show 1 sent)" -gt "$(($1 + 300))" ]; }
# measure NAME : sets rate and slow_rate, packets past host 3 and to it in four seconds
measure() {
	local began before now
	flows=()
	before=$(show 1 sent)
	run begin_flow 1 1 3 -s 65536 -t 16
	run begin_flow 2 2 3 -s 65536 -t 16
	run begin_flow 3 1 4 -s 16384 -t 2
	run wait_for 30 passed "$before"
	before=("$(show 2 sent)" "$(show 1 sent)")
	began=$EPOCHREALTIME
	sleep 4
	now=("$(show 2 sent)" "$(show 1 sent)")
	began=$((${EPOCHREALTIME/./} - ${began/./}))
	rate=$(((now[0] - before[0]) * 4000000 / began))
	slow_rate=$(((now[1] - before[1]) * 4000000 / began))
	check "$1.flows" end_flows
	echo "# $1: $rate packets past host 3 and $slow_rate to it in four seconds; marks $(show 1 marked) and $(show 2 marked), BECNs $(becns)"
}

measure off
off=$rate
check off.no_mark [ "$(show 1 marked) $(show 2 marked) $(becns)" = '0 0 0' ]

# More than 15 packets in a queue are too many. The entry at index n is a rate of 10 MB/s divided by n, of a port of 1 GB/s. 20 ms lower the index by one.
run kill $opensm_pid
wait $opensm_pid
rm -f /tmp/opensm.log
table=$(for n in {0..127}; do printf ',0:%d' $((100 * n)); done)
# shellcheck disable=SC2034 # (for patient_opensm)
opensm_conf="congestion_control TRUE
cc_sw_cong_setting_control_map 0x14
cc_sw_cong_setting_threshold 0x0c
cc_sw_cong_setting_packet_size 8
cc_ca_cong_setting_control_map 0xffff
cc_ca_cong_setting_ccti_timer 0 20000
cc_ca_cong_setting_ccti_increase 0 2
cc_cct ${table#,}"
patient_opensm
# set_at DEVICE : has its port the setting?
set_at() { ibccquery -C shib1 -P 1 CACongestionSetting $(($(attribute "$1" lid))) | grep -q 'CCTI_Increase:\.*2$'; }
for n in 1 2 3 4; do check set.$n wait_for 60 set_at shib$n; done
check table eval "ibccquery -C shib1 -P 1 CongestionControlTable $(($(attribute shib3 lid))) | grep -q 'CCTI_Limit:\.*127$'"
no_errors() { ! opensm_errors "$@"; }
check opensm_is_content no_errors
measure on
check on.marks [ "$(show 1 marked)" -gt 20 ]
check on.becns [ "$(becns)" -gt 20 ]
check on.slow_cable_is_busy [ $((2 * slow_rate)) -ge 900 ]
echo "# $((100 * rate / (off ? off : 1)))% of what went past without congestion control"
check on.victim [ $((10 * rate)) -ge $((15 * off)) ]

# ---- who may not ---------------------------------------------------------------

# Datagrams need the right to open umad; and of those that come, the key.
refused_nobody() { ! as_nobody ibccquery -C shib1 -P 1 CongestionInfo "$1" 2>/dev/null; }
there=$(($(attribute shib3 lid)))
check unprivileged refused_nobody $there
answer() { ibccquery -C shib1 -P 1 -t 500 -c "$1" CACongestionSetting $there 2>&1 | grep -q 'CCTI_Increase:\.*2$'; }
run ibccconfig -C shib1 -P 1 CongestionKeyInfo $there 0x77 1 0 0
check key answer 0x77
check wrong_key eval '! answer 0x78'
check no_key eval '! answer 0'
check violations eval "ibccquery -C shib1 -P 1 -c 0x77 CongestionKeyInfo $there | grep -q 'CC_KeyViolations:\.*[1-9]'"
# attributes that a port does not have
check of_a_switch eval "! ibccquery -C shib1 -P 1 -c 0x77 SwitchCongestionSetting $there >/dev/null 2>&1"
check limit eval "! ibccconfig -C shib1 -P 1 -c 0x77 CongestionControlTable $there 128 0 1:1 >/dev/null 2>&1"
