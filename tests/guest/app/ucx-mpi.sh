#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 400
#
# UCX and Open MPI of the distribution, two ranks on one device: by RC and by UD, over
# IPv4 and IPv6 GIDs; every element of an allreduce is compared. Then the device goes,
# or one rank dies, while they run: they end with an error, within seconds. Two
# allreduces in check (about 25 s), all in soak.
. "$(dirname "$0")/../lib.sh"

for program in mpirun ucx_perftest; do
	command -v $program >/dev/null || skip "no $program"
done
compgen -G '/usr/lib/*/ucx/libuct_ib.so*' >/dev/null || skip "this UCX was built without verbs"
make_namespaces 1500
add_device shca_a veth_a $ns_a
run wait_for 10 gid_index shca_a $ip4_a
run wait_for 10 gid_index shca_a $ip6_a

# two TLS ADDRESS COMMAND... : two ranks whose only way is that transport, on that GID
two() {
	local tls=$1 gid
	gid=$(gid_index shca_a "$2") || return
	shift 2
	in_a timeout $((90 * slow)) mpirun --allow-run-as-root --oversubscribe -np 2 --mca pml "${pml:-ucx}" \
		-x UCX_TLS="$tls,self" -x UCX_NET_DEVICES=shca_a:1 -x UCX_IB_GID_INDEX="$gid" "$@"
}
allreduce=(python3 /usr/local/share/softhca/examples/mpi-allreduce.py)
right() {
	local before
	before=$(attribute shca_a counters/port_xmit_packets)
	two "$1" "$2" "${allreduce[@]}" | tee /tmp/mpi.out
	grep -q 'right: 100000 elements, 2 ranks' /tmp/mpi.out && [ $(($(attribute shca_a counters/port_xmit_packets) - before)) -gt 100 ]
}
# (ucx_perftest is started by mpirun in Debian: it is made with MPI)
perftest() { pml=ob1 two "$1" "$2" ucx_perftest -t "$3" -n 100 -w 5 -s "$4"; }

# UCX sets options of ECE that mean nothing here, and goes on without them
ece() { UCX_RC_ECE=auto right "$@"; }
check rc.ipv6.allreduce ece rc_v $ip6_a
check ud.ipv4.allreduce right ud_v $ip4_a
[ -n "${SHCA_SOAK-}" ] || exit 0
check rc.ipv4.allreduce right rc_v $ip4_a
check ud.ipv6.allreduce right ud_v $ip6_a
for ip in $ip4_a $ip6_a; do
	for tls in rc_v ud_v; do
		check "perftest.$tls.$ip.tag_bw" perftest $tls "$ip" tag_bw 65536
		check "perftest.$tls.$ip.put_bw" perftest $tls "$ip" ucp_put_bw 8192
		check "perftest.$tls.$ip.tag_lat" perftest $tls "$ip" tag_lat 8
	done
done

# ---- ends

long() { two rc_v $ip4_a python3 /usr/local/share/softhca/examples/mpi-allreduce.py forever >/tmp/mpi.long 2>&1; }
start_long() {
	long &
	long_pid=$!
	wait_for 30 grep -q right /tmp/mpi.long
}
# it ends, and not well
ends() {
	local end=$((SECONDS + 60 * slow))
	while kill -0 "$long_pid" 2>/dev/null; do
		[ $SECONDS -lt $end ] || { kill "$long_pid"; return 1; }
		sleep 0.2
	done
	! wait "$long_pid"
}
a_rank() { pgrep -f "^python3 /usr/local/share/softhca/examples/mpi-allreduce.py" | head -n 1; }
kill_rank() { kill -KILL "$(a_rank)"; }
run start_long
check rank_dies.killed kill_rank
check rank_dies.ends ends
run start_long
check link_delete_in_use link_delete shca_a
check link_delete.ends ends
