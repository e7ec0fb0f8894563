# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Helpers for the tests of this folder; a test sources it first:
#
#   . "$(dirname "$0")/../lib.sh"
#
# Two namespaces joined by a veth pair, one softhca device at each end:
#
#   .------- $ns_a -------.             .------- $ns_b -------.
#   |  shca_a on veth_a   |             |   shca_b on veth_b  |
#   |  10.77.0.1/24       | <---------> |        10.77.0.2/24 |
#   |  fd77::1/64         |             |          fd77::2/64 |
#   '---------------------'             '---------------------'
#
# A test is one process; what it makes is removed at its end, whatever the end
# (see at_exit). It reports its parts with `check` or as lines "ok NAME",
# "not ok NAME", "skip NAME # reason"; a test that reports none is judged by its
# exit status (77 = skipped, with the reason as the last line of its output).

set -u
ns_a=shca-a ns_b=shca-b
ip4_a=10.77.0.1 ip4_b=10.77.0.2
ip6_a=fd77::1 ip6_b=fd77::2

# The softhca-tests folder: programs made from tests/userspace/verbs are here.
# shellcheck disable=SC2034
test_programs=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# $slow is how many times as long as on an idle machine one waits for what should come
# anyway. It is measured (slowness), by guest/run before each test, and again where a
# wait is over in vain. Where a time itself is what is tested (within), it is the measure:
# no verdict depends on how busy the machine is. $removal_seconds is all that the removal
# of a device may last on an idle one.
#
# A kernel of ours, with checkers (scripts/qemu/kernel: debug, kcsan), takes some
# times as long as the distribution's for the same, in the kernel and out of it, for
# an emulated guest has no more cores. $checkers is set there, not empty.
checkers='' removal_seconds=1
# shellcheck disable=SC2034 # for the tests
case $(</proc/sys/kernel/osrelease) in
*-softhca-*) checkers=yes removal_seconds=10 ;;
esac
slowness() { "$test_programs/guest/slowness"; }
slow=${SHCA_SLOWNESS:-$(slowness)}
[ -z "$checkers" ] || [ "$slow" -ge 5 ] || slow=5
export SHCA_SLOW=$slow SHCA_CHECKERS=$checkers	# for tests/userspace

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "failed: $*" >&2
	exit 1
}

# run COMMAND... : say it, do it, fail the test where it fails
run() {
	echo "+ $*"
	"$@" || fail "$* (status $?)"
}

# check NAME COMMAND... : one reported part of the test; the test goes on
check() {
	local name=$1 status=0
	shift
	echo "+ $*"
	"$@" || status=$?
	case $status in
	0) echo "ok $name" ;;
	77) echo "skip $name" ;;
	*)
		echo "status $status of: $*"
		echo "not ok $name"
		;;
	esac
	return 0
}

# at_exit COMMAND... : run at the end of the test, the last one given first
exit_commands=()
at_exit() {
	local words
	printf -v words '%q ' "$@"
	exit_commands=("$words" "${exit_commands[@]}")
}
run_exit_commands() {
	local command
	for command in "${exit_commands[@]}"; do eval "$command"; done >/dev/null 2>&1
}
trap run_exit_commands EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# wait_for SECONDS COMMAND... : until COMMAND succeeds; never a bare sleep
wait_for() {
	local seconds=$1 start=$SECONDS
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $((SECONDS - start)) -ge $((seconds * slow)) ] && ! became_slower; then
			echo "waited $((SECONDS - start)) s in vain for: $*" >&2
			return 1
		fi
		nap 0.05
	done
}
# nap SECONDS : as sleep, without a process
exec {never}<> <(:)
nap() { read -r -t "$1" -u "$never" || :; }
became_slower() {
	local now
	now=$(slowness)
	[ "$now" -gt "$slow" ] || return
	echo "the machine takes $now times as long as an idle one"
	export SHCA_SLOW=$now
	slow=$now
}

# refused COMMAND... : it fails. (Not for want of the program, by a signal or a time limit.)
refused() {
	local status=0
	"$@" || status=$?
	# (255 is exit(-1), as of infiniband-diags)
	[ "$status" != 0 ] && { [ "$status" -lt 124 ] || [ "$status" = 255 ]; }
}

# says STATUS TEXT COMMAND... : it ends with that status, and its output, which is in
# /tmp/said then, has the text, if any; says_like: a pattern of grep
says() { has_said contains "$@"; }
says_like() { has_said matches "$@"; }
contains() { [[ $1 == *"$2"* ]]; }
matches() { grep -q -e "$2" <<<"$1"; }
has_said() {
	local how=$1 want=$2 text=$3 status=0 said
	shift 3
	"$@" >/tmp/said 2>&1 || status=$?
	read -r -d '' said </tmp/said
	printf '%s\n' "${said:0:2000}"
	[ "$status" = "$want" ] && { [ -z "$text" ] || "$how" "$said" "$text"; }
}

