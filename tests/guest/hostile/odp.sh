#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What a process without privileges does to on-demand paging is its own affair: floods
# of advice, advice that is waited for, sparse regions in a memory cgroup, and a FUSE
# file system that never answers, no longer, or with errors. Meanwhile another process keeps half of its rate;
# processes, devices, namespaces and the module go in time.
# About 75 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

limit_ms=${removal_seconds}000
load=$test_programs/odp_load

begin() {
	run ip netns add $ns_a
	run in_a ip link set lo up
	run in_a ip link add dummy_a type dummy
	run configure $ns_a dummy_a $ip4_a $ip6_a
	add_device shca_a dummy_a $ns_a
	run wait_for 10 gid_index shca_a $ip4_a
}
at_exit ip netns del $ns_a
begin

# start_as_nobody NAME ARGUMENT... : odp_load in the background, as nice as $nice; its pid is
# in nobody[NAME], its output in /tmp/odp.NAME
declare -A nobody
nice=0
start_as_nobody() {
	local name=$1
	shift
	echo "+ odp_load $* &"
	: >"/tmp/odp.$name"
	nice -n $nice setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$load" "$@" >"/tmp/odp.$name" 2>&1 &
	nobody[$name]=$!
	at_exit kill -KILL $!
}
told() { wait_for 20 grep -q "^$2" "/tmp/odp.$1" || { cat "/tmp/odp.$1"; state_of_devices; return 1; }; }
# What libibverbs says of a device that it cannot open hides the error of the open itself.
state_of_devices() {
	rdma dev
	grep -H . /sys/class/infiniband_verbs/uverbs*/{ibdev,dev}
	ls -l /dev/infiniband
	local node
	for node in /dev/infiniband/uverbs*; do (exec 3<>"$node") && echo "$node opens"; done
	grep softhca /proc/modules
}
killed() { kill -KILL "${nobody[$1]}"; wait "${nobody[$1]}" 2>/dev/null; unset "nobody[$1]"; }
# ends KILLED : in time, but for what another one takes that asks for nothing
ends() {
	start_as_nobody idle shca_a sparse 0
	told idle written && within $limit_ms "killed idle" killed "$1"
}
delete() { rdma link delete shca_a && device_is_gone shca_a; }
namespace() { ip netns del $ns_a && wait_for $removal_seconds device_is_gone shca_a; }

# ---- another process

rate() {
	"$load" shca_a rate 2000 >/tmp/odp.rate 2>&1 || { cat /tmp/odp.rate; return 1; }
	sed -n 's/^rate //p' /tmp/odp.rate
}
# now_beside : sets beside, the rate beside what goes on (the best of some: the machine
# does other things, too)
now_beside() {
	local now
	beside=0
	for _ in 1 2 3; do
		now=$(timeout $((20 * slow)) "$load" shca_a rate 2000 | sed -n 's/^rate //p')
		echo "rate: $idle idle, ${now:-none} beside"
		[ "${now:-0}" -le "$beside" ] || beside=$now
		[ $((beside * 2)) -lt "$idle" ] || return 0
	done
}
# When that has ended: was it half of the idle rate? If not, the machine may have become
# slower meanwhile: so that is measured again.
rate_was_kept() {
	[ $((beside * 2)) -lt "$idle" ] || return 0
	idle=$(rate) || return
	echo "rate: $idle idle now, $beside beside"
	[ $((beside * 2)) -ge "$idle" ]
}
idle=$(rate) || fail "no rate: $idle"

# ---- floods of advice

# (With checkers a call takes 1.7 s on a busy machine, and each as long as the one before.)
calls=173
[ -z "$checkers" ] || calls=40
start_as_nobody flood shca_a flood $calls
check flood.is_taken told flood flooded
now_beside
check flood.process_ends ends flood
check flood.others_keep_their_rate rate_was_kept

start_as_nobody flood shca_a flood 20
check flood.again told flood flooded
check flood.link_delete within $limit_ms "rdma link show" delete
killed flood
add_device shca_a dummy_a $ns_a
run wait_for 10 gid_index shca_a $ip4_a

