#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `softhca dev set DEV icrc off`: between two devices that both have it, packets of RC and XRC have
# no ICRC, data is right, and it is counted. All other packets have one: where one end has it, of UC
# and UD, of queue pairs that were connected before.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

for program in tcpdump tshark; do
	command -v $program >/dev/null || skip "$program is not installed"
done
make_pair 4200

gid_a=$(gid_index shca_a "$ip4_a") gid_b=$(gid_index shca_b "$ip4_b")
# pingpong KIND [OPTION...] : 10 messages each way
pingpong() {
	local size=20000
	[ "$1" != ud ] || size=1000
	between_pair timeout $((60 * slow)) "ibv_$1_pingpong" -d shca_b -g "$gid_b" -s $size -n 10 "${@:2}" -- \
		timeout $((60 * slow)) "ibv_$1_pingpong" -d shca_a -g "$gid_a" -s $size -n 10 "${@:2}" ADDRESS
}
# (with -c they compare the data)
rc_data() { pingpong rc -c; }
unchecked() { echo $(($(counter shca_a rx_without_icrc) + $(counter shca_b rx_without_icrc))); }
# packets COMMAND... : sets all, how many a capture has, and bare, of these without an ICRC
packets() {
	capture /tmp/icrc.pcap "-i veth_a" "$@" || return
	tshark -r /tmp/icrc.pcap -T fields -e udp.payload >/tmp/payloads 2>/dev/null
	all=$(grep -c . /tmp/payloads) bare=$(grep -c '00000000$' /tmp/payloads)
	echo "$bare of $all packets without an ICRC"
	[ "$all" -ge 20 ]
}
# has_them COMMAND... : and each has an ICRC, that is checked
has_them() {
	local before
	before=$(unchecked)
	packets "$@" && [ "$bare" = 0 ] && [ "$(unchecked)" = "$before" ]
}
# has_none COMMAND... : but the first of each end, which leave before it knows the peer
has_none() {
	local before
	before=$(unchecked)
	packets "$@" && [ $((all - bare)) -le 40 ] && [ $((2 * bare)) -gt "$all" ] && [ $(($(unchecked) - before)) = "$all" ]
}

check default has_them rc_data
run in_a softhca dev set shca_a icrc off
check one_end has_them rc_data
check one_end.is_shown eval 'in_a softhca dev show shca_a | grep "icrc off"'
run in_b softhca dev set shca_b icrc off
check both_ends has_none rc_data
for kind in uc ud; do check $kind has_them pingpong $kind; done
# perftest COMMAND...
perftest() { between_pair "$@" -F -d shca_b -x "$gid_b" -- "$@" -F -d shca_a -x "$gid_a" ADDRESS; }
check xrc has_none perftest ib_write_bw -c XRC -n 20 -s 65536
check read has_none perftest ib_read_bw -n 20 -s 65536
check atomic has_none perftest ib_atomic_bw -n 200
run in_b softhca dev set shca_b resv8a off
check without_marks has_them pingpong rc
run in_b softhca dev set shca_b resv8a auto
check with_marks_again has_none pingpong rc

# What is connected stays as it is, and loses nothing.
errors() { echo $(($(counter shca_a rx_icrc_errors) + $(counter shca_b rx_icrc_errors))); }
grows() { [ "$(unchecked)" -gt $((before + 100)) ]; }
stays() {
	local before pid
	perftest ib_write_bw -D $((4 * slow)) >/tmp/stays 2>&1 &
	pid=$!
	before=$(unchecked)
	wait_for 30 grows || return
	in_a softhca dev set shca_a icrc on && in_b softhca dev set shca_b icrc on || return
	before=$(unchecked)
	wait_for 10 grows && wait $pid && return
	cat /tmp/stays
	return 1
}
check connected_stays stays
check on_again has_them pingpong rc
check no_errors [ "$(errors)" = 0 ]