differs() { [ "$1" != "$2" ]; }
# sum : of the first numbers of all lines
sum() { awk '{ sum += $1 } END { print sum + 0 }'; }
# is_over PID : the process has ended
is_over() { ! kill -0 "$1" 2>/dev/null; }
# set_to FILE TEXT : of sysfs or configfs
set_to() { echo "+ $2 > $1"; echo "$2" >"$1" || fail "$1 refuses $2"; }

in_a() { ip netns exec "$ns_a" "$@"; }
in_b() { ip netns exec "$ns_b" "$@"; }

# as_nobody COMMAND... : without any privilege
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# listening NAMESPACE PORT : somebody accepts TCP connections there ("": the initial one)
listening() { [ -n "$(at "$1" ss -Hltn "sport = :$2")" ]; }

# make_namespaces [MTU] : the picture above, without the devices
make_namespaces() {
	local mtu=${1:-1500}
	at_exit ip netns del "$ns_a"
	at_exit ip netns del "$ns_b"
	run ip netns add "$ns_a"
	run ip netns add "$ns_b"
	run ip link add veth_a mtu "$mtu" netns "$ns_a" type veth peer name veth_b mtu "$mtu" netns "$ns_b"
	run configure "$ns_a" veth_a $ip4_a $ip6_a
	run configure "$ns_b" veth_b $ip4_b $ip6_b
}

# configure NAMESPACE NETDEV IPV4 IPV6 : one process, for every start of one takes
# its time in an emulated guest
configure() {
	ip -n "$1" -batch - <<-END
		addr add $3/24 dev $2
		addr add $4/64 dev $2 nodad
		link set lo up
		link set $2 up
	END
}