start_as_nobody flush shca_a flush 4000
check flush.begins told flush flushing
check flush.process_ends ends flush
start_as_nobody flush shca_a flush 4000
check flush.begins_again told flush flushing
check flush.link_delete within $limit_ms "rdma link show" delete
check flush.learns_of_it told flush 'flushed 5$'
killed flush
add_device shca_a dummy_a $ns_a
run wait_for 10 gid_index shca_a $ip4_a

# ---- who takes a page waits for one packet

# With BH off a reader passes a writer that waits. So traffic held up madvise(), fork() and
# kswapd for seconds. A page elsewhere shows what the machine does, which is busy.
forgets() {
	local mean elsewhere
	timeout $((60 * slow)) "$load" shca_a forget 7 >/tmp/odp.forget 2>&1
	cat /tmp/odp.forget
	read -r _ mean _ < <(grep ^forgotten /tmp/odp.forget) && read -r _ elsewhere _ < <(grep ^elsewhere /tmp/odp.forget) &&
		[ "$mean" -le $((4 * elsewhere + 20000)) ]
}
check forget.does_not_starve forgets

# ---- a fault that never ends

modprobe fuse 2>/dev/null
folder=/tmp/neverfs
mkdir -p $folder
# start_neverfs [N [ERRNO]] : N pages do come; or fail
start_neverfs() {
	: >/tmp/odp.neverfs
	"$test_programs/neverfs" $folder "$@" >/tmp/odp.neverfs 2>&1 &
	neverfs=$!
	at_exit kill $neverfs
	run told neverfs mounted
}
end_neverfs() { kill $neverfs; wait $neverfs; }
# worker_is_nice N : a pager's worker that is busy is (field 19 of its stat; the
# first two are cut off, for a name may have spaces)
worker_is_nice() {
	local pid fields
	while IFS=/ read -r _ _ pid _; do
		read -r -a fields < <(sed 's/.*) //' "/proc/$pid/stat")
		echo "$pid: nice ${fields[16]}"
		[ "${fields[16]}" != "$1" ] || return 0
	done < <(grep -l '^kworker.*+softhca_pager' /proc/[0-9]*/comm)
	return 1
}
rmmod_refused() { ! rmmod softhca && ! device_is_gone shca_a; }

