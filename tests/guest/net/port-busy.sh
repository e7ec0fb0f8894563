#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# UDP port 4791 belongs to somebody else, as when rdma_rxe has a device: the link
# is refused with EADDRINUSE, the kernel's log says why in one sentence, nothing
# is left behind, and another namespace is not concerned.
. "$(dirname "$0")/../lib.sh"

modinfo rdma_rxe >/dev/null 2>&1 || skip "this kernel has no rdma_rxe"
run ip link add dummy_busy type dummy
at_exit ip link del dummy_busy
run ip link set dummy_busy up

add() { rdma link add shca_busy type softhca netdev dummy_busy; }
add_refused() { ! add >/tmp/add 2>&1 && cat /tmp/add; }
says_in_use() { grep -q 'Address already in use' /tmp/add; }
said_since() { dmesg | sed -n "/$1/,\$p"; }
log_names_cause() { said_since "$mark" | grep softhca: | grep 4791; }
one_line() { [ "$(said_since "$mark" | grep -c softhca:)" = 1 ]; }
no_device() { [ ! -e /sys/class/infiniband/shca_busy ]; }

run modprobe softhca
run modprobe rdma_rxe
at_exit modprobe -r rdma_rxe
# up to 6.12 it takes the port when it is loaded, later with its first device
at_exit rdma link delete rxe_busy
run rdma link add rxe_busy type rxe netdev dummy_busy
mark=port-busy-$$
echo "$mark" >/dev/kmsg

check link_is_refused add_refused
check refused_with_EADDRINUSE says_in_use
check log_names_the_cause log_names_cause
check log_has_one_line one_line
check no_device_is_left no_device

make_pair 1500
check other_namespace_works between_pair ibv_rc_pingpong -c -n 50 -d shca_b -g "$(gid_index shca_b $ip4_b)" -- \
	ibv_rc_pingpong -c -n 50 -d shca_a -g "$(gid_index shca_a $ip4_a)" ADDRESS

run rdma link delete rxe_busy
run modprobe -r rdma_rxe
check works_once_the_port_is_free add
check link_delete rdma link delete shca_busy
