#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A device on `lo`: plain verbs work, with addresses that were there and with
# ones that come later. (rdma_cm over 127.0.0.1 is refused by the RDMA core.)
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

at_exit ip netns del $ns_a
run ip netns add $ns_a
run in_a ip link set lo up
add_device shca_a lo $ns_a
run wait_for 10 gid_index shca_a 127.0.0.1
gid=$(gid_index shca_a 127.0.0.1)
check pingpong on_itself ibv_rc_pingpong -c -d shca_a -g "$gid" -n 50 -- \
	ibv_rc_pingpong -c -d shca_a -g "$gid" -n 50 ADDRESS
run in_a ip addr add 10.79.0.1/32 dev lo
check later_address wait_for 10 gid_index shca_a 10.79.0.1
gid=$(gid_index shca_a 10.79.0.1)
check pingpong_later_address on_itself ibv_rc_pingpong -c -d shca_a -g "$gid" -n 50 -- \
	ibv_rc_pingpong -c -d shca_a -g "$gid" -n 50 ADDRESS

# IPv6: what is there from the beginning, and what comes later, without any IPv4
# address that comes after it
check ipv6 wait_for 10 gid_index shca_a ::1
gid6=$(gid_index shca_a ::1)
check pingpong_ipv6 on_itself ibv_rc_pingpong -c -d shca_a -g "$gid6" -n 50 -- \
	ibv_rc_pingpong -c -d shca_a -g "$gid6" -n 50 ADDRESS
run in_a ip -6 addr add fd79::1/128 dev lo
check later_ipv6_address wait_for 10 gid_index shca_a fd79::1
gid6=$(gid_index shca_a fd79::1)
check pingpong_later_ipv6_address on_itself ibv_rc_pingpong -c -d shca_a -g "$gid6" -n 50 -- \
	ibv_rc_pingpong -c -d shca_a -g "$gid6" -n 50 ADDRESS