if [ -e /dev/fuse ]; then
	# It answers at first: faults have ended before, and one request has half of its pages.
	start_neverfs 3
	nice=7
	start_as_nobody late shca_a late $folder/file
	nice=0
	check late.begins told late faulting
	check late.hangs_then told neverfs reading
	check late.worker_is_as_nice worker_is_nice 7
	now_beside
	check late.process_ends ends late
	end_neverfs
	check late.others_keep_their_rate rate_was_kept
	start_neverfs 3
	start_as_nobody late shca_a late $folder/file
	check late.again told late faulting
	sleep 0.5
	check late.link_delete within $limit_ms "rdma link show" delete
	killed late
	end_neverfs
	add_device shca_a dummy_a $ns_a
	run wait_for 10 gid_index shca_a $ip4_a

	# A page that cannot be read is an error of the access. And in no try does a worker
	# wait with the lock of the address space: not in the last one, either.
	start_neverfs 100000 5
	start_as_nobody fails shca_a fault $folder/file
	check fails.is_an_error told fails 'completed remote access error'
	killed fails
	end_neverfs
	tries=$(grep -c '^failed' /tmp/odp.neverfs)
	echo "tries: $tries"
	for end in process_ends link_delete; do
		start_neverfs $((tries - 1)) 5
		start_as_nobody fails shca_a fault $folder/file
		check fails.hangs_then_$end told neverfs reading
		kill -USR1 "${nobody[fails]}"
		check fails.changes_before_$end told fails changed
		case $end in
		process_ends) check fails.process_ends ends fails ;;
		link_delete) check fails.link_delete within $limit_ms "rdma link show" delete ;;
		esac
		end_neverfs
	done
	killed fails
	add_device shca_a dummy_a $ns_a
	run wait_for 10 gid_index shca_a $ip4_a

	# Processes that leave such a fault behind them, one after the other.
	start_neverfs
	start_as_nobody orphans shca_a orphans $folder/file
	check orphans.are_refused told orphans 'refused 11$'
	others_register() { rate >/dev/null; }
	check orphans.others_register others_register
	end_neverfs
	# (once the workers have ended, which takes them a moment)
	again() {
		start_as_nobody again shca_a sparse 0
		wait_for 10 eval 'grep -q ^written /tmp/odp.again || ! kill -0 "${nobody[again]}"'
		killed again
		grep -q ^written /tmp/odp.again
	}
	check orphans.register_again wait_for 20 again
	check orphans.process_ends ends orphans

	start_neverfs
	start_as_nobody fault shca_a fault $folder/file
	check never.begins told neverfs reading
	start_as_nobody advice shca_a advise $folder/file
	check never.advice_begins told advice flushing
	now_beside
	check never.rmmod_is_refused within $limit_ms "rmmod no_such_module" rmmod_refused
	check never.process_ends ends fault
	check never.waiting_process_ends ends advice
	check never.others_keep_their_rate rate_was_kept
	start_as_nobody fault shca_a fault $folder/file
	start_as_nobody advice shca_a advise $folder/file
	check never.again told fault faulting
	check never.advice_again told advice flushing
	sleep 0.5
	check never.link_delete within $limit_ms "rdma link show" delete
	check never.advice_learns_of_it told advice 'flushed 5$'
	killed fault
	killed advice
	add_device shca_a dummy_a $ns_a
	run wait_for 10 gid_index shca_a $ip4_a
	start_as_nobody fault shca_a fault $folder/file
	check never.once_more told fault faulting
	sleep 0.5
	check never.namespace_delete within $limit_ms "ip netns list" namespace
	killed fault
	end_neverfs
	check never.rmmod_after_its_end within $limit_ms "rmmod no_such_module" timeout $((20 * slow)) bash -c \
		"until rmmod softhca 2>/dev/null; do sleep 0.02; done"
	run modprobe softhca
	begin
else
	echo "skip never # no FUSE here"
fi

# ---- whose memory it is

root=/tmp/cgroup2
mkdir -p $root
mountpoint -q $root || { run mount -t cgroup2 none $root && at_exit umount $root; }
if grep -qw memory $root/cgroup.controllers; then
	echo +memory >$root/cgroup.subtree_control
	group=$root/softhca
	run mkdir $group
	at_exit rmdir $group
	echo $((60 << 20)) >$group/memory.max
	echo 0 >$group/memory.swap.max 2>/dev/null
	unreclaimable() { echo $(($(sed -n 's/^SUnreclaim: *\([0-9]*\) kB/\1/p' /proc/meminfo) - $(sed -n 's/^slab_unreclaimable //p' "$group/memory.stat") / 1024)); }
	in_group() {
		: >/tmp/odp.sparse
		# shellcheck disable=SC2016 # the inner shell's
		bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - $group "$load" shca_a sparse 1000 >/tmp/odp.sparse 2>&1 &
		nobody[sparse]=$!
		at_exit kill -KILL $!
	}
	nobodys() {
		local kb=$(($(unreclaimable) - before))
		echo "charged to nobody: $kb KB of $(($(sed -n 's/^slab_unreclaimable //p' "$group/memory.stat") / 1024)) KB"
		[ $kb -le 1024 ]
	}
	rate >/dev/null # (what is made once)
	before=$(unreclaimable)
	in_group
	check memory.sparse told sparse written
	# (checkers keep records of every allocation, which are nobody's)
	[ "$slow" != 1 ] || check memory.is_the_process_s nobodys
	nobody_killed() { grep -q '^oom_kill 0' "$group/memory.events"; }
	check memory.nobody_is_killed nobody_killed
	killed sparse
else
	echo "skip memory # no memory controller for cgroup v2 here"
fi
