#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Virtual lanes of an InfiniBand link, as OpenSM sets them with its option qos: which
# lane a service level takes, their weights.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

helpers=$(dirname "$0")/../helpers
counter() { attribute "$1" "hw_counters/$2"; }
listens() { ss -Hltn "sport = :${1-18515}" | grep -q .; }
asks() {
	local word=$1
	shift
	timeout $((30 * slow)) "$@" >/tmp/out 2>&1
	grep -Eq "$word" /tmp/out || { cat /tmp/out; return 1; }
}
# between COMMAND... : from shib_a to shib_b
between() {
	local server status=0
	timeout $((60 * slow)) "$@" -d shib_b >/tmp/server 2>&1 &
	server=$!
	wait_for 20 listens || return
	timeout $((60 * slow)) "$@" -d shib_a 127.0.0.1 >/tmp/client 2>&1 || status=$?
	[ $status = 0 ] && wait $server && return
	kill $server 2>/dev/null
	cat /tmp/client
	return 1
}

# manage LINES... : OpenSM with these lines of its configuration
manage() {
	printf '%s\n' 'qos TRUE' "$@" >/tmp/opensm.conf
	opensm -F /tmp/opensm.conf -g "0x$(guid shib_a)" -s 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
	opensm_pid=$!
	at_exit kill $opensm_pid
	both_active
	# Other lanes make OpenSM take the link down once more. What it asks the peer at
	# that time is lost, and asked again in its next sweep.
	check lids wait_for 30 both_have_lids
}
both_have_lids() {
	! has shib_a lid '^0x0$' && ! has shib_b lid '^0x0$' && has shib_a state ACTIVE && has shib_b state ACTIVE
}

two_ports 4230
run ip link set lo up
check port_info asks 'VLCap:\.*VL0-7' smpquery -C shib_a -D portinfo 0
check arbitration_caps asks 'VLArbHighCap:\.*32' smpquery -C shib_a -D portinfo 0

# Service level 3 has no lane. OpenSM takes lanes that are not there modulo 4.
manage 'max_op_vls 3' 'qos_max_vls 4' 'qos_high_limit 5' \
	'qos_vlarb_high 0:4,1:0' 'qos_vlarb_low 0:1,1:64,2:128,3:255' \
	'qos_sl2vl 0,1,2,15,0,1,2,3,3,2,1,0,5,6,7,4'
lid_a=$(attribute shib_a lid) lid_b=$(attribute shib_b lid)
check op_vls asks 'OperVLs:\.*VL0-3' smpquery -C shib_a portinfo $((lid_b))
check high_limit asks 'VLHighLimit:\.*5' smpquery -C shib_a portinfo $((lid_b))
sl2vl() { asks '\| 0\| 1\| 2\|15\| 0\| 1\| 2\| 3\| 3\| 2\| 1\| 0\| 1\| 2\| 3\| 0\|' smpquery -C shib_a sl2vl "$@"; }
check sl2vl.peer wait_for 20 sl2vl $((lid_b)) 1
check sl2vl.own wait_for 20 sl2vl $((lid_a)) 1
vlarb() { asks "$1" smpquery -C shib_a vlarb $((lid_b)) 1; }
check vlarb.low wait_for 20 vlarb 'WEIGHT: \|0x1 \|0x40\|0x80\|0xFF\|'
check vlarb.high vlarb 'WEIGHT: \|0x4 \|0x0 \|'
check active_still has shib_a state ACTIVE

# lane SL LANE : what perftest sends with this service level, data and ACKs
lane() {
	local sniffer
	: >/tmp/lanes
	in_a "$helpers/ib-lane-of.py" veth_a "$1" 100 >/tmp/lanes &
	sniffer=$!
	wait_for 10 grep -q ready /tmp/lanes
	between ib_write_bw -F -S "$1" -s 4096 -n 200 || { kill $sniffer; return 1; }
	wait $sniffer || return
	[ "$(tail -n 1 /tmp/lanes)" = "$2" ] || { cat /tmp/lanes; return 1; }
}
while read -r sl vl; do
	check "lane_of_sl_$sl" lane "$sl" "$vl"
done <<-END
	0 0
	1 1
	7 3
	15 0
END
before=$(counter shib_a tx_no_route)
refused() { ! "$@"; }
check no_lane refused between ibv_rc_pingpong -l 3 -n 1
check no_lane.is_counted [ "$(counter shib_a tx_no_route)" -gt "$before" ]
check no_lane.error grep -q 'transport retry counter' /tmp/client
