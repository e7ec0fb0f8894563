#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The other machine removes the module under traffic: it is quick, and the peer
# gets RETRY_EXC_ERR and can go on with the same device afterwards.
. "$(dirname "$0")/../lib.sh"
. "$here/../guest/scenario"

there_is() { on node2 test -e "$1"; }
module_is_gone() { ! there_is /sys/module/softhca && ! there_is /sys/class/infiniband/shca0; }
remove_module() { on node2 rmmod softhca && module_is_gone; }

make_nodes 1500
: >/tmp/hold.there
remote node2 serve "$test_programs/hold" -d shca0 --listen 7471 >/tmp/hold.there 2>&1 &
run wait_for 30 grep -q '^serve: listening' /tmp/hold.there
hold here -d shca0 --connect $ip4_2:7471
check traffic wait_for 30 said here traffic
check rmmod within "${removal_seconds}000" "on node2 rmmod no_such_module; module_is_gone" remove_module
check peer_gets_retry_exc_err wait_for 20 said here 'ended: transport retry counter exceeded'
check peer_leaves released here
on node2 pkill -TERM -x hold
check holder_there_noticed wait_for 20 grep -q '^ended: ' /tmp/hold.there
cat /tmp/hold.there
check node2_comes_back remote node2 make_device 1500 $ip4_2 $ip6_2
check traffic_again between_nodes ibv_rc_pingpong -c -d shca0 -g "$(remote node2 gid_index shca0 $ip4_2)" -n 20 -- \
	ibv_rc_pingpong -c -d shca0 -g "$(gid_index shca0 $ip4_1)" -n 20 $ip4_2
