#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# InfiniBand ports with eight LIDs each (opensm -l 3): traffic over each pair of them, and
# packets to the LID beside them, which the port refuses.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

command -v opensm >/dev/null || skip "this guest has no opensm"
modprobe ib_umad || skip "this kernel has no ib_umad"

two_ports 1500
rm -f /tmp/opensm.log
opensm -g "0x$(guid shib_a)" -l 3 -f /tmp/opensm.log >/tmp/opensm.out 2>&1 &
at_exit kill $!
both_active
check lmc has shib_b lid_mask_count '^3$'
timeout $((120 * slow)) "$(dirname "$0")/../helpers/ib-paths.py" shib_a shib_b || echo "not ok paths"
lid=$(attribute shib_b lid)
each_lid() {
	local i
	for i in 0 1 5 7; do
		smpquery -C shib_a nodeinfo $((lid + i)) >/dev/null || return
	done
}
beyond() { timeout $((20 * slow)) smpquery -C shib_a -t 200 nodeinfo $((lid + 8)); }
check smp_to_each each_lid
check no_smp_beyond refused beyond
