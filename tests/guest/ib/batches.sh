#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Batches of an InfiniBand link: they pass a veth whole, and packets leave one by one
# where they must. A qdisc that wants packets gets them, each with its VCRC. A batch has its
# turn beside lanes of single packets. About 70 seconds, in which perftest begins and ends.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../subnet"

modprobe ib_umad || skip "this kernel has no ib_umad"

# bandwidth SERVER PROGRAM OPTION... : to the device SERVER, from shib_a
bandwidth() { between shib_a "$1" "${@:2}" -F -u 18; }
frames() { in_a cat /sys/class/net/veth_a/statistics/tx_packets; }
damaged() {
	local device sum=0
	for device in shib_a shib_b; do
		sum=$((sum + $(counter $device rx_vcrc_errors) + $(counter $device rx_icrc_errors)))
	done
	echo $sum
}
# left LEAST MOST COMMAND... : it succeeds, with so many frames from veth_a, none of them
# damaged. (A qdisc may change their order: it goes on at another CPU.)
left() {
	local least=$1 most=$2 before bad
	shift 2
	before=$(frames) bad=$(damaged)
	"$@" || return
	[ "$(damaged)" = "$bad" ] || {
		grep -H . /sys/class/infiniband/shib_?/ports/1/hw_counters/* | grep -v ':0$'
		return 1
	}
	before=$(($(frames) - before))
	if [ $before -lt "$least" ] || [ $before -gt "$most" ]; then
		echo "$before frames"
		return 1
	fi
}
# 50 messages of 15 or 16 packets each; few at a time, so that no queue delays them for long
whole() { left 50 400 "$@"; }
split() { left 700 2000 "$@"; }
write=(bandwidth shib_b ib_write_bw -s 65536 -n 50 -t 4)

two_ports 4230
run ip link set lo up
make_active shib_a 1
make_active shib_b 2
# HOQLife infinite. (With its default, 4 s, a machine that needs longer for the packets of a window
# loses what waits behind them. OpenSM sets it at switches only.)
run "$(dirname "$0")/../helpers/ib-port-info.py" shib_a 42 0x1f 20

check write whole "${write[@]}"
check read left 1 400 bandwidth shib_b ib_read_bw -s 65536 -n 50
check send whole bandwidth shib_b ib_send_bw -s 65536 -n 50
check grh whole bandwidth shib_b ib_write_bw -s 65536 -n 50 -x 0
# The last packet of a message is shorter; a list of small ones is a batch, too.
check odd_length whole bandwidth shib_b ib_write_bw -s 61001 -n 50
check list left 10 300 bandwidth shib_b ib_write_bw -s 8 -n 512 -l 16 -t 64
check datagrams bandwidth shib_b ib_send_bw -c UD -s 1024 -n 500 -r 512
check datagrams_grh bandwidth shib_b ib_send_bw -c UD -s 1024 -n 500 -r 512 -x 0
# To itself nothing leaves but hellos.
check itself left 0 200 bandwidth shib_a ib_write_bw -s 65536 -n 400

python3 -c 'import pyverbs.qp' || fail "python3-pyverbs is not installed"
python3 "$(dirname "$0")/../helpers/ib-hidden-smp.py" shib_a shib_b || fail "ib-hidden-smp.py"

# It takes what fits into its bucket: no batch does.
run in_a tc qdisc add dev veth_a root tbf rate 800mbit burst 9000 limit 20m
check split_by_qdisc split "${write[@]}"
check split_grh split "${write[@]}" -x 0
check split_odd_length split bandwidth shib_b ib_write_bw -s 61001 -n 50 -t 4
run in_a tc qdisc del dev veth_a root

run in_a ethtool -K veth_a tx-sctp-segmentation off
check netdev_takes_none split "${write[@]}"
run in_a ethtool -K veth_a tx-sctp-segmentation on
run in_a softhca dev set shib_a path wire
check path_wire split "${write[@]}"
run in_a softhca dev set shib_a path auto
: >/tmp/tcpdump
in_b tcpdump -i veth_b -w /dev/null 2>/tmp/tcpdump &
run wait_for 10 grep -q listening /tmp/tcpdump
check captured split "${write[@]}"
run pkill tcpdump
wait
check whole_again whole "${write[@]}"

# A slow link, with more single packets on two lanes than its window takes: batches of 60
# on a third lane have their turn. (The burst is more than a batch, which tbf would split
# otherwise. Such a link needs a second for all that is under way.)
run in_a tc qdisc add dev veth_a root tbf rate 8mbit burst 300k limit 20m
# singles SL PORT : 150 of 4 KiB are on their way
singles() {
	local words=(ib_write_bw -F -u 20 -S "$1" -p "$2" -s 4096 -q 150 -t 1 -D $((100 * slow)))
	"${words[@]}" -d shib_b >"/tmp/singles.$1.b" 2>&1 &
	at_exit kill -KILL $!
	wait_for 30 listening "" "$2" || return
	"${words[@]}" -d shib_a 127.0.0.1 >"/tmp/singles.$1.a" 2>&1 &
	single[$1]=$!
	at_exit kill -KILL $!
}
declare -A single
waits() { [ "$(counter shib_a tx_credit_waits)" -gt $(($1 + 500)) ]; }
run singles 1 18601
run singles 2 18602
check beside_singles.link_is_full wait_for 60 waits "$(counter shib_a tx_credit_waits)"
# none_dropped SINCE : else says what was, and whether the link went down
none_dropped() {
	[ "$(counter shib_a tx_dropped_locally)" = "$1" ] && return
	grep -H . /sys/class/infiniband/shib_?/ports/1/{hw_counters,counters}/* | grep -v ':0$'
	return 1
}
dropped=$(counter shib_a tx_dropped_locally)
check beside_singles.batches_pass bandwidth shib_b ib_write_bw -S 3 -m 256 -s 61440 -n 5
check beside_singles.nothing_is_lost none_dropped "$dropped"
check beside_singles.they_still_send kill -0 "${single[1]}" "${single[2]}"
