#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Mixed traffic for long, of which every few seconds a process is killed and another one
# begins: by packets, by the direct path, on demand, with tag matching and XRC. Those that
# are not killed verify every byte; at the end nothing is left over, no memory and no
# object.
#
# KILL_SECONDS (make soak: 900, else 25)
# timeout: 240
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=${KILL_SECONDS:-${SHCA_SOAK:+900}}
make_pair 9000
# those that stay
start_traffic wire shca_a shca_b -u 18
start_traffic itself shca_a shca_a -u 18
start_traffic ipv6 shca_b shca_a -f 6 -u 18
# those that are killed: each is begun again
victims=(
	"traffic -d shca_a -p shca_b -u 18"
	"traffic -d shca_b -p shca_b -q rc"
	"hold -d shca_a -p shca_b"
	"rc_data -d shca_a -p shca_b -f 4"
	"odp -d shca_a -p shca_b -f 4"
	"tag_matching -d shca_a -p shca_b -f 4"
	"xrc -d shca_a -p shca_b -f 4"
)
declare -a pid_of
begin_one() {
	local words
	read -ra words <<<"${victims[$1]}"
	setsid "$test_programs/${words[0]}" "${words[@]:1}" >"/tmp/victim.$1" 2>&1 &
	pid_of[$1]=$!
}
# (one that has just begun may not have its session yet)
kill_one() { kill -KILL -- "-${pid_of[$1]}" || kill -KILL "${pid_of[$1]}"; wait "${pid_of[$1]}"; } 2>/dev/null
end=$((SECONDS + ${seconds:-25})) kills=0
for i in "${!victims[@]}"; do begin_one "$i"; done
while [ $SECONDS -lt $end ] || [ $kills -lt 10 ]; do
	sleep "0.$((kills % 7 + 2))"
	i=$((kills % ${#victims[@]}))
	kill_one $i
	begin_one $i
	kills=$((kills + 1))
	if ! traffic_is_alive wire || ! traffic_is_alive itself || ! traffic_is_alive ipv6; then break; fi
done
for i in "${!victims[@]}"; do kill_one "$i"; done
echo "$kills killed"
check all_kills [ $kills -ge 10 ]	# else one of them has ended
for name in wire itself ipv6; do check "$name" end_traffic $name; done
nothing_left() { ! rdma resource show qp | grep -q 'type [RU][CD]' && ! rdma resource show mr | grep -q 'pid'; }
check nothing_left wait_for 10 nothing_left
