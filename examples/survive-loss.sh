#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A worked example of a test: an RDMA program survives the loss of 1% of its packets.
# Needs root, softhca and ibverbs-utils. The two devices are those of `softhca up`.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
messages=500 size=4096

# Inside namespace a, where the device is that loses packets.
if [ "${1-}" = --client ]; then
	# shellcheck source=examples/faults.sh
	. "$here/faults.sh"
	with_faults 'dev=shca0 do=drop prob=1% seed=1' -- \
		ibv_rc_pingpong -c -d shca0 -g "$2" -n $messages -s $size 10.0.0.2
	echo "survived the loss of $faults_hit packets"
	exit $((faults_hit == 0))
fi

devices=$(softhca up)
index() { sed -n "s/^namespace $1: .* GID index //p" <<<"$devices"; }
softhca run --namespace b -- ibv_rc_pingpong -c -d shca1 -g "$(index b)" -n $messages -s $size &
until softhca run --namespace b -- ss -Hltn | grep -q :18515; do sleep 0.1; done
softhca run --namespace a -- "$here/survive-loss.sh" --client "$(index a)"
wait $!
