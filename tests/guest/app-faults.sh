#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The worked examples of tests with faults, and the shell library that they use: the loss
# of packets, a dead peer, QP_FATAL. About 25 s.
. "$(dirname "$0")/lib.sh"
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
