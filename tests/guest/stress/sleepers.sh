#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Thousands of queue pairs that wait for ever, while their process sleeps: a receive
# that is never posted, pages that never come. The device acts seldom for them, on the
# direct path and by packets. SHCA_SOAK: a process that shares the CPU with them keeps 90%
# of it (a share that a machine with other guests beside this one does not show).
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_namespaces 1500
add_device shca_a veth_a $ns_a
run wait_for 10 gid_index shca_a $ip4_a
verbs direct sleepers -d shca_a -f 4
run in_a softhca dev set shca_a path wire
names="refused_for_ever page_to_send_from page_of_the_peer_to_read"
[ -z "${SHCA_SOAK-}" ] || names=""
# shellcheck disable=SC2086 # several names
verbs wire sleepers -d shca_a -f 4 $names
