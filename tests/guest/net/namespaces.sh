#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Port 4791 is taken in the namespace of the network device, while a device is
# there and no longer; namespaces do not disturb each other.
. "$(dirname "$0")/../lib.sh"

port_taken() { ip netns exec "$1" ss -Huan 'sport = :4791' | grep -q .; }
port_free() { ! port_taken "$1"; }
init_port_free() { ! ss -Huan 'sport = :4791' | grep -q .; }
add_same_netdev_elsewhere() { rdma link add shca_x type softhca netdev veth_a; }
fails() { ! "$@"; }

make_pair 1500
check port_is_taken_in_a port_taken $ns_a
check port_is_taken_in_b port_taken $ns_b
check port_is_free_outside init_port_free
check netdev_of_another_namespace_is_refused fails add_same_netdev_elsewhere

run rdma link delete shca_a
check port_is_free_after_the_last_device wait_for 5 port_free $ns_a
check other_namespace_keeps_it port_taken $ns_b
add_device shca_a veth_a $ns_a
check port_is_taken_again port_taken $ns_a
run wait_for 10 gid_index shca_a $ip4_a
check traffic between_pair ibv_rc_pingpong -c -n 50 -d shca_b -g "$(gid_index shca_b $ip4_b)" -- \
	ibv_rc_pingpong -c -n 50 -d shca_a -g "$(gid_index shca_a $ip4_a)" ADDRESS
