#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Annotated captures: what programs of each operation and each error send is written with
# a comment at each packet, and tshark reads each packet as the comments' author does. With
# CAPTURES=DIR each test of these programs gets a file of its own there (scripts/captures).
# About 15 s.
#
# timeout: 300
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guest/scenario
. "$(dirname "$0")/../scenario"

for program in tcpdump tshark; do
	command -v $program >/dev/null || skip "$program is not installed"
done
annotate=$test_programs/wire/annotate

# raw NAME PROGRAM ARGUMENT... : its packets are NAME.pcap
raw() {
	local name=$1 program=$2
	shift 2
	raw_of "$name" "$test_programs/$program" -d shca_a -p shca_b "$@"
}
raw_of() { # NAME COMMAND...
	local name=$1
	shift
	rm -f "$name.pcap"
	# (once more where tcpdump had not the time to take all)
	capture "$name.pcap" '-i veth_a' "$@" >/tmp/annotated.log 2>&1 ||
		{ grep -q '^[1-9].* packets dropped' /tmp/annotated.log && capture "$name.pcap" '-i veth_a' "$@" >/tmp/annotated.log 2>&1; } ||
		{ cat /tmp/annotated.log; return 1; }
	# (what is refused before anything is sent leaves the capture's head alone)
	[ "$(stat -c %s "$name.pcap")" -gt 24 ] || { rm "$name.pcap"; return 77; }
}
# captured NAME PROGRAM ARGUMENT... : with comments they are NAME.pcapng
captured() {
	raw "$@" && "$annotate" --check "$1.pcap" "$1.pcapng"
}
# comments NAME TEXT... : each of them is in a comment of it (which tshark reads alike)
comments() {
	local file=$1.pcapng text
	shift
	for text; do
		grep -a -q -F -e "$text" "$file" || { echo "no comment says: $text"; return 1; }
	done
}

# tests PROGRAM ARGUMENT... : names of its tests
tests() {
	local program=$1
	shift
	"$test_programs/$program" -d shca_a -p shca_b "$@" | sed -n 's/^ok \([^ ]*\).*/\1/p'
}

# Two softhca of one kernel tell each other what is missing in a way of their own. So sequence NAKs
# need a peer that no softhca knows: the crafted packets of tests/userspace/wire. That peer needs
# the port, so there is no second device yet.
raw_case() { # CASE : its packets are /tmp/captures/wire.CASE.pcap
	raw_of "/tmp/captures/wire.${1//./_}" taskset -c 0 "$test_programs/wire/wire" --device shca_a "$1" &&
		grep -q '^ok ' /tmp/annotated.log
}
in_case() { # CASE TEXT...
	local file=/tmp/captures/wire.${1//./_}
	shift
	"$annotate" --check "$file.pcap" "$file.pcapng" && comments "$file" "$@"
}
mkdir -p /tmp/captures
make_namespaces 1500
add_device shca_a veth_a "$ns_a"
run wait_for 10 gid_index shca_a "$ip4_a"
run wait_for 10 gid_index shca_a "$ip6_a"
run in_a softhca dev set shca_a path wire
for name in resp.psn_ahead resp.repeated_after_gap req.nak_seq_within_a_message; do
	check "wire.$name" raw_case $name
	check "wire.$name.comments" in_case $name 'NAK, PSN sequence error'
done
check wire.what_follows in_case resp.repeated_after_gap 'A gap: PSN' 'Sent again: PSN'
run in_a softhca dev set shca_a path auto
add_device shca_b veth_b "$ns_b"
run wait_for 10 gid_index shca_b "$ip4_b"
run wait_for 10 gid_index shca_b "$ip6_b"

if [ -n "${CAPTURES-}" ]; then
	unset SHCA_SOAK	# (for the limit of time only)
	mkdir -p "$CAPTURES"
	# (of messages of all sizes up to a few packets)
	for words in rc_data rc_errors 'rc_data -q uc' 'rc_errors -q uc' atomics windows flush xrc ud; do
		# shellcheck disable=SC2086 # several words
		set -- $words
		program=$1 prefix=$1
		shift
		[ $# = 0 ] || prefix=uc_${program#rc_}
		for name in $(tests "$program" "$@" -m 9000); do
			check "$prefix.$name" raw "/tmp/captures/$prefix.$name" "$program" "$@" -m 9000 "$name"
		done
	done
	pairs=()
	for file in /tmp/captures/*.pcap; do
		name=${file##*/}
		pairs+=("$file" "$CAPTURES/${name}ng")
	done
	check all_as_tshark_reads_them "$annotate" --check "${pairs[@]}"
	exit
fi

check errors captured /tmp/errors rc_errors send_longer write_to_bad_remote_memory send_without_a_receive
check errors.comments comments /tmp/errors 'RNR NAK: no receive request' 'remote access error' 'invalid request'
check windows captured /tmp/windows windows atomic_through_a_window peer_invalidates_a_window
check windows.comments comments /tmp/windows "Invalidates the responder's key" 'adds' 'The old value was'
check datagrams captured /tmp/datagrams ud
check datagrams.comments comments /tmp/datagrams 'A datagram of queue pair'

# What is lost is seen as a gap and sent again. The responder says what is missing.
run in_a ip link set dev veth_a gso_max_segs 1
run in_b ip link set dev veth_b gso_max_segs 1
run in_b tc qdisc add dev veth_b root netem loss 5%
run in_a tc qdisc add dev veth_a root netem loss 5%
gid_a=$(gid_index shca_a "$ip4_a") gid_b=$(gid_index shca_b "$ip4_b")
# (perftest's ends wait for each other at the end. ibv_rc_pingpong's do not: where the last ACK is lost, its peer may be
# gone when the request comes again.)
lossy() {
	capture /tmp/lossy.pcap '-i veth_a' between_pair ib_send_lat -F -d shca_b -x "$gid_b" -s 4096 -n 100 -- \
		ib_send_lat -F -d shca_a -x "$gid_a" -s 4096 -n 100 ADDRESS >/tmp/annotated.log 2>&1 ||
		{ cat /tmp/annotated.log; return 1; }
	"$annotate" --check /tmp/lossy.pcap /tmp/lossy.pcapng
}
check loss lossy
check loss.comments comments /tmp/lossy 'A gap: PSN' "softhca's own: 1 packet is missing" 'was lost before it was captured'
