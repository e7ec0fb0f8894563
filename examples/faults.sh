# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shell library: faults around a command, for test-suites. docs/faults.md has recipes.
#
#   . examples/faults.sh
#   with_faults 'dev=shca0 do=drop prob=1% seed=1' -- ./program
#   echo "$faults_hit packets were lost"
#
# It runs in the network namespace of the device, and needs CAP_NET_ADMIN there.

# with_faults RULE... -- COMMAND : the command meets these faults, and the rules end with
# it. Its status; sets faults_hit to how many there were. Status 125: a rule is wrong.
with_faults() {
	local ids=() id hits status=0
	while [ "$1" != -- ]; do
		# shellcheck disable=SC2086 # words
		if ! id=$(softhca fault add $1); then
			for id in "${ids[@]}"; do softhca fault del "$id"; done
			return 125
		fi
		[ -z "$id" ] || ids+=("$id")	# an event has none
		shift
	done
	shift
	"$@" || status=$?
	faults_hit=0
	for id in "${ids[@]}"; do
		hits=$(softhca fault list | sed -n "s/^$id: .* hits //p")
		faults_hit=$((faults_hit + ${hits:-0}))
		softhca fault del "$id"
	done
	return "$status"
}
