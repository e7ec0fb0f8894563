#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Several programs at once on the same pair of devices, for SECONDS_OF_TRAFFIC
# (20; five times that on a kernel with checkers): RC, UC and UD, four and more
# processes at each end, one of them with many QPs, and pingpongs with checked data
# that come and go meanwhile. All succeed, and nothing is left over.
#
# timeout: 180
. "$(dirname "$0")/lib.sh"

duration=${SECONDS_OF_TRAFFIC:-${SHCA_SOAK:+120}}
duration=$((${duration:-20} * slow))

# perftest's programs by name; each pair has a TCP port of its own
declare -A programs=(
	[write_rc]="ib_write_bw -s 65536 -q 4"
	[read_rc]="ib_read_bw -s 65536"
	[send_rc]="ib_send_bw -s 4096 -q 16 -b"
	[send_uc]="ib_send_bw -c UC -s 8192"
	[send_ud]="ib_send_bw -c UD -s 1024"
	[atomic_rc]="ib_atomic_bw"
)
declare -A pid_a pid_b
# On 6.1 softirqs wait for ksoftirqd once it runs, which has to share the CPUs
# with a dozen programs that poll, and with checkers all of them take several times
# as long: time-outs are longer then.
patience=()
[[ $slow = 1 && $(uname -r) != 6.1.* ]] || patience=(-u 18)

# both_ends NAME PORT COMMAND... : starts them
both_ends() {
	local name=$1 port=$2
	shift 2
	ip netns exec $ns_b timeout $(((duration + 60) * slow)) "$@" "${patience[@]}" -F -D "$duration" -p "$port" \
		-d shca_b -x "$gid_b" >"/tmp/crowd.$name.b" 2>&1 &
	pid_b[$name]=$!
	wait_for 20 listening $ns_b "$port" || return 1
	ip netns exec $ns_a timeout $(((duration + 60) * slow)) "$@" "${patience[@]}" -F -D "$duration" -p "$port" \
		-d shca_a -x "$gid_a" $ip4_b >"/tmp/crowd.$name.a" 2>&1 &
	pid_a[$name]=$!
}

# ended NAME : both have succeeded, and the client's line says that data went
ended() {
	local status=0
	wait "${pid_a[$1]}" || status=$?
	wait "${pid_b[$1]}" || status=$((status ? status : $?))
	# size, number of exchanges; then figures that are 0 where perftest could not
	# find the speed of its clock, as on a busy emulated machine
	awk '$1 ~ /^[0-9]+$/ && $2 > 0 { print; good = 1 } END { exit !good }' \
		"/tmp/crowd.$1.a" || status=1
	[ "$status" = 0 ] || cat "/tmp/crowd.$1.b" "/tmp/crowd.$1.a"
	return "$status"
}

running() { kill -0 "${pid_a[write_rc]}" 2>/dev/null; }
pingpong() {
	local pid status=0 words=(timeout $((60 * slow)) ibv_rc_pingpong -p 18600 -c -n 50 -s 10000)
	ip netns exec $ns_b "${words[@]}" -d shca_b -g "$gid_b" &
	pid=$!
	wait_for 20 listening $ns_b 18600 || return 1
	in_a "${words[@]}" -d shca_a -g "$gid_a" $ip4_b || status=$?
	[ "$status" = 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || status=$((status ? status : $?))
	return "$status"
}
# pingpongs, until the long ones end: how many is this machine's affair
pingpongs() {
	local done=0
	while running; do
		pingpong >/tmp/crowd.pingpong 2>&1 || { cat /tmp/crowd.pingpong; return 1; }
		done=$((done + 1))
	done
	echo "$done pingpongs meanwhile"
	[ $done -gt 0 ]
}
nothing_left() { ! rdma resource show qp | grep -q 'type [RU][CD]'; }

make_pair 9000
gid_a=$(gid_index shca_a $ip4_a)
gid_b=$(gid_index shca_b $ip4_b)
port=18515
for name in "${!programs[@]}"; do
	# shellcheck disable=SC2086 # several words
	both_ends "$name" $((port++)) ${programs[$name]} || fail "no server: $name"
done
check pingpongs pingpongs
for name in "${!programs[@]}"; do check "$name" ended "$name"; done
check nothing_left wait_for 5 nothing_left