# add_device NAME NETDEV [NAMESPACE] : a softhca device, ready for use
add_device() {
	local at=()
	[ $# -lt 3 ] || at=(ip netns exec "$3")
	at_exit rdma link delete "$1"
	run "${at[@]}" rdma link add "$1" type softhca netdev "$2"
	run wait_for 10 port_active "$1"
	run wait_for 10 has_node "$1"
}

# has_node DEVICE : programs can open it. Where a device of that name has just gone, udev
# may take some time to see to both nodes in /dev.
has_node() {
	local device name
	for device in /sys/class/infiniband_verbs/uverbs*; do
		read -r name <"$device/ibdev" && [ "$name" = "$1" ] && [ -c "/dev/infiniband/${device##*/}" ] && return
	done 2>/dev/null
	return 1
}

# attribute DEVICE FILE : what a file of its port says; has: it has the text; becomes: soon
attribute() { cat "/sys/class/infiniband/$1/ports/1/$2"; }
has() { attribute "$1" "$2" | grep -q "$3"; }
becomes() { wait_for 10 has "$@" || { attribute "$1" "$2"; return 1; }; }
# counter DEVICE NAME : of those of our own
counter() { attribute "$1" "hw_counters/$2"; }

# link_delete DEVICE : it returns
link_delete() { timeout $((20 * slow)) rdma link delete "$1"; }

# no_objects KIND DEVICE : of processes (the kernel has a CQ, a PD and a QP for MADs)
no_objects() { ! rdma resource show "$1" dev "$2" | grep -q " pid "; }

# set_netns_mode shared|exclusive : of the RDMA core; only without other namespaces
set_netns_mode() { wait_for 20 rdma system set netns "$1" || { rdma system set netns "$1"; lsns -t net; return 1; }; }
no_namespaces() { ! ip netns list | grep -q .; }

# network [WORD...] : what netem does at both ends of the pair; nothing
network() {
	local end
	for end in a b; do
		tc -n shca-$end qdisc del dev veth_$end root 2>/dev/null
		[ $# = 0 ] || run tc -n shca-$end qdisc add dev veth_$end root netem "$@" limit 20000
	done
}

# scraped : what prometheus-node-exporter tells is in /tmp/scraped
scraped() { python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen("http://127.0.0.1:9100/metrics").read().decode())' >/tmp/scraped; }

# offers EXPECTED WORD... : so softhca completes these words
offers() {
	local expected=$1
	shift
	[ "$(softhca --complete "$@" | sort | paste -sd' ')" = "$expected" ]
}

# raw_netlink ... : by hand, what softhca would never send; hex TEXT : as its attribute
raw_netlink() { in_a "$test_programs/guest/helpers/softhca-netlink.py" "$@"; }
hex() { printf '%s\0' "$1" | od -An -v -tx1 | tr -d ' \n'; }

port_active() {
	local state
	read -r state <"/sys/class/infiniband/$1/ports/1/state" && [[ $state == *ACTIVE ]]
}

# A program in the background has its output emptied by its own shell, at some time. So who
# waits for a word there empties it before: it may still have that of an earlier test.

# watch_events DEVICE [COMMAND...] : from its return on the device's events go to
# /tmp/events. (COMMAND starts it elsewhere.) Its pid is in $watcher.
watch_events() {
	local device=$1
	shift
	: >/tmp/events
	"$@" stdbuf -oL ibv_asyncwatch -d "$device" >/tmp/events 2>&1 &
	watcher=$!
	at_exit kill $watcher
	run wait_for 10 grep -q 'async event FD' /tmp/events
}

# in_order NAMESPACE NETDEV : packets do not overtake each other, whichever CPU sends them.
# Otherwise a veth or lo hands each to the backlog of the CPU that sends it, and on a busy
# machine one backlog is served before the other.
in_order() { ip netns exec "$1" sh -c "echo 1 >/sys/class/net/$2/queues/rx-0/rps_cpus"; }

# make_pair [MTU] : the whole picture
make_pair() {
	make_namespaces "${1:-1500}"
	add_device shca_a veth_a "$ns_a"
	add_device shca_b veth_b "$ns_b"
	run wait_for 10 gid_index shca_a "$ip4_a"
	run wait_for 10 gid_index shca_b "$ip4_b"
	run wait_for 10 gid_index shca_a "$ip6_a"
	run wait_for 10 gid_index shca_b "$ip6_b"
	# For the RDMA core the kernel asks for a neighbour from its link-local address
	# only. For two seconds after the link came up it has none (it looks whether
	# others have it, whatever "nodad" is for), asks nobody, and tries again a second
	# later. That is as long as the RDMA core waits. A ping has an address of its own.
	run wait_for 10 in_a ping -q -c 1 -W 1 "$ip6_b"
}

# gid_index DEVICE ADDRESS : prints the index of the RoCEv2 GID of an address.
# In plain shell: it is asked often, and an interpreter takes a second to start
# in an emulated guest.
gid_index() {
	local port=/sys/class/infiniband/$1/ports/1 wanted gid type file index=-1
	wanted=$(gid_of "$2")
	while file=$port/gids/$((++index)) && [ -e "$file" ]; do
		if read -r gid <"$file" && [ "$gid" = "$wanted" ] &&
			read -r type <"$port/gid_attrs/types/$index" && [[ $type == *v2 ]]; then
			echo "$index"
			return
		fi
	done 2>/dev/null
	return 1
}

# gid_of ADDRESS : the address as sysfs writes a GID, eight groups of four digits
gid_of() {
	local head=$1 tail='' gid='' group groups=() after=()
	case $1 in
	*:*)
		[[ $1 != *::* ]] || { head=${1%%::*} tail=${1#*::}; }
		IFS=: read -ra groups <<<"$head"
		IFS=: read -ra after <<<"$tail"
		while [ $((${#groups[@]} + ${#after[@]})) -lt 8 ]; do groups+=(0); done
		for group in "${groups[@]}" "${after[@]}"; do printf -v gid '%s:%04x' "$gid" "0x$group"; done
		echo "${gid#:}"
		;;
	*)
		# shellcheck disable=SC2086 # four words
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' ${1//./ }
		;;
	esac
}

# perftest_has PROGRAM OPTION : else a part of a test that needs it is skipped (77).
# perftest 6.06 of Debian 12 has neither WRITE with immediate data nor rdma_cm
# over IPv6.
declare -A perftest_options
perftest_has() {
	[ -n "${perftest_options[$*]-}" ] ||
		perftest_options[$*]=$("$1" --help 2>&1 | grep -c -e "$2\\b")
	[ "${perftest_options[$*]}" != 0 ] || { echo "this $1 has no $2"; return 77; }
}

# at NAMESPACE COMMAND... : for subshells; "" is the initial one
at() {
	local where=$1
	shift
	if [ -n "$where" ]; then exec ip netns exec "$where" "$@"; else exec "$@"; fi
}

# between_namespaces SERVER_NAMESPACE CLIENT_NAMESPACE SERVER... -- CLIENT... : a server
# there and its client here; fails where either does
between_namespaces() {
	local at_server=$1 at_client=$2 server_words=() server_log=/tmp/between.$$ server_pid status=0
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		server_words+=("$1")
		shift
	done
	shift
	(at "$at_server" "${server_words[@]}") >"$server_log" 2>&1 &
	server_pid=$!
	wait_for 20 any_listener "$at_server" || status=1
	if [ "$status" = 0 ]; then
		(at "$at_client" "$@") || status=$?
	fi
	if [ "$status" != 0 ]; then kill "$server_pid" 2>/dev/null; fi
	wait "$server_pid" || status=$((status ? status : $?))
	if [ "$status" != 0 ]; then
		echo "server's output:"
		cat "$server_log"
	fi
	rm -f "$server_log"
	return "$status"
}
# (in the initial namespace others may listen: there a server has perftest's port)
any_listener() {
	local which=()
	[ -n "$1" ] || which=("sport = :18515 or sport = :18516")
	[ -n "$(at "$1" ss -Hltn "${which[@]}")" ]
}

# between_pair SERVER... -- CLIENT... : a server in b and its client in a. "ADDRESS" in the
# words stands for b's address.
between_pair() { between_namespaces "$ns_b" "$ns_a" "${@//ADDRESS/$ip4_b}"; }
