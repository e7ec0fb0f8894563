#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Deadlock, and its cures. In a ring of five switches all hosts send to the next switch but one. The
# shortest paths of all of them go the same way round, so each cable waits for the next one:
# with one lane all buffers fill up, and nothing moves ever again.
#
# What to look at, in the table and on a real cluster:
#   - nothing is lost, no port is Down, no counter of errors grows: only traffic has stopped
#   - PortXmitWait grows on all cables of the circle (perfquery, ibqueryerrors)
#   - HOQLife is the way out of the IBTA: packets that wait too long are dropped (PortXmitDiscards).
#     So traffic goes on, and programs see losses
#   - lash and dfsssp use a second lane. They help only traffic that uses the service level of the
#     path record (SL): the last row is lash with traffic that does not
#   - nue finds paths without a circle
#
#   deadlock.sh [PACKETS]     packets of each host (default: 1000)
. "$(dirname "$0")/lib.sh"

packets=${1:-1000}
all=$((10 * packets)) switches='0 1 2 3 4' hosts='0 1'
for_ever="head_of_queue_lifetime=0x14 leaf_head_of_queue_lifetime=0x14 packet_life_time=0x14"
short="head_of_queue_lifetime=0x8 leaf_head_of_queue_lifetime=0x8 packet_life_time=0x14"

# add NUMBER... : their sum
add() { local total=0 n; for n; do total=$((total + n)); done; echo $total; }
# sum NAME : of all ports of all switches
# shellcheck disable=SC2046 # (numbers)
sum() { add $(for i in $switches; do value "$1" "ring $i"; done); }
# shellcheck disable=SC2046
arrived_all() { add $(for i in $switches; do for n in $hosts; do arrived "ring $i host $n"; done; done); }

# until_still : all packets have arrived or are lost, or nothing has moved for half a second
until_still() {
	local now=- before
	until [ "$now" = "${before-}" ] || [ $(($(arrived_all) + $(sum discards))) = $all ]; do
		before=$now
		sleep 0.5
		now="$(arrived_all) $(sum discards)"
	done
}

# row NAME CONFIGURATION WHOSE_SL OPTION... : traffic under a routing engine
row() {
	local name=$1 lines=$2 whose=$3 i n to sl=(0 0 0 0 0) begins=()
	shift 3
	fabric --cable-rate=10 --ring=5 --hosts=2
	# shellcheck disable=SC2086 # (words)
	manager 'ring 0 host 0' -F "$(config $lines)" "$@"
	for i in $switches; do
		[ "$whose" = 0 ] || sl[i]=$(path_sl "ring $i host 0" "ring $(((i + 2) % 5)) host 0")
	done
	# (all at once)
	for i in $switches; do
		to=$(((i + 2) % 5))
		for n in $hosts; do
			ask send "ring $i host $n" 1 "ring $to host $n" mb=10 sl="${sl[i]}" count="$packets" &
			begins+=($!)
		done
	done
	wait "${begins[@]}"
	until_still
	printf '%-24s %7d %7d %7d %11d\n' "$name" "$(arrived_all)" "$(sum discards)" "$(sum waiting)" "$(sum xmit_wait_us)"
}

printf '%-24s %7s %7s %7s %11s\n' "of $all packets:" arrived lost waiting PortXmitWait
row 'minhop'               "$for_ever" 0 -R minhop
row 'minhop, HOQLife 1 ms' "$short"    0 -R minhop
row 'lash'                 "$for_ever" path -R lash -Q
row 'dfsssp'               "$for_ever" path -R dfsssp -Q
row 'nue'                  "$for_ever" path -R nue
row 'lash, SL 0 for all'   "$for_ever" 0 -R lash -Q
