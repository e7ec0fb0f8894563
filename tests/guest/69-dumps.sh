#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `rdma resource show`: who is told what of a QP, and objects of all kinds that come
# and go while they are shown. Where the RDMA core lacks rdma_restrack_begin_del(),
# which 6.1 does, one may be shown after it has been destroyed; what is read then tells
# only where freed memory is poisoned:
#
#   SHCA_VM_APPEND=slub_debug=FZP make check KERNELS=6.1 TESTS=69-dumps
#
# About 30 s.
#
# timeout: 200
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/scenario"

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
