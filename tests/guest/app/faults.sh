#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The worked examples of tests with faults, and the shell library that they use: the loss
# of packets, a dead peer, QP_FATAL, a fail-over between two rails. About 60 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
examples=/usr/local/share/softhca/examples

at_exit softhca down
run softhca up

# says TEXT... : each expression is a line of the last example's output
says() {
	local text
	cat /tmp/example
	for text; do
		grep -qxE -e "$text" /tmp/example || { echo "no line: $text"; return 1; }
	done
}
example() { timeout $((60 * slow)) "$@" >/tmp/example 2>&1 || { cat /tmp/example; return 1; }; }

survives() { example $examples/survive-loss.sh && says 'survived the loss of [1-9][0-9]* packets'; }
check survive_loss survives
# in_lab COMMAND : with the library, where shca0 is
in_lab() { softhca run --namespace a -- bash -c ". $examples/faults.sh; $1"; }
no_rules() { [ -z "$(softhca run -- softhca fault list)" ]; }
check rules_are_gone no_rules
check status_of_the_command in_lab 'with_faults "dev=shca0 do=drop" -- bash -c "exit 7"; [ $? = 7 ] && [ "$faults_hit" = 0 ]'
check rules_are_there in_lab 'with_faults "dev=shca0 do=drop nth=5" "dev=shca0 do=ecn" -- softhca fault list | [ "$(grep -c dev=shca0)" = 2 ]'
check hits_of_verbs in_lab 'with_faults "dev=shca0 do=fail verb=query_port errno=EIO count=1" -- ibv_devinfo -d shca0 >/dev/null 2>&1; [ "$faults_hit" = 1 ]'
check wrong_rule in_lab 'with_faults "dev=shca0 do=drop" "dev=shca0 do=drup" -- true 2>/dev/null; [ $? = 125 ]'
check no_rule_stays no_rules

# The client notices, connects again, and no message is missing.
reconnects() {
	example $examples/dead-peer.sh &&
		says 'client: message [0-9]+: transport retry counter exceeded' 'client: connected again' \
			'client: sent 100 messages, met a dead peer [1-9][0-9]* times' \
			'server: 100 messages in order, [0-9]+ of them twice, by [2-9][0-9]* connections'
}
check dead_peer reconnects
# A message that has arrived, while its acknowledgement has not, comes twice.
unheard() {
	example $examples/dead-peer.sh 'dev=shca0 do=drop dir=rx type=ack nth=50 count=20' &&
		says 'server: 100 messages in order, [1-9][0-9]* of them twice, by [2-9][0-9]* connections'
}
check dead_peer.unheard unheard

recovers() { # RULE TEXT...
	local rule=$1
	shift
	example softhca run --namespace a -- bash -c ". $examples/faults.sh
		with_faults '$rule' -- $examples/survive-qp-fatal shca0 shca1 500 && echo hits \$faults_hit" && says "$@"
}
check qp_fatal recovers 'dev=shca0 do=qp-fatal nth=100' 'event: local work queue catastrophic error' \
	'500 messages in order, [0-9]+ of them twice, 1 recoveries' 'hits 1'
check qp_fatal.often recovers 'dev=shca0 do=qp-fatal every=90' \
	'500 messages in order, [0-9]+ of them twice, ([5-9]|[1-9][0-9]+) recoveries'
check qp_fatal.none recovers 'dev=shca0 do=ecn nth=1' '500 messages in order, 0 of them twice, 0 recoveries'

# ---- two rails

run softhca up rails
# begin : a stream of messages until end_stream, in the background
stream=
end_of_stream() { [ -z "$stream" ] || kill "$stream"; }
at_exit end_of_stream
begin() {
	# (one that has failed may be there still)
	end_of_stream 2>/dev/null
	: >/tmp/example
	$examples/failover shca0 shca2 shca1 shca3 0 >/tmp/example 2>&1 &
	stream=$!
	wait_for 20 grep -q 'messages go over shca0' /tmp/example
}
now_says() { wait_for 30 grep -qE -e "$1" /tmp/example || { cat /tmp/example; return 1; }; }
end_stream() {
	local pid=$stream
	stream=
	kill -INT "$pid"
	wait "$pid" && says "$@"
}
in_order='[1-9][0-9]* messages in order, 0 of them twice'

