#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The module loads by itself for `rdma link add`, a device appears and goes, and
# the module can be removed again.
. "$(dirname "$0")/../lib.sh"

modinfo softhca >/dev/null || fail "the guest has no softhca module"
at_exit modprobe -r softhca

run ip link add dummy_load type dummy
at_exit ip link del dummy_load
run ip link set dummy_load up

link_add() { rdma link add shca_load type softhca netdev dummy_load; }
listed() { rdma link show shca_load/1; }
by_verbs() { ibv_devinfo -d shca_load; }
gone() { [ ! -e /sys/class/infiniband/shca_load ]; }

check link_add_loads_the_module link_add
check module_is_loaded grep -q '^softhca ' /proc/modules
check link_is_listed listed
check provider_opens_the_device by_verbs
check link_delete link_delete shca_load
check device_is_gone gone
check module_is_removed modprobe -r softhca
