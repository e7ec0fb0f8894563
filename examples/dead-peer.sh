#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A worked example of a test: a program with rdma_cm (reconnect.c) meets a dead peer, and
# goes on. Needs root, softhca and the program. The two devices are those of `softhca up`.
#
#   dead-peer.sh [RULE]

set -eu
here=$(cd "$(dirname "$0")" && pwd)
messages=100
# From about its 50th message on, 20 packets with one (RC SEND_ONLY) are lost.
rule=${1:-dev=shca0 do=drop opcode=0x04 nth=50 count=20}

# Inside namespace a, where the device is that loses packets.
if [ "${2-}" = --client ]; then
	# shellcheck source=examples/faults.sh
	. "$here/faults.sh"
	with_faults "$rule" -- "$here/reconnect" 10.0.0.2 $messages
	echo "$faults_hit packets were lost"
	exit $((faults_hit == 0))
fi

softhca up >/dev/null
softhca run --namespace b -- "$here/reconnect" &
until softhca run --namespace b -- rdma resource show cm_id | grep -q 'state LISTEN'; do sleep 0.1; done
softhca run --namespace a -- "$here/dead-peer.sh" "$rule" --client
wait $!
