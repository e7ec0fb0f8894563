#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Why a verb or `rdma link add` is refused: the trace event shca_refused and the debug
# line say it for the mistakes that beginners make, the kernel's log for the command.
. "$(dirname "$0")/../lib.sh"

tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing || skip "this kernel has no tracefs"
make_pair 1500
at_exit eval "echo 0 >$tracing/events/softhca/enable"
run eval "echo 1 >$tracing/events/softhca/shca_refused/enable"
[ ! -e /proc/dynamic_debug/control ] || run eval "echo 'module softhca +p' >/proc/dynamic_debug/control"

# Mistakes by name: what the trace says then.
"$test_programs/guest/helpers/mistakes.py" shca_a "$(gid_index shca_a $ip4_a)" >/tmp/refusals || fail "the mistakes"
cat /tmp/refusals
traced() { grep "^$1: .*$2" /tmp/refusals; }
check trace.path_mtu traced mtu active_mtu
check trace.change_of_state traced state 'invalid state transition'
check trace.ring_too_long traced requests max_qp_wr
check trace.too_many_segments traced segments max_sge
if [ -e /proc/dynamic_debug/control ]; then
	check debug_line eval "dmesg | grep 'shca_a.*path_mtu is larger'"
	run eval "echo 'module softhca -p' >/proc/dynamic_debug/control"
fi

# link_refused NAME NETDEV WORDS : rdma link add fails, and the log has the words
link_refused() {
	echo "softhca-test: refused $1 $2" >/dev/kmsg
	! rdma link add "$1" type softhca netdev "$2" || return
	dmesg | sed -n "/softhca-test: refused $1 $2\$/,\$p" | grep "softhca: .*$3"
}
run ip link add shca_v type veth peer name shca_w
at_exit ip link del shca_v
run ip link add link shca_v name shca_v.5 type vlan id 5
check log.name_is_taken link_refused shca_a shca_v 'the name is in use'
check log.vlan link_refused shca_x shca_v.5 'attach to its parent'
run ip link add shca_ipip type ipip local 10.1.1.1 remote 10.1.1.2
at_exit ip link del shca_ipip
check log.no_ethernet link_refused shca_x shca_ipip 'not an Ethernet device'
