#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# XRC: the verbs on one device and between two, directly and as packets; the
# programs of rdma-core and perftest, connected by sockets and by rdma_cm. About 40 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
verbs auto xrc -d shca_a -f 4
verbs pair xrc -d shca_a -p shca_b -f 6
run in_a softhca dev set shca_a path wire
verbs wire xrc -d shca_a -f 4
run in_a softhca dev set shca_a path auto

gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
for events in '' -e; do
	# shellcheck disable=SC2086 # no word where it is empty
	check "xsrq_pingpong$events" between_pair ibv_xsrq_pingpong -d shca_b -g "$gid_b" -n 50 -s 10000 $events -- \
		ibv_xsrq_pingpong -d shca_a -g "$gid_a" -n 50 -s 10000 $events ADDRESS
done
check rdma_xclient cm_between $ns_b $ns_a rdma_xserver -p 7471 -c x -- rdma_xclient -s $ip4_b -p 7471 -c x
for program in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw; do
	size=(-s 65536)
	[ $program != ib_atomic_bw ] || size=()
	check "$program" between_pair $program -c XRC -F -d shca_b -x "$gid_b" -n 50 "${size[@]}" -- \
		$program -c XRC -F -d shca_a -x "$gid_a" -n 50 "${size[@]}" ADDRESS
done
