#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Several programs at once on the same pair of devices, for SECONDS_OF_TRAFFIC
# (20; five times that on a kernel with checkers): RC, UC and UD, four and more
# processes at each end, one of them with many QPs, and a pair with checked data that
# comes and goes meanwhile. All succeed, and nothing is left over.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"

duration=${SECONDS_OF_TRAFFIC:-${SHCA_SOAK:+120}}
duration=$((${duration:-20} * ${checkers:+5*}1))

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
# A dozen programs poll and share the CPUs with what receives (on 6.1 with softirqs,
# too, which wait for ksoftirqd once it runs), and perhaps with another machine: one
# that waits for its turn has lost nothing, so time-outs are long (1 s, eight times).
patience=(-u 18)

# both_ends NAME PORT COMMAND... : starts them
both_ends() {
	local name=$1 port=$2
	shift 2
	ip netns exec $ns_b timeout $(((duration + 60) * slow)) "$@" "${patience[@]}" -F -D "$duration" -p "$port" \
		-d shca_b -x "$gid_b" >"/tmp/crowd.$name.b" 2>&1 &
	pid_b[$name]=$!
	wait_for 60 listening $ns_b "$port" || return 1
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

running() {
	local name
	for name in "${!programs[@]}"; do kill -0 "${pid_a[$name]}" && return; done 2>/dev/null
	return 1
}
# A pair with checked data comes and goes, until the long ones end: how often
# is this machine's affair, and where it is very slow the long ones have ended
# before the first.
short_ones() {
	local done=0
	while [ $done = 0 ] || running; do
		timeout $((120 * slow)) "$test_programs/traffic" -d shca_a -p shca_b -q rc "${patience[@]}" -n 10 \
			>/tmp/crowd.traffic 2>&1 || { cat /tmp/crowd.traffic; return 1; }
		done=$((done + 1))
	done
	cat /tmp/crowd.traffic
	echo "$done times"
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
check short_ones short_ones
for name in "${!programs[@]}"; do check "$name" ended "$name"; done
check nothing_left wait_for 5 nothing_left
