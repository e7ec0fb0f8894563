#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tag matching, on one device and between two, directly and as packets, of which some
# are lost. About 50 s.
#
# timeout: 200
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
verbs auto tag_matching -d shca_a -f 4
run in_a softhca dev set shca_a path wire
verbs wire tag_matching -d shca_a -f 4
verbs pair tag_matching -d shca_a -p shca_b -f 6
for end in a b; do
	run ip netns exec shca-$end tc qdisc add dev veth_$end root netem loss 2%
done
verbs lossy tag_matching -d shca_a -p shca_b -f 4 each_message tags_wait many_rendezvous rendezvous_among
