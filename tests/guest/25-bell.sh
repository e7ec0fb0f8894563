#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The bell, by which a process tells that it has posted: who may ring it, for
# what, when; what it says once the device or the module is gone, which it does
# not delay; and the other form of it, with which every kernel and every provider
# of this ABI can talk to each other. About 30 s.
#
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/scenario"

make_pair 9000
verbs auto bell -d shca_a -f 4
export SOFTHCA_BELL=write
for program in rc_errors rc_data; do
	verbs write "$program" -d shca_a -f 4
done
unset SOFTHCA_BELL

# answer_after LABEL COMMAND... : somebody rings all the while
answer_after() {
	local label=$1 ringer said=/tmp/bell.$$
	shift
	"$test_programs/bell" -d shca_a removed >$said &
	ringer=$!
	check "$label.rings" wait_for 20 grep -q ready $said
	check "$label.not_delayed" within $((removal_seconds * 1000)) "rdma link show" "$@"
	check "$label.fails_then" wait $ringer
	cat $said
	rm -f $said
}
answer_after link_delete rdma link delete shca_a
add_device shca_a veth_a $ns_a
answer_after rmmod rmmod softhca
