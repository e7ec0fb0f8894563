#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Programs that poll with real-time priority (SCHED_FIFO), one on each CPU: they keep
# what receives and sends for them waiting, and still all of it goes on, theirs and that
# of an ordinary program.
#
# FIFO_SECONDS (make soak: 120, else 10)
# timeout: 180
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=${FIFO_SECONDS:-${SHCA_SOAK:+120}}
make_pair 9000
start_traffic ordinary shca_a shca_b -u 20
pids=()
for cpu in 0 1; do
	chrt --fifo 50 taskset -c $cpu "$test_programs/traffic" -d shca_a -p shca_b -q rc -u 20 >/tmp/fifo.$cpu 2>&1 &
	pids+=($!)
	at_exit kill -KILL $!
done
sleep "${seconds:-10}"
for cpu in 0 1; do
	kill -TERM "${pids[cpu]}"
	check "fifo.cpu$cpu" wait "${pids[cpu]}"
	cat /tmp/fifo.$cpu
	check "fifo.cpu$cpu.moved" grep -q 'rc: [1-9][0-9]* rounds verified' /tmp/fifo.$cpu
done
check ordinary end_traffic ordinary
