#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Large batches of a sender on this machine are received on another CPU, if that is
# idle, without any packet overtaking another: no sequence NAK, no lost response,
# nothing sent again. (Where the other end polls, one batch in 100 ms finds out
# whether it still does; so these tests also pass between the two ways.) Small
# messages stay where they are, and so does everything with the module's parameter
# `rps` off. About 20 seconds.
. "$(dirname "$0")/../lib.sh"

[ "$(nproc)" -gt 1 ] || skip "one CPU: there is no other one"

parameter=/sys/module/softhca/parameters/rps
steered() { echo $(($(counter shca_a rx_steered) + $(counter shca_b rx_steered))); }
disorder() {
	local device name sum=0
	for device in shca_a shca_b; do
		for name in out_of_sequence packet_seq_err implied_nak_seq_err local_ack_timeout_err rx_icrc_errors \
			rx_backlog_drops; do
			sum=$((sum + $(counter $device $name)))
		done
	done
	echo $sum
}

# bandwidth OPERATION SIZE COUNT : with a time-out of 1 s, for on a machine that is busy
# an answer may take longer than the default, 67 ms, and what is sent again then is
# no disorder of this
bandwidth() {
	between_pair "ib_$1_bw" -F -u 18 -d shca_b -x "$gid_b" -s "$2" -n "$3" -- \
		"ib_$1_bw" -F -u 18 -d shca_a -x "$gid_a" -s "$2" -n "$3" ADDRESS
}
pingpong() {
	between_pair ibv_rc_pingpong -c -n 50 -s 300000 -d shca_b -g "$gid_b" -- \
		ibv_rc_pingpong -c -n 50 -s 300000 -d shca_a -g "$gid_a" ADDRESS
}

# counted yes|no COMMAND... : it succeeds, and batches were steered or not
counted() {
	local wanted=$1 before moved=no
	shift
	before=$(steered)
	"$@" || return
	[ "$(steered)" = "$before" ] || moved=yes
	[ $moved = "$wanted" ] || { echo "steered: $moved, not $wanted"; return 1; }
}
in_order() {
	local before
	before=$(disorder)
	"$@" || return
	[ "$(disorder)" = "$before" ] || {
		grep -H . /sys/class/infiniband/shca_?/ports/1/hw_counters/* | grep -v ':0$'
		return 1
	}
}

make_pair 9000
gid_a=$(gid_index shca_a $ip4_a) gid_b=$(gid_index shca_b $ip4_b)
default=$(cat $parameter)
at_exit sh -c "echo $default >$parameter"
run sh -c "echo Y >$parameter"
for operation in write send read; do
	check $operation counted yes in_order bandwidth $operation 262144 200
done
check data counted yes pingpong
check small_stay counted no bandwidth send 8 1000
run sh -c "echo N >$parameter"
check off counted no bandwidth write 262144 50
check off_data counted no pingpong
