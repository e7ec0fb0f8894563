#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A call of the uverbs file that does not return: its attributes lie in memory that does
# not come, by FUSE, by userfaultfd, and by a process that is stopped. The RDMA core waits
# for it before the device may go. Nobody else waits: what a container's administrator asks
# for is answered, and on the host each netlink answers, also while a deletion waits.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

modprobe fuse 2>/dev/null
[ -e /dev/fuse ] || skip "no FUSE here"
folder=/tmp/neverfs
mkdir -p $folder

# A network namespace that is owned by a user namespace of nobody's
setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urn sleep 1000 &
container=$!
at_exit kill -KILL $container
in_container() { nsenter -t $container -n "$@"; }
# (its root is nobody outside, and would have no rights as anybody else)
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
as_its_root() { "${nobody[@]}" nsenter -t $container -U -n --preserve-credentials "$@"; }
is_made() { [ "$(readlink /proc/$container/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; }
run wait_for 10 is_made
run ip link add dummy_c type dummy
run ip link set dummy_c netns $container
run in_container ip link set dummy_c up
node_of() {
	local class
	for class in /sys/class/infiniband_verbs/uverbs*; do
		[ "$(cat "$class/ibdev")" != "$1" ] || echo "/dev/infiniband/${class##*/}"
	done
}
has_node() { [ -c "$(node_of shca_c)" ]; }

# answers COMMAND... : it succeeds while the call goes on, which does not end by itself. Its
# time is printed. (A hang does not end by a signal, either.)
answers() {
	"$@" >/tmp/answer 2>&1 &
	local pid=$! start
	start=$(millis)
	while kill -0 $pid 2>/dev/null; do
		[ $(($(millis) - start)) -lt $((20000 * slow)) ] || { cat /proc/$pid/stack; return 1; }
		sleep 0.02
	done
	echo "$*: $(($(millis) - start)) ms"
	wait $pid || { cat /tmp/answer; return 1; }
}
host_answers() {
	check "$1.softhca" answers softhca dev show
	check "$1.generic_netlink" answers genl ctrl list
	check "$1.ethtool" answers ethtool lo
	check "$1.rtnetlink" answers ip link show
	check "$1.rtnetlink_makes" answers ip link add dummy_h type dummy
	check "$1.rtnetlink_deletes" answers ip link delete dummy_h
	check "$1.rdma" answers rdma dev show
	check "$1.rdma_resources" answers rdma resource show
}
said_calling() { grep -q ^calling /tmp/stuck; }
raw=$test_programs/guest/helpers/softhca-netlink.py
device=$(printf 'shca_c\0' | od -An -v -tx1 | tr -d ' \n')

# stuck WAY FILE COMMAND... : from its beginning to its end, which COMMAND brings
stuck() {
	local way=$1 file=$2 pid deletion
	shift 2
	run in_container rdma link add shca_c type softhca netdev dummy_c
	run wait_for 10 has_node
	: >/tmp/stuck
	# (only root may wait with userfaultfd in the kernel)
	local who=(nsenter -t "$container" -n)
	[ "$way" = userfaultfd ] || who=("${nobody[@]}" "${who[@]}" -U --preserve-credentials)
	"${who[@]}" "$test_programs/guest/helpers/stuck-call.py" "$(node_of shca_c)" "$file" >/tmp/stuck 2>&1 &
	pid=$!
	at_exit kill -KILL $pid
	wait_for 10 said_calling || { cat /tmp/stuck; fail "no call"; }
	sleep 0.5
	check "$way.is_stuck" kill -0 $pid
	# A personality by the name x; the helper succeeds if it is refused.
	check "$way.admin_is_refused" answers as_its_root "$raw" 2 "2=$device" 32784=0600020078000000
	check "$way.next_is_taken" answers eval '! as_its_root "$raw" 2 32784=0600020078000000'
	check "$way.tool_names_it" eval "! in_container softhca dev set shca_c personality strict >/tmp/refused 2>&1; cat /tmp/refused; grep -q '($pid)' /tmp/refused"
	host_answers "$way.calling"
	# (A namespace that ends waits for the deletion of any RDMA device, of any driver.)
	rdma link delete shca_c &
	deletion=$!
	sleep 0.5
	host_answers "$way.deleting"
	"$@" $pid
	check "$way.ends" wait_for 10 device_is_gone shca_c
	wait $deletion
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
}
# start_neverfs ANSWERS
start_neverfs() {
	"$test_programs/neverfs" $folder "$@" >/tmp/neverfs.out 2>&1 &
	neverfs=$!
	at_exit kill -KILL $neverfs
	run wait_for 10 grep -q ^mounted /tmp/neverfs.out
}
end_neverfs() { kill -CONT $neverfs; kill $neverfs; wait $neverfs; }

start_neverfs
stuck fuse $folder/file end_neverfs
stuck userfaultfd - kill -KILL
start_neverfs 1000
# (the file is open before, and its page still absent)
exec 9<>$folder/file
# (the end of a process flushes the file, which the file system has now answered for good)
run sleep 0.1
kill -STOP $neverfs
stuck stopped 9 end_neverfs
exec 9>&-
