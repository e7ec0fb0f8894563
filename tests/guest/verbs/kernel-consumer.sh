#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A consumer in the kernel (tests/kernel/consumer.c): events never come within
# its own calls, nor after the end of what they are of; memory operations in the
# queue. On the direct path, as packets, with a CPU offline, and with completions in bursts.
# About 20 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

modinfo softhca_consumer >/dev/null 2>&1 || fail "tests/kernel was not built"
run ip link add veth_a type veth peer name veth_b
at_exit ip link del veth_a
run ip addr add $ip4_a/24 dev veth_a
run ip link set veth_a up
run ip link set veth_b up
add_device shca_a veth_a
run wait_for 10 gid_index shca_a $ip4_a
# consumer LABEL [PARAMETER]
consumer() {
	local label=$1 status=0
	shift
	log_mark
	modprobe softhca_consumer device=shca_a "gid_index=$(gid_index shca_a $ip4_a)" "$@" || status=$?
	kernel_log | grep softhca_consumer | sed -E "s/^.*softhca_consumer: //; s/^(ok|not ok) /&$label./"
	check "$label.consumer" [ $status = 0 ]
	modprobe -r softhca_consumer
}
for path in auto wire; do
	run softhca dev set shca_a path $path
	consumer $path
done
cpu=/sys/devices/system/cpu/cpu1/online
if [ -e $cpu ]; then
	run eval "echo 0 >$cpu"
	at_exit eval "echo 1 >$cpu"
	consumer offline
	run eval "echo 1 >$cpu"
fi
# Long enough for a machine that is slow. A process's data is late, and theirs is not.
own=$(mktemp -d)
at_exit rm -rf "$own"
printf 'burst=8 burst_us=10000 late_us=20000\n' >"$own"/bursts
run softhca dev set shca_a personality "$own"/bursts
run wait_for 10 gid_index shca_a $ip4_a
consumer bursts burst=8 burst_us=10000
