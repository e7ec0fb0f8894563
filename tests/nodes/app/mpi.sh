#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 300
#
# Open MPI over UCX between two machines, started by mpirun through ssh: an allreduce
# of which every element is compared, by RC and by UD. Then a rank dies: the other ends
# with it. One allreduce in check (about 30 s), all in soak.
. "$(dirname "$0")/../lib.sh"

command -v mpirun >/dev/null || skip "no mpirun"
make_nodes 1500

# ranks TLS ADDRESS_1 ADDRESS_2 ARGUMENT... : one on each node, whose only way is that
# transport, on the GIDs of these addresses
ranks() {
	local tls=$1 gid
	gid=$(gid_index shca0 "$2") && [ "$(remote node2 gid_index shca0 "$3")" = "$gid" ] || return
	shift 3
	timeout -s KILL $((100 * slow)) mpirun --allow-run-as-root --host node1:1,node2:1 --mca pml ucx \
		-x UCX_TLS="$tls,self" -x UCX_NET_DEVICES=shca0:1 -x UCX_IB_GID_INDEX="$gid" \
		python3 /usr/local/share/softhca/examples/mpi-allreduce.py "$@"
}
right() {
	local before
	before=$(counter shca0 rx_packets)
	ranks "$@" | tee /tmp/mpi.out
	grep -q 'right: 100000 elements, 2 ranks' /tmp/mpi.out && [ $(($(counter shca0 rx_packets) - before)) -gt 100 ]
}
check rc.ipv6.allreduce right rc_v $ip6_1 $ip6_2
[ -n "${SHCA_SOAK-}" ] || exit 0
check rc.ipv4.allreduce right rc_v $ip4_1 $ip4_2
check ud.ipv4.allreduce right ud_v $ip4_1 $ip4_2
check ud.ipv6.allreduce right ud_v $ip6_1 $ip6_2

# ---- the rank on the other node dies

ranks rc_v $ip4_1 $ip4_2 forever >/tmp/mpi.long 2>&1 &
mpirun=$!
run wait_for 60 grep -q right /tmp/mpi.long
check rank_dies.killed on node2 pkill -KILL -f '^python3 .*mpi-allreduce.py'
ends() { wait_for 60 is_over $mpirun && ! wait $mpirun; }
check rank_dies.ends ends
