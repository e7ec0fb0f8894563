#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Automatic path migration: connections between ports with four LIDs each (opensm -l 2)
# leave a path that loses their packets for the alternate one, and come back.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

two_ports 1500
rm -f /tmp/opensm.log
opensm -g "0x$(guid shib_a)" -l 2 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
at_exit kill $!
both_active
tells_migration() { smpquery -C shib_a portinfo "$(attribute shib_b lid)" | grep -q IsAutomaticMigrationSupported; }
check port_says_so tells_migration
ip netns exec "$ns_a" timeout $((300 * slow)) "$(dirname "$0")/../helpers/ib-apm.py" \
	shib_a "$ns_a" veth_a shib_b "$ns_b" veth_b || echo "not ok apm"