no_failover() { example $examples/failover shca0 shca2 shca1 shca3 500 && says 'messages go over shca0' '500 messages in order, 0 of them twice, 0 fail-overs, 0 returns'; }
check failover.none no_failover
# Loss that is sent again is no failure.
little_loss() {
	example softhca run -- bash -c ". $examples/faults.sh
		with_faults 'dev=shca0 do=drop every=50' -- $examples/failover shca0 shca2 shca1 shca3 500 && [ \$faults_hit -gt 5 ]" &&
		says '500 messages in order, 0 of them twice, 0 fail-overs, 0 returns'
}
check failover.not_by_a_little_loss little_loss
# A rail that is dead, and lives again: a probe finds that.
dead_rail() {
	begin && run softhca run -- softhca fault add dev=shca0 do=drop &&
		now_says '^shca0: transport retry counter exceeded: message [0-9]+ goes over shca2$' || return
	sleep 1
	! grep again /tmp/example && run softhca run -- softhca fault del all && now_says 'goes over shca0 again$' &&
		end_stream 'message [1-9][0-9]* goes over shca0 again' "$in_order, 1 fail-overs, 1 returns"
}
check failover.dead_rail dead_rail
# What has arrived, but not been acknowledged, is not sent again.
unheard_rail() {
	begin && run softhca run -- softhca fault add dev=shca0 do=drop dir=rx type=ack &&
		now_says 'goes over shca2$' && run softhca run -- softhca fault del all &&
		now_says 'goes over shca0 again$' && end_stream "$in_order, 1 fail-overs, 1 returns"
}
check failover.unheard unheard_rail
# Three flaps, and bit errors, on the first rail
three_flaps() { [ "$(softhca run -- softhca fault list | grep -c 'event=PORT_ERR .*hits 1$')" = 3 ]; }
bad_cable() {
	begin && run softhca run -- softhca fault add --file bad-cable dev=shca0 || return
	wait_for 60 three_flaps && run softhca run -- softhca fault del all && now_says 'goes over shca0 again$' || return
	end_stream 'shca0: port error: message [0-9]+ goes over shca2' "$in_order, [1-9][0-9]* fail-overs, [1-9][0-9]* returns"
}
check failover.bad_cable bad_cable
# A cable that is pulled, and plugged in again
port_events() {
	begin && run ip -n a link set veth0 down &&
		now_says '^shca0: (port error|transport retry counter exceeded): message [0-9]+ goes over shca2$' || return
	run ip -n a link set veth0 up && now_says 'goes over shca0 again$' && end_stream "$in_order, 1 fail-overs, 1 returns"
}
check failover.port_events port_events
# An event of the queue pair: the rail itself works, so the return is soon.
qp_fatal() {
	begin && run softhca run -- softhca fault add dev=shca0 do=qp-fatal nth=50 && now_says 'goes over shca0 again$' &&
		end_stream "$in_order, 1 fail-overs, 1 returns"
	softhca run -- softhca fault del all
}
check failover.qp_fatal qp_fatal
unrecoverable() {
	local status=0
	softhca run -n b -- softhca fault add dev=shca1 do=nak nak=access-error nth=50
	timeout $((60 * slow)) $examples/failover shca0 shca2 shca1 shca3 0 >/tmp/example 2>&1 || status=$?
	softhca run -n b -- softhca fault del all
	[ $status = 1 ] && says 'messages go over shca0' 'failover: shca0: remote access error: no other rail helps'
}
check failover.unrecoverable unrecoverable
# Both rails fail: the program says so.
no_rail() {
	local status=0
	softhca run -- softhca fault add dev=shca0 do=drop
	softhca run -- softhca fault add dev=shca2 do=drop
	timeout $((60 * slow)) $examples/failover shca0 shca2 shca1 shca3 0 >/tmp/example 2>&1 || status=$?
	softhca run -- softhca fault del all
	[ $status = 1 ] && says '(failover: )?shca[02]: Network is down'
}
check failover.no_rail no_rail
# The device of the first rail is removed, here the receiver's and then the sender's.
removed() {
	begin && run rdma link delete "$1" && now_says "^shca0: .*: message [0-9]+ goes over shca2\$" || return
	at_message=$(sed -n 's/.*message \([0-9]*\) goes over shca2$/\1/p' /tmp/example)
	sleep 1
	end_stream "$in_order, 1 fail-overs, 0 returns" || return
	[ "$(sed -n 's/ messages in order.*//p' /tmp/example)" -gt "$at_message" ]
}
check failover.peer_is_removed removed shca1
run softhca up rails
check failover.device_is_removed removed shca0
run softhca down
run softhca up

# ---- the plugin of pytest, which works without it, too

python_tests() {
	example "$@"
	grep -c -E '^(ok test_| *test_[a-z_]* PASSED|.*::test_[a-z_]* PASSED)' /tmp/example | grep -qx 3 && return
	cat /tmp/example
	return 1
}
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$examples
check python python_tests $examples/test_faults.py
if python3 -c 'import pytest' 2>/dev/null; then
	check pytest python_tests python3 -m pytest -v -p softhca_test -p no:cacheprovider $examples/test_faults.py
else
	echo "skip pytest # it is not installed (scripts/qemu/vm --install)"
fi
