#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The verbs between two devices in two namespaces, at both common MTUs; atomics of
# both devices, by packets and by the direct path, against the CPU.
#
# timeout: 900
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
for program in qp_states cq_events rc_errors rc_data; do
	verbs mtu1500 "$program" -d shca_a -p shca_b -f 4
done
run in_a ip link set veth_a mtu 9000
run in_b ip link set veth_b mtu 9000
verbs mtu9000 rc_data -d shca_a -p shca_b -f 6

packets=$(counter shca_a tx_packets) direct=$(counter shca_a tx_direct_packets)
verbs pair atomics -d shca_a -p shca_b
both_ways_were_used() {
	packets=$(($(counter shca_a tx_packets) - packets)) direct=$(($(counter shca_a tx_direct_packets) - direct))
	echo "packets: $packets, by the direct path: $direct"
	[ $packets -gt 2000 ] && [ $direct -gt 2000 ]
}
check both_ways_were_used both_ways_were_used
