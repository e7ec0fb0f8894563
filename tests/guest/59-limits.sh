#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What a device advertises can be had, by one process, and not more. Here sizes and
# queues, about 20 s; SHCA_SOAK: each kind.
#
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/scenario"

at_exit ip netns del $ns_a
run ip netns add $ns_a
run in_a ip link set lo up
add_device shca_a lo $ns_a
run wait_for 10 gid_index shca_a 127.0.0.1
kinds=(max_srq_wr max_rd_atom max_mcast max_dm_size max_srq max_cq max_qp)
[ -z "${SHCA_SOAK-}" ] || kinds+=(max_wq max_pd max_ah max_mr)
verbs limits limits -d shca_a -f 4 "${kinds[@]}"
