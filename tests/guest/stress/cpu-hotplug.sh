#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# CPUs leave and come back under verified traffic: what waits on one for its turn goes on
# on another.
#
# HOTPLUG_SECONDS (make soak: 120, else 10)
# timeout: 120
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=${HOTPLUG_SECONDS:-${SHCA_SOAK:+120}}
cpu=/sys/devices/system/cpu/cpu1/online
[ -w $cpu ] || skip "no CPU of this machine can leave"
make_pair 9000
at_exit eval "echo 1 >$cpu"
start_traffic wire shca_a shca_b -u 18
start_traffic itself shca_a shca_a -u 18
end=$((SECONDS + ${seconds:-10})) rounds=0
while [ $SECONDS -lt $end ] && traffic_is_alive wire && traffic_is_alive itself; do
	run eval "echo 0 >$cpu"
	sleep 0.2
	run eval "echo 1 >$cpu"
	sleep 0.2
	rounds=$((rounds + 1))
done >/tmp/hotplug
echo "$rounds rounds"
check some_rounds [ $rounds -ge 3 ]
check wire end_traffic wire
check itself end_traffic itself
