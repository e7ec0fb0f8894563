#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Samples of the counters of an InfiniBand port, and a port that goes while one is under
# way.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v perfquery >/dev/null || skip "this guest has no infiniband-diags"
modprobe ib_umad || skip "this kernel has no ib_umad"

two_ports 1500
make_active shib_a 17
nsenter --net="/run/netns/$ns_b" "$(dirname "$0")/../helpers/ib-samples.py" veth_b shib_a || echo "not ok sample"
prints() { perfquery -C shib_a -c 17 1 2>&1 | tee /tmp/samples && grep -Eq 'SampleStatus:\.*(0x)?0*1$' /tmp/samples; }
check perfquery prints
# A sample waits for its begin.
check removed rdma link delete shib_a
