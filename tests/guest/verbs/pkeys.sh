#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The P_Key table: set by the tool, obeyed by packets and by the direct path, told to
# programs. About 10 s.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
for side in a b; do
	run ip netns exec shca-$side softhca dev set shca_$side pkey 1 0x8001
	run ip netns exec shca-$side softhca dev set shca_$side pkey 2 0x0001
	run ip netns exec shca-$side softhca dev set shca_$side pkey 3 0x8002
done
export SHCA_CHANGE_PKEY="ip netns exec $ns_a softhca dev set shca_a pkey 4"
verbs pair pkey -d shca_a -p shca_b
verbs itself pkey -d shca_a

check mismatches_are_counted eval '[ "$(counter shca_b rx_pkey_mismatch)" -gt 0 ] && [ "$(counter shca_a rx_pkey_mismatch)" -gt 0 ]'
check sysfs_shows_the_table grep -q 0x8001 /sys/class/infiniband/shca_a/ports/1/pkeys/1
check tool_shows_the_table eval 'in_a softhca dev show shca_a | grep -q "pkeys 0:0xffff,1:0x8001,2:0x0001,3:0x8002$"'
check json_shows_the_table eval 'in_a softhca dev show shca_a --json | python3 -c "import json, sys
sys.exit(json.load(sys.stdin)[0][\"pkeys\"] != {\"0\": 0xffff, \"1\": 0x8001, \"2\": 1, \"3\": 0x8002})"'
refuse() { ! in_a softhca dev set shca_a pkey "$@"; }
check default_partition_stays refuse 0 0x8001
check index_beyond_the_table refuse 32 0x8001
check value_is_too_large refuse 1 0x18001
check value_is_no_number refuse 1 seven
check without_privilege eval '! in_a setpriv --reuid=65534 --clear-groups softhca dev set shca_a pkey 1 0'
check rdma_cm_needs_the_default cm_between $ns_b $ns_a rping -s -C 2 -a $ip4_b -- rping -c -C 2 -a $ip4_b
