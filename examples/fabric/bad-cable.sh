#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A bad cable: one packet of 100 is damaged, and then one of 100 is lost without a trace.
#
# What to look at:
#   - the port at the end where packets arrive counts SymbolErrorCounter and PortRcvErrors. It names
#     the cable, in this direction; the ports behind it see good packets only
#   - less packets arrive than were sent. No other counter tells of packets that are damaged
#   - what a cable loses without a trace nobody counts: only PortXmitPkts and PortRcvPkts of its two
#     ends tell, if no other packet passes
#   - after the repair, counters stay until somebody clears them (ibqueryerrors --clear-errors)
#
#   bad-cable.sh [PACKETS]      (default: 10000)
. "$(dirname "$0")/lib.sh"

packets=${1:-10000} a='ring 0 host 0' b='ring 1 host 0'
errors() { { at "$a" ibqueryerrors 2>"$work/why" || :; } | sed -n 's/^ *GUID \(0x[0-9a-f]*\) port \([0-9]*\): /  \1 port \2: /p'; }
# traffic : sends packets, and says how many have arrived
traffic() {
	ask stop "$a" 1
	ask send "$a" 1 "$b" mb=20 count="$packets"
	wait_for 60 all_sent "$a"
	echo "  $(tell_flow "$a")"
}

fabric --ring=3
manager "$a"
echo 'a good cable:'
traffic
echo 'one of 100 is damaged:'
ask damage 'ring 0' 2 100
traffic
errors
echo 'mended, and counters cleared:'
ask damage 'ring 0' 2 0
at "$a" ibqueryerrors --clear-errors >"$work/why" 2>&1 || :	# (it has found errors)
traffic
errors
echo 'one of 100 is lost:'
ask lose 'ring 0' 2 100
traffic
errors
