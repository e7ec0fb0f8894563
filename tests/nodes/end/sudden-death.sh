#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The other machine loses its power in full traffic: what was under way ends in
# RETRY_EXC_ERR, the kernel stays silent, the device goes. Ends node2, so this is
# the last one.
. "$(dirname "$0")/../lib.sh"

said() { grep -q "^$1" /tmp/hold.here; }
# A guest that ends by intention leaves a status (scripts/qemu/vm).
cut_power() {
	# nobody is there to be tidied up
	exit_commands=("rdma link delete shca0")
	on node2 sh -c 'echo 0 >/run/vm/status; echo b >/proc/sysrq-trigger' &
}
is_dead() { ! ping -c 1 -W 1 $ip4_2; }

make_nodes 1500
: >/tmp/hold.there
: >/tmp/hold.here
remote node2 serve "$test_programs/hold" -d shca0 --listen 7471 >/tmp/hold.there 2>&1 &
run wait_for 30 grep -q '^serve: listening' /tmp/hold.there
"$test_programs/hold" -d shca0 --connect $ip4_2:7471 >/tmp/hold.here 2>&1 &
holder=$!
check traffic wait_for 30 said traffic
cut_power
check power_is_cut wait_for 20 is_dead
check peer_gets_retry_exc_err wait_for 20 said 'ended: transport retry counter exceeded'
cat /tmp/hold.here
kill -TERM $holder
check peer_leaves wait $holder
# The calls to node2 wait in vain.
pkill -x ssh
check device_goes rdma link delete shca0
