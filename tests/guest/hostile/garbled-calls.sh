#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# Programs whose calls of the uverbs file are repeated garbled (tests/userspace/garble),
# without privileges, and garbled requests of netlink beside them: verified traffic of
# others goes on, nothing is left of them, the device can be removed, and the kernel says
# nothing. About 40 s; SHCA_SOAK: 30 minutes.
#
# SHCA_SEED=N repeats a run as far as threads allow. FUZZ_RXE=1 does the same to
# Soft-RoCE, which tells whose a defect is; GARBLE_LOG=FILE names the last calls.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../leaks"

seconds=${FUZZ_SECONDS:-20}
[ -z "${SHCA_SOAK-}" ] || seconds=1800
seed=${SHCA_SEED:-$RANDOM$RANDOM}
programs="objects qp_states cq_events rc_data rc_errors ud xrc atomics windows regions odp dm
	dmabuf domains rss tag_matching queue_events qp_ex cq_ex cq_size import stream flush
	limits mcast caps pkey"
programs=${FUZZ_PROGRAMS:-$programs}
garbled_shell="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"

if [ -n "${FUZZ_RXE-}" ]; then
	modprobe rdma_rxe
	run rdma link add shca_a type rxe netdev lo
	at_exit rdma link delete shca_a
	run wait_for 10 port_active shca_a
else
	make_pair 1500
	start_traffic wire shca_a shca_b
fi
chmod a+rw /dev/infiniband/uverbs*

# What garbled calls create counts against a memory cgroup, as it would of any user.
group=/tmp/cgroup2/garble
mkdir -p /tmp/cgroup2
if mount -t cgroup2 none /tmp/cgroup2 2>/dev/null && echo +memory >/tmp/cgroup2/cgroup.subtree_control &&
	mkdir -p $group; then
	echo $((512 << 20)) >$group/memory.max
	at_exit umount /tmp/cgroup2
	at_exit rmdir $group
else
	group=
fi

counts=/tmp/garble.counts
truncate -s 4096 $counts
chmod a+rw $counts
# What the RDMA core leaks of a context would be found at the guest's end, or not.
[ ! -w $kmemleak ] || export GARBLE_NO_CONTEXT=1

# garbled SEED COMMAND... : what becomes of it does not matter
garbled() {
	local env=(GARBLE_SEED="$1" GARBLE_COUNT="$counts" LD_PRELOAD="$test_programs/garble.so")
	shift
	# shellcheck disable=SC2086 # several words
	(
		[ -z "$group" ] || echo "$BASHPID" >$group/cgroup.procs
		exec prlimit --memlock=$((64 << 20)) --core=0 \
			timeout -s KILL $((4 * slow)) $garbled_shell env "${env[@]}" "$@"
	)
} >/dev/null 2>&1

# one WORKER : programs one after the other, until the time is over
one() {
	local list word n=0 random=$((seed + $1))
	read -r -d '' -a list <<<"$programs"
	while [ "$SECONDS" -lt "$end" ]; do
		random=$(((random * 1103515245 + 12345) & 0x7fffffff))
		word=${list[random / 64 % ${#list[@]}]}
		[ -z "${FUZZ_VERBOSE-}" ] || echo "# $1: GARBLE_SEED=$((seed * 1000 + n * 2 + $1)) $word"
		garbled $((seed * 1000 + n * 2 + $1)) "$test_programs/$word" -d shca_a
		n=$((n + 1))
	done
	echo "# $n programs with garbled copies"
}

echo "# SHCA_SEED=$seed"
end=$((SECONDS + seconds))
$garbled_shell "$test_programs/garble_netlink" -s "$seed" -t "$seconds" >/tmp/netlink.garbled 2>&1 &
netlink=$!
at_exit kill -KILL $netlink
one 0 &
first=$!
one 1
wait $first

# Most are refused, but not all, and not all in the same way.
calls_were_garbled() {
	local numbers error kinds=''
	read -r -d '' -a numbers < <(od -A n -t d8 -v $counts; echo; printf '\0')
	for error in {1..133}; do
		[ "${numbers[error + 2]}" = 0 ] || kinds+=" $error:${numbers[error + 2]}"
	done
	echo "${numbers[0]} calls, ${numbers[1]} done; refused by errno:$kinds"
	[ "${numbers[0]}" -gt 1000 ] && [ "${numbers[1]}" -gt 100 ] && [ "$(wc -w <<<"$kinds")" -ge 8 ]
}
check calls_were_garbled calls_were_garbled

netlink_went_on() {
	local status=0
	wait $netlink || status=$?
	cat /tmp/netlink.garbled
	return $status
}
check netlink_went_on netlink_went_on
nobody() { ! pgrep -u 65534; }
check processes_can_be_killed wait_for 20 nobody
if [ -z "${FUZZ_RXE-}" ]; then
	check traffic_goes_on traffic_is_alive wire
	check traffic_is_right end_traffic wire
fi
for kind in qp cq mr pd srq ctx; do check "no_${kind}_is_left" wait_for 10 no_objects $kind shca_a; done
works() { "$test_programs/objects" -d shca_a refused_destroy_leaves create_and_destroy | sed 's/^/  /'; return "${PIPESTATUS[0]}"; }
[ -n "${FUZZ_RXE-}" ] || check device_works works
check device_goes rdma link delete shca_a
# (another call may become GET_CONTEXT while the kernel reads it)
[ ! -w $kmemleak ] || check nothing_else_leaks only_leaks "$leaks_of_get_context"
