#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The static rate of a path between InfiniBand ports.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

modprobe ib_umad || skip "this kernel has no ib_umad"

two_ports 9000
make_active shib_a 1
make_active shib_b 2
verbs rc rate -d shib_a -p shib_b
verbs uc rate -d shib_a -p shib_b -q uc
