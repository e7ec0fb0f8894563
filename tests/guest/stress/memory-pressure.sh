#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# On-demand regions while memory is swapped, merged (KSM), made of huge pages and
# compacted: their contents are verified all the time (tests/userspace/verbs/mem/odp_pressure).
#
# PRESSURE_SECONDS (make soak: 600, else 15, and with checkers 60)
# timeout: 240
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

export ODP_SECONDS=${PRESSURE_SECONDS:-${SHCA_SOAK:+600}}
export ODP_SECONDS=${ODP_SECONDS:-${checkers:+60}}
export ODP_SECONDS=${ODP_SECONDS:-15}
mm=/sys/kernel/mm

make_pair 9000
# swap: compressed memory where the kernel has it, else a file in memory
if modprobe zram 2>/dev/null && [ -w /sys/block/zram0/disksize ]; then
	at_exit modprobe -r zram
	run eval "echo 512M >/sys/block/zram0/disksize"
	swap=/dev/zram0
else
	run truncate -s 256M /tmp/swap
	swap=$(losetup --find --show /tmp/swap) || skip "no device to swap to"
	at_exit losetup -d "$swap"
fi
run mkswap -q "$swap"
run swapon "$swap"
at_exit swapoff "$swap"
if [ -w $mm/ksm/run ]; then
	at_exit eval "echo 2 >$mm/ksm/run"
	run eval "echo 1 >$mm/ksm/run; echo 5000 >$mm/ksm/pages_to_scan; echo 20 >$mm/ksm/sleep_millisecs"
fi
[ ! -w $mm/transparent_hugepage/khugepaged/scan_sleep_millisecs ] ||
	run eval "echo 100 >$mm/transparent_hugepage/khugepaged/scan_sleep_millisecs"
# less memory than the region has, so that it is swapped by itself, too
group=/sys/fs/cgroup/pressure
if echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
	at_exit rmdir $group
	run mkdir -p $group
	run eval "echo 24M >$group/memory.high"
fi
compacts() { while sleep 0.5; do echo 1 >/proc/sys/vm/compact_memory; done; }
compacts &
at_exit kill -KILL $!
vm_event() { sed -n "s/^$1 //p" /proc/vmstat; }
out=$(vm_event pswpout) back=$(vm_event pswpin) split=$(vm_event thp_split_page) merged=0

(
	[ ! -d $group ] || echo $BASHPID >$group/cgroup.procs
	verbs pressure odp_pressure -d shca_a -p shca_b -f 4
) &
pid=$!
while kill -0 $pid 2>/dev/null; do
	sleep 1
	[ ! -r $mm/ksm/pages_sharing ] || now=$(<$mm/ksm/pages_sharing)
	[ "${now-0}" -le "$merged" ] || merged=$now
done
wait $pid
# that it was there what was to be tested
echo "swapped out $(($(vm_event pswpout) - out)), in $(($(vm_event pswpin) - back)), merged at most $merged, split $(($(vm_event thp_split_page) - split))"
check pressure.swapped_out [ "$(vm_event pswpout)" -gt "$out" ]
check pressure.swapped_in [ "$(vm_event pswpin)" -gt "$back" ]
[ ! -r $mm/ksm/run ] || check pressure.merged [ "$merged" -gt 0 ]
