#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Memory: windows, regions that change, by the direct path and as packets.
#
# timeout: 600
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/scenario"

make_pair 9000
echo 8 >/proc/sys/vm/nr_hugepages
for program in windows regions; do
	verbs auto "$program" -d shca_a -f 4
done
run in_a softhca dev set shca_a path wire
for program in windows regions; do
	verbs wire "$program" -d shca_a -f 6
done
