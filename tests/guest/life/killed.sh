#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kill -9 of either side in full traffic: the victim's objects are gone at once,
# its peer learns of it by the completion error that the specification has for a
# silent peer, the kernel stays silent, nothing is left over. WRITE, READ and SEND
# mixed (hold), each alone and UD (perftest). ROUNDS times, 50 in make soak.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

rounds=${ROUNDS:-${SHCA_SOAK:+50}}
rounds=${rounds:-4}
limit_ms=${removal_seconds}000

# as much work, with a process that has nothing
kill_of_idle() {
	sleep 60 &
	kill_of $!
}
nothing_left() { ! rdma resource show qp | grep -q 'type \(RC\|UD\)'; }

# ---- hold: each side requests of the other

start_holders() {
	hold_in $ns_b server -d shca_b -f "$1" --leave --listen 7471
	wait_for 20 listening $ns_b 7471 || return
	hold_in $ns_a client -d shca_a -f "$1" --leave --connect $ip4_b:7471
	wait_for 20 said server traffic && wait_for 20 said client traffic
}

# The queue pair of the victim goes before its memory (hold), so its peer is not
# refused but unanswered: RETRY_EXC_ERR, after timeout 14 and retry_cnt 7.
peer_got_retry_exc_err() {
	wait_for 10 said "$1" 'ended: transport retry counter exceeded' &&
		wait "${holder[$1]}" && wait_for 5 nothing_left && return
	sed "s/^/$1: /" "/tmp/hold.$1"
	return 1
}

# ---- perftest: the client requests, the server answers

# start_perftest PROGRAM OPTION...
start_perftest() {
	local program=$1 before
	before=$(counter shca_a tx_packets)
	shift
	ip netns exec $ns_b "$program" -F -d shca_b -x "$gid_b" -D 30 --run_infinitely "$@" >/tmp/k.server 2>&1 &
	pid[server]=$!
	at_exit kill -KILL $!
	wait_for 20 listening $ns_b 18515 || return
	ip netns exec $ns_a "$program" -F -d shca_a -x "$gid_a" -D 30 --run_infinitely "$@" $ip4_b >/tmp/k.client 2>&1 &
	pid[client]=$!
	at_exit kill -KILL $!
	wait_for 20 eval "[ \$(counter shca_a tx_packets) -gt $((before + 100)) ]" && return
	cat /tmp/k.server /tmp/k.client
	return 1
}

# left SIDE STATUS : it ends by itself, after a completion with STATUS
left() {
	wait_for 10 is_over "${pid[$1]}"
	cat "/tmp/k.$1"
	grep -q "Failed status $2" "/tmp/k.$1"
}
# stays SIDE : a datagram QP has no peer that it could miss, and one that only
# receives (perftest leaves it in RTR) asks for nothing that could fail
stays() {
	rdma resource show qp | grep "state RT[RS].* pid ${pid[$1]} " && ! is_over "${pid[$1]}"
}

make_pair 9000
gid_a=$(gid_index shca_a $ip4_a)
gid_b=$(gid_index shca_b $ip4_b)
declare -A other=([server]=client [client]=server) pid
for ((i = 1; i <= rounds; i++)); do
	if ((i % 2)); then victim=server; else victim=client; fi
	family=$((i % 4 < 2 ? 4 : 6))
	check "$i.traffic" start_holders $family
	check "$i.${victim}_killed" within $limit_ms kill_of_idle kill_of "${holder[$victim]}"
	check "$i.${other[$victim]}_gets_retry_exc_err" peer_got_retry_exc_err "${other[$victim]}"
done
for ((i = 1; i <= (rounds + 3) / 4; i++)); do
	for row in "write ib_write_bw -s 65536" "read ib_read_bw -s 65536" "send ib_send_bw -s 65536" \
		"ud ib_send_bw -c UD -s 1000"; do
		read -ra words <<<"$row"
		name=$i.${words[0]}
		unset 'words[0]'
		for victim in server client; do
			# it is asked by nobody; hold does as much
			[[ $victim.$name != client.*.@(write|read) ]] || [ -n "${SHCA_SOAK-}" ] || continue
			check "$name.traffic" start_perftest "${words[@]}"
			check "$name.${victim}_killed" within $limit_ms kill_of_idle kill_of "${pid[$victim]}"
			case $victim.${name#*.} in
			# 12: IBV_WC_RETRY_EXC_ERR
			server.write | server.read | server.send)
				check "$name.client_gets_retry_exc_err" left client 12
				;;
			server.ud | client.send | client.ud)
				check "$name.${other[$victim]}_stays" stays "${other[$victim]}"
				;;
			esac
			kill_of "${pid[${other[$victim]}]}"
			check "$name.nothing_left" wait_for 5 nothing_left
		done
	done
done
