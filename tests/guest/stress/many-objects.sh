#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Ten thousand queue pairs that carry data, a hundred thousand memory regions that are
# reached by their keys; then all of them end at once: with the process, with the device.
#
# MANY_QPS, MANY_MRS (make soak: these; else a tenth)
# timeout: 400
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

export MANY_QPS=${MANY_QPS:-${SHCA_SOAK:+10000}} MANY_MRS=${MANY_MRS:-${SHCA_SOAK:+100000}}
export MANY_QPS=${MANY_QPS:-1000} MANY_MRS=${MANY_MRS:-10000}
make_pair 9000
verbs many many -d shca_a -f 4

# killed, and deleted, with all of them there
left() { rdma resource show "$1" | grep -c "pid $pid "; }
nothing_left() { [ "$(left qp)" = 0 ] && [ "$(left mr)" = 0 ]; }
begin_many() {
	: >/tmp/many
	"$test_programs/many" -d shca_a hold >/tmp/many 2>&1 &
	pid=$!
	at_exit kill -KILL $pid
	run wait_for 300 grep -q ready /tmp/many
	check "$1.all_there" [ "$(left qp)" = "$MANY_QPS" ]
}
begin_many killed
kill -KILL $pid
wait $pid
check killed.nothing_left wait_for 60 nothing_left
begin_many link_delete
# (and half a millisecond for each queue pair: an emulated guest has that much to do)
check link_delete within $((removal_seconds * 1000 + MANY_QPS / 2)) "rdma link show" rdma link delete shca_a
check link_delete.nothing_left wait_for 60 nothing_left
kill -KILL $pid
wait $pid || true	# (its status is not that of this test)
