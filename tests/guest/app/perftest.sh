#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# perftest's bandwidth and latency programs for SEND, WRITE and READ over RC,
# from 1 byte to 8 MiB, at netdev MTU 1500 and 9000, between two namespaces and
# on one device with itself. That all sizes complete is tested here, not how fast:
# for that there is `make bench`. With itself the netdev's MTU decides nothing (the
# direct path), so in make check one half of these is enough at each; and one half of
# the programs has all sizes there, of the pair (for 8 MiB perftest first fills 16 MiB at
# random, which takes most of its time).
#
# timeout: 2400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

# perf NAME HOW PROGRAM SERVER_DEVICE SERVER_ADDRESS CLIENT_ADDRESS
perf() {
	local name=$1 how=$2 program=$3 to=$4 server_gid client_gid size words
	local sizes=("-a -n 5")
	case ${SHCA_SOAK:+soak}.$how.$mtu.$program in
	.between_pair.1500.*_lat | .between_pair.9000.*_bw | .on_itself.*_lat) sizes=("-s 65537 -n 20") ;;
	.on_itself.*_bw) sizes=("-s 1048577 -n 5") ;;
	esac
	server_gid=$(gid_index "$to" "$5")
	client_gid=$(gid_index shca_a "$6")
	# Enough of each size; more would time this machine, not test it. -a begins with
	# two bytes; the one byte is a padded packet, whatever the MTU, and of the direct
	# path in path/direct.
	{ [ "$how" = on_itself ] || [ "$mtu" = 9000 ]; } && [ -z "${SHCA_SOAK-}" ] || sizes+=("-s 1 -n 20")
	for size in "${sizes[@]}"; do
		words=${size% -n *}
		# shellcheck disable=SC2086 # several words
		check "$name${words// /}" all_sizes "$how" "$program" -F -d "$to" -x "$server_gid" $size -- \
			"$program" -F -d shca_a -x "$client_gid" $size ADDRESS
	done
}

# all_sizes HOW ... : it succeeds, and the client's table ends with the size
# that was asked for
all_sizes() {
	local how=$1 table=/tmp/perf.$$ last=8388608
	shift
	[[ ! " $* " =~ " -s "([0-9]+) ]] || last=${BASH_REMATCH[1]}
	"$how" "$@" >"$table" || { cat "$table"; return 1; }
	grep -E '^ *[0-9]+ +[0-9]+ ' "$table"
	grep -q -E "^ *$last +[0-9]+ " "$table"
}

make_pair 1500
for mtu in 1500 9000; do
	run in_a ip link set veth_a mtu $mtu
	run in_b ip link set veth_b mtu $mtu
	for program in ib_{send,write,read}_{bw,lat}; do
		case $mtu in
		1500)
			perf "$program.pair_ipv4_mtu$mtu" between_pair "$program" shca_b $ip4_b $ip4_a
			[[ $program = *_bw && -z ${SHCA_SOAK-} ]] ||
				perf "$program.self_ipv4_mtu$mtu" on_itself "$program" shca_a $ip4_a $ip4_a
			;;
		9000)
			perf "$program.pair_ipv6_mtu$mtu" between_pair "$program" shca_b $ip6_b $ip6_a
			[[ $program = *_lat && -z ${SHCA_SOAK-} ]] ||
				perf "$program.self_ipv6_mtu$mtu" on_itself "$program" shca_a $ip6_a $ip6_a
			;;
		esac
	done
done
