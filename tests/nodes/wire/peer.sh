#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two machines find out that the other is a softhca: by what librdmacm carries (ECE), or
# by the mark that one of them begins with; strangers do not. Peers that know each other
# send again what was lost and nothing else.
. "$(dirname "$0")/../lib.sh"

# known 0|1 : what the QP here knows of its peer
known() {
	rdma -dd resource show qp link shca0/1 |
		awk -v is="drv_peer_known $1 " '/lqpn/ { rc = /type RC state RTS/ } rc && index($0, is) { found = 1 } END { exit !found }'
}
both_say() { known "$1" && on node2 bash -c "$(declare -f known); known $1"; }

# meanwhile NAME KNOWN SERVER... -- CLIENT... : what both machines say while these run
meanwhile() {
	local name=$1 is=$2 pid
	shift 2
	between_nodes "$@" >/tmp/meanwhile 2>&1 &
	pid=$!
	check "$name" wait_for 30 both_say "$is"
	pkill -x "$program"
	wait "$pid"
}

make_nodes 1500
gid_1=$(gid_index shca0 $ip4_1)
gid_2=$(remote node2 gid_index shca0 $ip4_2)
pingpong=(ibv_rc_pingpong -d shca0 -n 1000000)

program=rping
meanwhile ece.known 1 rping -s -C 1000000 -a $ip4_2 -- rping -c -C 1000000 -a $ip4_2
program=ibv_rc_pingpong
meanwhile strangers 0 "${pingpong[@]}" -g "$gid_2" -- "${pingpong[@]}" -g "$gid_1" $ip4_2
run on node2 softhca dev set shca0 resv8a on
meanwhile one_mark_is_enough 1 "${pingpong[@]}" -g "$gid_2" -- "${pingpong[@]}" -g "$gid_1" $ip4_2
run on node2 softhca dev set shca0 resv8a auto

# 300 x 64 packets, of which 1% is lost. (One drop is one packet.)
run ip link set eth0 gso_max_segs 1
run tc qdisc add dev eth0 root netem loss 1% limit 20000
at_exit tc qdisc del dev eth0 root
before=$(counter shca0 tx_packets)
write=(ib_write_bw -F -R -d shca0 -s 65536 -n 300)
check loss.ends between_nodes "${write[@]}" -- "${write[@]}" $ip4_2
sent=$(($(counter shca0 tx_packets) - before))
lost=$(tc -s qdisc show dev eth0 | sed -n 's/.*dropped \([0-9]*\).*/\1/p' | head -n 1)
echo "sent $sent, lost $lost"
check loss.there_was [ "$lost" -gt 20 ]
check loss.what_was_lost_is_sent_again [ "$sent" -lt $((300 * 64 + 3 * lost + 200)) ]
