#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A slow receiver slows others. Two flows share the cable between two switches: one to the slow host,
# one to a host beside it, the victim.
#
# What to look at:
#   - nothing is lost, and no counter of errors grows
#   - packets for the slow host fill the buffer of the cable that both flows share, so the victim
#     waits behind them (head-of-line blocking), and becomes as slow
#   - PortXmitWait grows at the port in front of the slow host, where the trouble begins, and at the
#     ports behind which it spreads. The port in front of the victim has none: so begin at the port
#     with PortXmitWait whose own receiver has none
#   - with a lane of its own (another service level, and OpenSM -Q) the victim is as fast as before
#   - with HOQLife, the default of OpenSM, packets for the slow host are dropped in the end
#
#   slow-receiver.sh [PACKETS]      (default: 3000)
. "$(dirname "$0")/lib.sh"

packets=${1:-3000} a='ring 0 host 0' b='ring 0 host 1'
# traffic SL : of the victim
traffic() {
	ask stop "$a" 1
	ask stop "$b" 1
	ask send "$a" 1 'ring 1 host 0' mb=10
	arrives "$a"
	local before since
	before=$(arrived "$a") since=$(date +%s%N)
	ask send "$b" 1 'ring 1 host 1' mb=10 sl="$1" count="$packets"
	wait_for 60 all_arrived "$b"
	echo "  $packets packets for the victim arrive in $((($(date +%s%N) - since) / 1000000)) ms, and $(($(arrived "$a") - before)) for the other host"
}
# waits : ports of switches with PortXmitWait
waits() {
	local switch port
	for switch in 'ring 0' 'ring 1'; do
		for port in 1 2 3 4; do
			[ "$(value xmit_wait_us "$switch" $port)" -lt 100000 ] || echo "  PortXmitWait of $switch, port $port"
		done
	done
}

fabric --ring=3 --hosts=2
manager "$a" -Q -F "$(config head_of_queue_lifetime=0x14 leaf_head_of_queue_lifetime=0x14 packet_life_time=0x14)"
echo 'both are fast:'
traffic 0
waits
echo 'one host takes 1 MB a second:'
ask slow 'ring 1 host 0' 1 1
traffic 0
waits
echo 'the victim has a lane of its own:'
traffic 1
