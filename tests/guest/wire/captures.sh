#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# timeout: 240
#
# What softhca sends, as others see it: tshark finds nothing malformed, and
# scapy's implementation of the ICRC, which is neither ours nor the kernel's,
# finds each one right. Captured: the requests and answers that the crafted
# packets of wire/conformance draw, and ordinary programs. With `path auto`,
# where batches leave, a capture at either end shows packets too.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

wire=$test_programs/wire
for program in tcpdump tshark; do
	command -v $program >/dev/null || skip "$program is not installed"
done

# beside the socket of tests/userspace/wire, so that both see all
sent() {
	local name=$1
	shift
	capture "/tmp/$name.pcap" "-i veth_a -Q out" "$@"
}

# Payload of ours is not RPC, NVMe or SMB, though it may look so to tshark. (Where
# the version does not tell the guesses' own names, their protocols are left out.)
readarray -t guesses < <(tshark -G heuristic-decodes 2>/dev/null | awk '
	/^infiniband\.payload/ && $5 != "" { print "--disable-heuristic"; print $5 }
	/^infiniband\.payload/ && $5 == "" && $2 != "ethertype" { print "--disable-protocol"; print $2 }')

# One line per packet of all captures: opcode; malformed; what tshark minds. It
# minds an IPv6 packet without UDP checksum, which annex A17.3.1 permits.
decode() {
	mergecap -w /tmp/all.pcap /tmp/crafted.pcap /tmp/programs.pcap &&
		tshark "${guesses[@]}" -r /tmp/all.pcap -T fields -E 'separator=;' -e infiniband.bth.opcode \
			-e _ws.malformed -e _ws.expert.message 2>/tmp/tshark >/tmp/all.fields
	cat /tmp/tshark
	sed -i 's/Illegal checksum value (0)$//' /tmp/all.fields
	wc -l /tmp/all.fields
	[ -s /tmp/all.fields ]
}
many_opcodes() {
	cut -d';' -f1 /tmp/all.fields | sort -n | uniq -c
	[ "$(cut -d';' -f1 /tmp/all.fields | sort -u | wc -l)" -ge 30 ]
}
all_decoded() { ! grep -n '^;' /tmp/all.fields; }
none_malformed() { ! grep -n -v '^[0-9]*;;$' /tmp/all.fields; }

make_namespaces 1500
add_device shca_a veth_a "$ns_a"
run wait_for 10 gid_index shca_a "$ip4_a"
run wait_for 10 gid_index shca_a "$ip6_a"
in_a ethtool -K veth_a tso off gso off tx-udp-segmentation off
in_b ethtool -K veth_b tso off gso off tx-udp-segmentation off
run in_a softhca dev set shca_a path wire
crafted() {
	python3 "$wire/wire" --device shca_a req.segments resp.send resp.read resp.atomics resp.rnr. resp.length \
		uc.sent ud.sent | sed 's/^/# /'
	return "${PIPESTATUS[0]}"
}
check crafted sent crafted crafted

add_device shca_b veth_b "$ns_b"
run wait_for 10 gid_index shca_b "$ip4_b"
run wait_for 10 gid_index shca_b "$ip6_b"
run in_b softhca dev set shca_b path wire
programs() {
	local kind a4 a6 b4 b6 status=0
	a4=$(gid_index shca_a $ip4_a) a6=$(gid_index shca_a $ip6_a)
	b4=$(gid_index shca_b $ip4_b) b6=$(gid_index shca_b $ip6_b)
	for kind in rc uc ud; do
		between_pair ibv_${kind}_pingpong -n 10 -d shca_b -g "$b4" -- \
			ibv_${kind}_pingpong -n 10 -d shca_a -g "$a4" ADDRESS || status=1
	done
	between_pair ib_write_bw -d shca_b -x "$b6" -n 5 -s 20000 -- \
		ib_write_bw -d shca_a -x "$a6" -n 5 -s 20000 ADDRESS || status=1
	between_pair ib_atomic_lat -d shca_b -x "$b4" -n 5 -- \
		ib_atomic_lat -d shca_a -x "$a4" -n 5 ADDRESS || status=1
	return $status
}
check programs sent programs programs

check decode decode
check many_opcodes many_opcodes
check all_decoded all_decoded
check none_malformed none_malformed
check icrc_by_scapy python3 "$wire/icrc-check" /tmp/all.pcap

# What leaves in batches as long as nobody looks: messages of 20 packets, in both
# directions (READ responses are the peer's). One end captures; the other end,
# in another namespace, must notice.
skbs() { in_b cat /sys/class/net/veth_b/statistics/tx_packets; }
large() { # PROGRAM...
	local program
	for program; do
		between_pair "$program" -d shca_b -x "$b4" -n 5 -s 20000 -- \
			"$program" -d shca_a -x "$a4" -n 5 -s 20000 ADDRESS >/tmp/large.log 2>&1 || { cat /tmp/large.log; return 1; }
	done
}
# else what follows would not show anything
batches_leave() {
	local before after
	before=$(skbs)
	large ib_read_bw || return
	after=$(skbs)
	echo "$((after - before)) packets for 5 READs of 20 packets each, and TCP's"
	[ $((after - before)) -lt 90 ]
}
# legal NAMESPACE NETDEV PROGRAM... : captured there, all is
legal() {
	local capture_in=$1 netdev=$2 both=()
	shift 2
	[ $# -lt 2 ] || both=(--both)
	capture /tmp/auto.pcap "-i $netdev" large "$@" && "$wire/messages-check" "${both[@]}" 1024 /tmp/auto.pcap &&
		tshark "${guesses[@]}" -r /tmp/auto.pcap -Y '_ws.malformed' 2>/dev/null >/tmp/malformed &&
		cat /tmp/malformed && [ ! -s /tmp/malformed ]
}
a4=$(gid_index shca_a $ip4_a) b4=$(gid_index shca_b $ip4_b)
in_a ethtool -K veth_a tso on gso on tx-udp-segmentation on
in_b ethtool -K veth_b tso on gso on tx-udp-segmentation on
run in_a softhca dev set shca_a path auto
run in_b softhca dev set shca_b path auto
check auto.batches_leave batches_leave
check auto.captured_at_a legal "$ns_a" veth_a ib_write_bw ib_read_bw
check auto.captured_at_b legal "$ns_b" veth_b ib_write_bw ib_read_bw

# What the documents say for captures behind bridges, which are not looked for.
each_leaves_alone() { ! batches_leave; }
run in_b ip link set dev veth_b gso_max_segs 1
check auto.gso_max_segs_1 each_leaves_alone
run in_b ip link set dev veth_b gso_max_segs 65535

# VLANs on them, captured at the other one
with_vlan() { # NAMESPACE NETDEV ADDRESS
	run ip -n "$1" link add link "$2" name "$2.7" type vlan id 7
	run ip -n "$1" addr add "$3/24" dev "$2.7"
	run ip -n "$1" link set "$2.7" up
}
with_vlan "$ns_a" veth_a 10.78.0.1
with_vlan "$ns_b" veth_b 10.78.0.2
run wait_for 10 gid_index shca_a 10.78.0.1
run wait_for 10 gid_index shca_b 10.78.0.2
a4=$(gid_index shca_a 10.78.0.1) b4=$(gid_index shca_b 10.78.0.2)
check auto.captured_at_vlan_a legal "$ns_a" veth_a.7 ib_read_bw

# The mark in Resv8a: on no packet by default; if one side is told to begin, on its
# requests and, once it has heard them, on the other side's answers. Never of UC and UD.
pingpongs() {
	local kind a4 b4 status=0
	a4=$(gid_index shca_a $ip4_a) b4=$(gid_index shca_b $ip4_b)
	for kind in "$@"; do
		between_pair "ibv_${kind}_pingpong" -n 10 -d shca_b -g "$b4" -- \
			"ibv_${kind}_pingpong" -n 10 -d shca_a -g "$a4" ADDRESS || status=1
	done
	return $status
}
# marked ADDRESS FILE : prints how many packets from there have it
marked() {
	# shellcheck disable=SC2016 # of tcpdump
	tcpdump -nr "$2" "src host $1 and udp dst port 4791 and udp[12] & 0x3f = 0x2b" 2>/dev/null | wc -l
}
# marks FILE OF-A OF-B : at least so many from each; 0: none
marks() {
	local a b
	a=$(marked $ip4_a "$1") b=$(marked $ip4_b "$1")
	echo "$a of a and $b of b are marked"
	[ "$a" -ge "$2" ] && [ "$b" -ge "$3" ] && { [ "$2$3" != 00 ] || [ "$a$b" = 00 ]; }
}
check no_mark_by_default capture /tmp/quiet.pcap "-i veth_a" pingpongs rc
check no_mark_by_default.packets marks /tmp/quiet.pcap 0 0
run in_a softhca dev set shca_a resv8a on
check mark_of_rc capture /tmp/marked.pcap "-i veth_a" pingpongs rc
check mark_of_rc.packets marks /tmp/marked.pcap 10 10
check no_mark_of_uc_and_ud capture /tmp/others.pcap "-i veth_a" pingpongs uc ud
check no_mark_of_uc_and_ud.packets marks /tmp/others.pcap 0 0
run in_b softhca dev set shca_b resv8a off
check off_does_not_answer_marks capture /tmp/off.pcap "-i veth_a" pingpongs rc
off_is_off() { [ "$(marked $ip4_b /tmp/off.pcap)" = 0 ] && [ "$(marked $ip4_a /tmp/off.pcap)" -gt 0 ]; }
check off_is_off off_is_off
