#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# perftest as a table of combinations (perftest-table tells which): operation,
# transport, size, MTU, GID family, events, QPs, SRQ, direction, rdma_cm. In
# make check the first rows of the pairwise table, in make soak the table and
# then every valid combination (thousands), but for kernels with checkers, where it
# would take days. ROWS=short|pairs|all overrides that.
#
# Rows take about 3 s each in an emulated guest, so that the product of them takes
# five hours; its limit in make soak is ten (twenty times this).
#
# timeout: 1800
. "$(dirname "$0")/lib.sh"

tables=${ROWS:-${SHCA_SOAK:+pairs}}
[ -n "$checkers" ] || tables=${ROWS:-${SHCA_SOAK:+pairs all}}
log=/tmp/perftest

# row NAME MTU FAMILY CONNECT PROGRAM OPTION... : the server in b, the client in a
row() {
	local mtu=$2 family=$3 connect=$4 server=() client=() to pid status=0
	set_mtu "$mtu" || return
	[[ " $* " != *" --write_with_imm "* ]] || perftest_has "$5" --write_with_imm || return
	[ "$connect.$family" != cm.6 ] || perftest_has "$5" --ipv6-addr || return
	# the perftest without this option hangs in the exchange of addresses, on
	# every kernel
	[[ "$connect $*" != "cm "*" -c UD "*"-b" ]] || perftest_has "$5" --ipv6-addr || return
	shift 4
	if [ "$connect" = cm ]; then
		server=(-R) client=(-R) to=${address[$family]}
		[ "$family" = 4 ] || server+=(--ipv6-addr) client+=(--ipv6-addr)
	else
		server=(-x "${gid_b[$family]}") client=(-x "${gid_a[$family]}") to=$ip4_b
	fi
	ip netns exec $ns_b timeout $((60 * slow)) "$@" -d shca_b "${server[@]}" >$log.b 2>&1 &
	pid=$!
	wait_for 20 "listens_$connect" || status=1
	if [ "$status" = 0 ]; then
		in_a timeout $((60 * slow)) "$@" -d shca_a "${client[@]}" "$to" >$log.a 2>&1 || status=$?
	fi
	[ "$status" = 0 ] || kill "$pid" 2>/dev/null
	wait "$pid" || status=$((status ? status : $?))
	# the client's line of results: the size, then the number of exchanges
	[ "$status" != 0 ] || grep -E '^ *[0-9]+ +[0-9]+ +[0-9]' $log.a || status=1
	[ "$status" = 0 ] || { echo "server:"; cat $log.b; echo "client:"; cat $log.a; }
	return "$status"
}
# A datagram that a busy machine has lost is lost, and so is a message of UC; perftest
# then waits for it until its time is over. A row of these may be tried again, a few
# in a table: what loses them always, or often, is seen.
repeats=0
row_or_again() {
	local status=0	# 124: it has waited in vain
	row "$@" || status=$?
	[[ $status = 124 && " $* " =~ " -c U"[CD]" " && $repeats -lt $most_repeats ]] || return $status
	repeats=$((repeats + 1))
	echo "again, $repeats of at most $most_repeats"
	row "$@"
}
listens_socket() { listening $ns_b 18515; }
listens_cm() { rdma resource show cm_id | grep -q "state LISTEN.*:18515"; }

mtu_now=1500
set_mtu() {
	[ "$1" != "$mtu_now" ] || return 0
	in_a ip link set veth_a mtu "$1" && in_b ip link set veth_b mtu "$1" && mtu_now=$1
}

make_pair $mtu_now
# A UC message of 8 MiB is 2048 packets, none of which may be lost where a CPU
# does not come to receiving.
run sysctl -q net.core.netdev_max_backlog=10000
declare -A gid_a gid_b address=([4]=$ip4_b [6]=$ip6_b)
gid_a=([4]=$(gid_index shca_a $ip4_a) [6]=$(gid_index shca_a $ip6_a))
gid_b=([4]=$(gid_index shca_b $ip4_b) [6]=$(gid_index shca_b $ip6_b))
for rows in ${tables:-short}; do
	./perftest-table "$rows" --words >$log.table || fail "no table"
	start=$SECONDS most_repeats=$((1 + $(wc -l <$log.table) / 50)) repeats=0
	while read -ra words <&3; do
		check "$rows.${words[0]}" row_or_again "${words[@]}"
	done 3<$log.table
	echo "$rows: $(wc -l <$log.table) rows in $((SECONDS - start)) s, $repeats repeated"
done
