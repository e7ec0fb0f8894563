#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Memory: windows, regions that change, on-demand paging, by the direct path and as
# packets.
#
# timeout: 600
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
echo 8 >/proc/sys/vm/nr_hugepages
for program in windows regions odp; do
	verbs auto "$program" -d shca_a -f 4
done
verbs auto.uc odp -d shca_a -f 4 -q uc
ODP_IMPLICIT=1 verbs implicit odp -d shca_a -f 4
run in_a softhca dev set shca_a path wire
for program in windows regions odp; do
	verbs wire "$program" -d shca_a -f 6
done
modprobe fuse
verbs wire absent -d shca_a -f 4
run in_order $ns_a lo
verbs wire.uc odp -d shca_a -f 6 -q uc -m 20000
ODP_IMPLICIT=1 verbs wire.implicit odp -d shca_a -f 6 \
	receive_into send_from write_to read_from atomics memory races
