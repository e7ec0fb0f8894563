#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# Smaller applications of the distribution: libfabric's ping-pong by each kind of
# endpoint, every byte compared; fio's engine for RDMA by each of its verbs; qperf, with its
# own verification of atomics; ibstat, ibstatus. Then the device goes meanwhile. About 55 s.
. "$(dirname "$0")/../lib.sh"

for program in fi_pingpong fio qperf ibstat ibstatus; do
	command -v $program >/dev/null || skip "no $program"
done
make_pair 1500
more=${SHCA_SOAK-}

# ---- tools

shows() { "$@" | tee /tmp/shown | head -n 8; grep -qi 'ACTIVE' /tmp/shown && grep -qi 'LinkUp' /tmp/shown; }
check ibstat shows ibstat shca_a
check ibstat.type grep -q 'CA type: softhca' /tmp/shown
check ibstatus shows ibstatus shca_a

# ends SECONDS PID : it ends within that time, killed if it does not (programs that
# wait for a completion do not heed SIGTERM)
ends() {
	local seconds=$1 pid=$2
	wait_for "$seconds" is_over "$pid" || { kill -KILL "$pid"; return 1; }
}

# ---- libfabric

# Both by the control connection's port, which is TCP's. A datagram's domain has a
# name of its own.
fabric_server() { ip netns exec "$ns_b" fi_pingpong -p verbs -d "shca_b$domain" -c "$@" >/tmp/fabric.server 2>&1 & }
fabric_client() { ip netns exec "$ns_a" fi_pingpong -p verbs -d "shca_a$domain" -c "$@" $ip4_b >/tmp/fabric.client 2>&1 & }
pingpong() { # ENDPOINT SIZE ITERATIONS
	local domain='' server client status=0
	[ "$1" != dgram ] || domain=-dgram
	fabric_server -e "$1" -S "$2" -I "$3"
	server=$!
	wait_for 20 listening $ns_b 47592
	fabric_client -e "$1" -S "$2" -I "$3"
	client=$!
	{ ends 60 $client && wait $client; } || status=1
	{ ends 10 $server && wait $server; } || status=1
	cat /tmp/fabric.client
	[ $status = 0 ] || cat /tmp/fabric.server
	grep -q "=$3 " /tmp/fabric.client || status=1
	return $status
}
# (else each start looks for the devices of all other providers, and for GPUs)
export FI_PROVIDER=verbs,ofi_rxm FI_HMEM=system
for size in ${more:+64} 1024; do check "fabric.dgram.$size" pingpong dgram "$size" 20; done
for endpoint in msg rdm; do
	for size in ${more:+64 4096} 65536 ${more:+1048576}; do
		check "fabric.$endpoint.$size" pingpong $endpoint "$size" 20
	done
done

# ---- fio

# Who reads is the server, whatever the verb. fio asks for no RNR retry and waits for
# ever after an error: the server's depth must be that of all blocks.
fio_server() { # SIZE DEPTH
	ip netns exec $ns_b fio --name=server --ioengine=rdma --port=8888 --rw=read --bs=64k --size="$1" --iodepth="$2" \
		>/tmp/fio.server 2>&1 &
}
fio_client() { # VERB SIZE
	ip netns exec $ns_a fio --name=client --ioengine=rdma --hostname=$ip4_b --port=8888 --verb="$1" \
		--rw=write --bs=64k --size="$2" --iodepth=4 >/tmp/fio.client 2>&1 &
}
fio_listens() { rdma resource show cm_id | grep -q 'state LISTEN.*comm fio'; }
fio_moves() {
	local server client status=0
	fio_server 2m 32
	server=$!
	wait_for 20 fio_listens || status=1
	fio_client "$1" 2m
	client=$!
	{ ends 40 $client && wait $client; } || status=1
	{ ends 10 $server && wait $server; } || status=1
	grep -h 'bw=\|err\|fio:' /tmp/fio.client /tmp/fio.server
	# all of it, in a line of the client's
	grep -q 'io=2048KiB\|io=2.00MiB' /tmp/fio.client || status=1
	return $status
}
for verb in ${more:+write} read send; do check "fio.$verb" fio_moves "$verb"; done

# ---- qperf

# By rdma_cm, for it names no GID otherwise; so RC only. (-to: of what it exchanges over
# TCP.) What it says of an error is not its status.
ip netns exec $ns_b qperf >/tmp/qperf.server 2>&1 &
qperf=$!
at_exit kill -KILL $qperf
run wait_for 20 listening $ns_b 19765
# (It looks for completions once it has posted 1,024 requests, and tells nothing where its
# time is over by then: of 64 KiB each these are 64 MiB, which a busy machine does not move in
# a second.)
qperf_measures() {
	local before size=()
	before=$(attribute shca_a counters/port_xmit_packets)
	[[ $1 != *_bw ]] || size=(-m 4096)
	in_a timeout $((30 * slow)) qperf -to $((10 * slow)) -cm 1 -t "$slow" "${size[@]}" $ip4_b "$1" 2>&1 |
		tee /tmp/qperf.client
	[ "${PIPESTATUS[0]}" = 0 ] && ! grep -qiE 'fail|error|cannot' /tmp/qperf.client &&
		grep -qE "${2-=  *[1-9][0-9.]*}" /tmp/qperf.client && [ "$(attribute shca_a counters/port_xmit_packets)" -gt $((before + 10)) ]
}
for test in rc_bw ${more:+rc_bi_bw rc_lat rc_rdma_write_bw} rc_rdma_read_bw rc_rdma_write_lat rc_fetch_add_mr; do
	check "qperf.$test" qperf_measures "$test"
done
for test in ver_rc_compare_swap ver_rc_fetch_add; do check "qperf.$test" qperf_measures $test "^$test:"; done
kill $qperf
wait $qperf

# ---- the peer dies

# (fio waits for ever after a failed completion; it is told of one)
moving() { [ "$(attribute shca_a counters/port_xmit_packets)" -gt $((before + 200)) ]; }
told() { grep 'cq completion status' /tmp/fio.client; }
before=$(attribute shca_a counters/port_xmit_packets)
fio_server 8g 4
server=$!
run wait_for 20 fio_listens
fio_client write 8g
client=$!
run wait_for 20 moving
# (fio forks its job: all that it started)
pkill -KILL -f 'fio --name=server'
wait $server
check fio.peer_dies wait_for 60 told
grep 'fio:' /tmp/fio.client
kill -KILL $client
wait $client

# ---- the device goes

# Who waits for a completion ends, and not well. (fio's server only receives: nobody
# tells it. fi_pingpong is no program for this: libfabric takes any error of
# ibv_post_send() for a queue that is full, and tries again for ever.)
ends_badly() { ends 20 "$1" && ! wait "$1"; }
before=$(attribute shca_a counters/port_xmit_packets)
fio_server 8g 4
at_exit kill -KILL $!
run wait_for 20 fio_listens
fio_client write 8g
client=$!
run wait_for 20 moving
check fio.link_delete link_delete shca_a
check fio.ends ends_badly "$client"
grep 'fio:' /tmp/fio.client
