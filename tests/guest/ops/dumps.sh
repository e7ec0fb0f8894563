#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `rdma resource show`: who is told what of a QP, and objects of all kinds that come
# and go while they are shown. Where the RDMA core lacks rdma_restrack_begin_del(), an
# object may be shown after it has been destroyed. Debian's kernels of today have it
# (6.1.192, 6.12.117, 7.2.12), so this fails, with what is freed poisoned, on an ib_core
# only in which that function and rdma_restrack_abort_del() do nothing, and
# rdma_restrack_commit_del() is rdma_restrack_del() (drivers/infiniband/core as a module
# of its own, loaded in place of the distribution's):
#
#   SHCA_VM_APPEND='slub_debug=FZP preempt=full' scripts/qemu/vm --share DIR -- ...
#
# About 30 s.
#
# timeout: 200
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

# here, and not in a namespace: rdma_cm takes addresses of where the process is
at_exit ip link delete dummy_d
run ip link add dummy_d type dummy
run ip addr add 10.78.0.1/24 dev dummy_d
run ip link set dummy_d up
add_device shca_d dummy_d
run wait_for 10 gid_index shca_d 10.78.0.1
modprobe -q rdma_ucm
verbs shown dumps -d shca_d -f 4
# QPs that count for themselves from INIT on
run rdma statistic qp set link shca_d/1 auto type on
verbs counted dumps -d shca_d -f 4 objects_come_and_go
run rdma statistic qp set link shca_d/1 auto off
