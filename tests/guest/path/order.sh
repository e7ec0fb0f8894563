#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Programs that poll memory see a message whole: on the direct path, as packets on one
# device, and between two. About 10 s.
#
# timeout: 200
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
verbs auto write_order -d shca_a -f 4
run in_a softhca dev set shca_a path wire
verbs wire write_order -d shca_a -f 4
verbs pair write_order -d shca_a -p shca_b -f 6
