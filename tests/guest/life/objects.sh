#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# Objects made, used and destroyed at random by threads of several processes, of
# which some are killed (tests/userspace/verbs/life/lifecycle); nothing is left over. By
# packets, then also directly. 1,200 operations, in soak 20,000; LIFECYCLE_SEED=N
# replays (in soak another each time). About 15 s.
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

make_pair 1500
if [ -n "${SHCA_SOAK-}" ]; then
	export LIFECYCLE_OPS=${LIFECYCLE_OPS:-10000} LIFECYCLE_SEED=${LIFECYCLE_SEED:-$RANDOM}
fi
objects() { rdma resource show | sed 's/^[0-9]*: //' | sort; }
objects >/tmp/objects.before
nothing_left() { objects >/tmp/objects.after && diff /tmp/objects.before /tmp/objects.after; }
memory_left() { [ "$(rdma resource show qp | grep -c 'type \(RC\|UC\|UD\)')" = 0 ]; }

run in_a softhca dev set shca_a path wire
verbs wire lifecycle -d shca_a -f 4
check wire.nothing_left wait_for 10 nothing_left
run in_a softhca dev set shca_a path auto
verbs auto lifecycle -d shca_a -f 6
check auto.nothing_left wait_for 10 nothing_left
check auto.no_queue_pair_left wait_for 10 memory_left
# and nothing waits for what is gone
check link_delete link_delete shca_a
