#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The newer interfaces of libibverbs: work requests by calls (ibv_wr_*), polling by
# iterator, time stamps; CQs that change; thread and parent domains; FLUSH and
# ATOMIC WRITE, by both ways; import of contexts and objects.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
for program in qp_ex cq_ex cq_size domains flush import; do
	verbs auto "$program" -d shca_a -f 4
done
run in_a softhca dev set shca_a path wire
verbs wire flush -d shca_a -f 6
