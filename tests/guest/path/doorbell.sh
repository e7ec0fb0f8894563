#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The doorbell, by which a process tells that it has posted: who may ring it, for
# what, when; what it says once the device or the module is gone, which it does
# not delay; and the other form of it, with which every kernel and every provider
# of this ABI can talk to each other. About 30 s.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
verbs auto doorbell -d shca_a -f 4
export SOFTHCA_DOORBELL=write
for program in rc_errors rc_data; do
	verbs write "$program" -d shca_a -f 4
done
unset SOFTHCA_DOORBELL

# few doorbells for many posts, by packets and by the direct path
verbs wire stream -d shca_a -p shca_b -f 4
verbs direct stream -d shca_a -f 4

# the same as above, where the provider's poller rings
verbs auto poller -d shca_a -f 4
export SOFTHCA_POLLER=300
for program in rc_errors rc_data; do
	verbs poller "$program" -d shca_a -f 4
done
unset SOFTHCA_POLLER

# kill -9 with the poller at work
killed() {
	"$test_programs/poller" -d shca_a removed >/tmp/poller.$$ &
	wait_for 20 grep -q ready /tmp/poller.$$ || return
	kill -KILL $!
	wait $! 2>/dev/null
	rm -f /tmp/poller.$$
	! rdma resource show qp | grep " pid $! "
}
check poller.killed killed

# answer_after LABEL PROGRAM COMMAND... : it rings all the while
answer_after() {
	local label=$1 program=$2 ringer said=/tmp/doorbell.$$
	shift 2
	"$test_programs/$program" -d shca_a removed >$said &
	ringer=$!
	check "$label.rings" wait_for 20 grep -q ready $said
	check "$label.not_delayed" within $((removal_seconds * 1000)) "rdma link show" "$@"
	check "$label.fails_then" wait $ringer
	cat $said
	rm -f $said
}
answer_after link_delete doorbell rdma link delete shca_a
add_device shca_a veth_a $ns_a
answer_after poller.link_delete poller rdma link delete shca_a
add_device shca_a veth_a $ns_a
answer_after stream.link_delete stream rdma link delete shca_a
add_device shca_a veth_a $ns_a
answer_after rmmod doorbell rmmod softhca
