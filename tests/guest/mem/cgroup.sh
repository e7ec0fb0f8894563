#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Rings count against the memory cgroup of who makes them: where it is full, the
# next one is refused with ENOMEM, nobody is killed, and nothing stays charged.
# About 10 s.
#
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

root=/tmp/cgroup2
mkdir -p $root
run mount -t cgroup2 none $root
at_exit umount $root
grep -qw memory $root/cgroup.controllers || skip "no memory controller for cgroup v2 here"
echo +memory >$root/cgroup.subtree_control
group=$root/softhca
run mkdir $group
at_exit rmdir $group

at_exit ip netns del $ns_a
run ip netns add $ns_a
run in_a ip link set lo up
add_device shca_a lo $ns_a
run wait_for 10 gid_index shca_a 127.0.0.1

mib() { echo $(($(cat "$group/$1") >> 20)); }
run test "$(mib memory.current)" = 0
echo $((48 << 20)) >$group/memory.max
echo 0 >$group/memory.swap.max 2>/dev/null
in_group() {
	bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - $group "$@" >/tmp/in_group 2>&1
	local status=$?
	cat /tmp/in_group
	return $status
}
# (the program's own lines would be counted as tests)
full_cgroup_refuses() { in_group "$test_programs/limits" -d shca_a -f 4 full_cgroup_refuses | sed 's/^/  /'; return "${PIPESTATUS[0]}"; }
check full_cgroup_refuses full_cgroup_refuses
charged() { echo "peak: $(mib memory.peak) MiB"; [ "$(mib memory.peak)" -ge 40 ]; }
[ ! -e $group/memory.peak ] || check rings_are_charged charged
nobody_killed() { cat $group/memory.events; grep -q '^oom_kill 0' $group/memory.events; }
check nobody_is_killed nobody_killed
uncharged() { [ "$(mib memory.current)" -le 2 ]; }
check nothing_stays_charged wait_for 10 uncharged
