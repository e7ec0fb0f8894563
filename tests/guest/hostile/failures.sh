#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 600
# kernels: debug
#
# Each verb with each of its allocations and copies failing, one at a time (failures and
# failures_netlink of tests/userspace/verbs/hostile), then at random under garbled calls
# (hostile/garbled-calls), and nothing leaks but what the RDMA core is known to leak.
# SHCA_SOAK: half an hour of the second.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../leaks"

debug=/sys/kernel/debug
mountpoint -q $debug || run mount -t debugfs none $debug
for kind in failslab fail_page_alloc fail_usercopy; do
	[ -d $debug/$kind ] || skip "this kernel injects no failures ($kind)"
done

# set_all FILE VALUE : of each kind of failure that has it
set_all() {
	local kind
	for kind in failslab fail_page_alloc fail_usercopy; do
		[ ! -e "$debug/$kind/$1" ] || echo "$2" >"$debug/$kind/$1"
	done
}
set_all verbose 0
set_all ignore-gfp-wait N
set_all ignore-gfp-highmem N
set_all min-order 0

make_pair 1500

# between FILE FIRST LAST : only, or never, where the stack has an address of these
between() { set_all "$1-start" "$2" && set_all "$1-end" "$3"; }
anywhere() { between require 0 0xffffffffffffffff && between reject 0 0; }
# text_of FUNCTION : sets first and last, of the kernel's
text_of() {
	first=$(sed -n "s/^\([0-9a-f]*\) [tT] $1\([[:space:]].*\)*\$/\1/p" /proc/kallsyms | head -n 1)
	last=$(sed -n 's/^\([0-9a-f]*\) [tT] .*/\1/p' /proc/kallsyms | sort -u | grep -A 1 "^$first" | tail -n 1)
	[ -n "$first" ] && [ "$first" != "$last" ] && first=0x$first last=0x$last
}
# in_module : only what is ours, and what it calls
in_module() {
	local start size
	start=0x$(grep '\[softhca\]$' /proc/kallsyms | grep -i ' t ' | sort | head -n 1 | cut -d ' ' -f 1)
	size=$(sed -n 's/^softhca \([0-9]*\) .*/\1/p' /proc/modules)
	between require "$start" "$(printf '0x%x' $((start + size)))"
}
# not_in FUNCTION : nothing that it does
not_in() { text_of "$1" && between reject "$first" "$last"; }

run ip link add dummy_f type dummy
at_exit ip link del dummy_f
run ip link set dummy_f up
# Three places outside of softhca fail badly: the RDMA core where it registers a device;
# where it makes an XRC target, whose domain stays in use for good; and dma_buf_vmap(),
# which warns of an exporter that has no memory.
run in_module
run not_in ib_register_device
NETDEV=dummy_f verbs link failures_netlink add_link
run anywhere
run in_module
verbs verb failures -d shca_a create_xrc_recv
run anywhere
run not_in dma_buf_vmap
verbs verb failures -d shca_a reg_dmabuf_mr
run anywhere
verbs verb failures -d shca_a -x reg_dmabuf_mr,create_xrc_recv
in_a "$test_programs/failures_netlink" -d shca_a settings

# Programs of which now and then something fails, garbled besides: nothing is asked of
# them but that they end, and nothing is left.
run not_in ib_create_qp_user
set_all task-filter Y
set_all times -1
set_all probability "${FAIL_PERCENT:-2}"
seed=${SHCA_SEED:-$RANDOM$RANDOM}
echo "# SHCA_SEED=$seed"
# unlucky PROGRAM SEED
unlucky() {
	(
		echo 1 >/proc/self/make-it-fail
		exec env GARBLE_SEED="$2" LD_PRELOAD="$test_programs/garble.so" \
			timeout -s KILL $((4 * slow)) "$test_programs/$1" -d shca_a
	)
} >/dev/null 2>&1
round=0
end=$((SECONDS + 60))
[ -z "${SHCA_SOAK-}" ] || end=$((SECONDS + 1800))
while [ "$SECONDS" -lt $end ]; do
	for program in objects qp_states windows regions xrc rss tag_matching dm odp queue_events ud rc_data; do
		[ "$SECONDS" -lt $end ] || break
		unlucky $program $((seed + round))
		round=$((round + 1))
	done
done
echo "# $round programs with failures"
set_all probability 0
for kind in qp cq mr pd srq ctx; do check "no_${kind}_is_left" wait_for 10 no_objects $kind shca_a; done
works() { "$test_programs/objects" -d shca_a refused_destroy_leaves create_and_destroy | sed 's/^/  /'; return "${PIPESTATUS[0]}"; }
check device_works works
leaks_are_looked_for() { ! dmesg | grep -q 'memory leak detector disabled'; }
check leaks_are_looked_for leaks_are_looked_for
check device_goes rdma link delete shca_a

# The RDMA core leaks, when it has no memory, one of the two arrays of
# flow_resources_alloc(), and what GET_CONTEXT holds.
check nothing_else_leaks only_leaks "flow_resources_alloc|$leaks_of_get_context"
