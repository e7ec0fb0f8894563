#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The GID table holds the addresses of the network device, all of type RoCEv2,
# and follows them.
. "$(dirname "$0")/../lib.sh"

no_gid() { ! gid_index "$1" "$2" >/dev/null; }
appears() { wait_for 10 gid_index shca_a "$1"; }
vanishes() { wait_for 10 no_gid shca_a "$1"; }
# types DEVICE : the distinct types of the GIDs that there are
types() { cat "/sys/class/infiniband/$1/ports/1/gid_attrs/types/"* 2>/dev/null | sort -u; }
netdevs() { cat "/sys/class/infiniband/$1/ports/1/gid_attrs/ndevs/"* 2>/dev/null | sort -u; }
only_rocev2() { [ "$(types shca_a)" = "RoCE v2" ]; }
only_its_netdev() { [ "$(in_a bash -c "cat /sys/class/infiniband/shca_a/ports/1/gid_attrs/ndevs/* 2>/dev/null" | sort -u)" = veth_a ]; }
link_local() { in_a ip -6 -o addr show dev veth_a scope link | awk '{ sub("/.*", "", $4); print $4 }'; }

make_pair 1500
check link_local_is_there appears "$(link_local)"
run in_a ip addr add 10.77.1.1/24 dev veth_a
check ipv4_appears appears 10.77.1.1
run in_a ip -6 addr add fd77:1::1/64 dev veth_a nodad
check ipv6_appears appears fd77:1::1
check all_are_rocev2 only_rocev2
check all_are_of_the_netdev only_its_netdev
run in_a ip addr del 10.77.1.1/24 dev veth_a
check ipv4_vanishes vanishes 10.77.1.1
run in_a ip -6 addr del fd77:1::1/64 dev veth_a
check ipv6_vanishes vanishes fd77:1::1
check others_stay appears $ip4_a

# an address that comes after the device serves at once
run in_a ip addr add 10.78.0.1/24 dev veth_a
run in_b ip addr add 10.78.0.2/24 dev veth_b
check late_a wait_for 10 gid_index shca_a 10.78.0.1
check late_b wait_for 10 gid_index shca_b 10.78.0.2
check late_addresses_carry_traffic between_pair \
	ibv_rc_pingpong -c -n 50 -d shca_b -g "$(gid_index shca_b 10.78.0.2)" -- \
	ibv_rc_pingpong -c -n 50 -d shca_a -g "$(gid_index shca_a 10.78.0.1)" ADDRESS
