#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The direct path: taken between QPs of one namespace and nowhere else, with the
# data of the wire, and changed for the wire and back in mid-traffic.
#
# timeout: 400
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 1500
add_device shca_c veth_a "$ns_a"
run wait_for 10 gid_index shca_c $ip4_a

lo_packets() { in_a cat /sys/class/net/lo/statistics/tx_packets; }

# pingpong HOW DEVICE_AND_ADDRESS OF SERVER, OF CLIENT, ARGUMENT... : data checked
pingpong() {
	local how=$1 program=$2 server_dev=$3 server_ip=$4 client=$5 client_ip=$6
	shift 6
	"$how" "$program" -c -d "$server_dev" -g "$(gid_index "$server_dev" "$server_ip")" "$@" -- \
		"$program" -c -d "$client" -g "$(gid_index "$client" "$client_ip")" "$@" ADDRESS
}

# goes direct|packets COMMAND... : it succeeds, and travels that way
goes() {
	local way=$1 before lo
	shift
	before=$(counter shca_a tx_direct_packets) lo=$(lo_packets)
	"$@" || return 1
	before=$(($(counter shca_a tx_direct_packets) - before)) lo=$(($(lo_packets) - lo))
	echo "direct packets: $before, packets of lo: $lo"
	case $way in
	direct) [ "$before" -gt 100 ] && [ $((lo * 4)) -lt "$before" ] ;;	# lo has the TCP of the programs
	packets) [ "$before" = 0 ] ;;
	esac
}

for size in 1 5000 300001; do
	check itself_$size goes direct pingpong on_itself ibv_rc_pingpong shca_a $ip4_a shca_a $ip4_a -n 100 -s $size
done
check itself_ipv6 goes direct pingpong on_itself ibv_rc_pingpong shca_a $ip6_a shca_a $ip6_a -n 100 -s 5000
check itself_events goes direct pingpong on_itself ibv_rc_pingpong shca_a $ip4_a shca_a $ip4_a -n 100 -e
check itself_uc goes direct pingpong on_itself ibv_uc_pingpong shca_a $ip4_a shca_a $ip4_a -n 100 -s 9000
check two_devices goes direct pingpong on_itself ibv_rc_pingpong shca_c $ip4_a shca_a $ip4_a -n 100 -s 5000
check between_namespaces goes packets pingpong between_pair ibv_rc_pingpong shca_b $ip4_b shca_a $ip4_a -n 100 -s 5000

# datagrams: each for itself; while somebody watches lo they are packets
ud_goes() {
	check "$1" goes "$2" pingpong "$3" ibv_ud_pingpong "${@:4}" -n 200 -s 500
}
ud_watched() {
	capture /tmp/ud.pcap "-i lo" goes packets \
		pingpong on_itself ibv_ud_pingpong shca_a $ip4_a shca_a $ip4_a -n 100 -s 500 || return 1
	tcpdump -nr /tmp/ud.pcap 2>/dev/null | wc -l | tee /dev/stderr | grep -q '^[2-9][0-9][0-9]$'
}
ud_goes ud direct on_itself shca_a $ip4_a shca_a $ip4_a
ud_goes ud_ipv6 direct on_itself shca_a $ip6_a shca_a $ip6_a
ud_goes ud_two_devices direct on_itself shca_c $ip4_a shca_a $ip4_a
ud_goes ud_between_namespaces packets between_pair shca_b $ip4_b shca_a $ip4_a
check ud_watched ud_watched
ud_goes ud_no_longer_watched direct on_itself shca_a $ip4_a shca_a $ip4_a
check many_qps goes direct on_itself ib_write_bw -F -d shca_a -x "$(gid_index shca_a $ip4_a)" -q 16 -n 50 -- \
	ib_write_bw -F -d shca_a -x "$(gid_index shca_a $ip4_a)" -q 16 -n 50 ADDRESS

# either end can ask for packets
for device in shca_a shca_c; do
	run in_a softhca dev set $device path wire
	check wire_of_$device goes packets pingpong on_itself ibv_rc_pingpong \
		shca_c $ip4_a shca_a $ip4_a -n 100 -s 5000
	ud_goes ud_wire_of_$device packets on_itself shca_c $ip4_a shca_a $ip4_a
	run in_a softhca dev set $device path auto
done

# between namespaces only where both ends ask for that, and each names the other
pair_goes() {
	check "$1" goes "$2" pingpong between_pair ibv_rc_pingpong shca_b $ip4_b shca_a $ip4_a -n 100 -s 5000
}
run ip -n "$ns_a" link add dummy_x type dummy
run ip netns add shca-other
at_exit ip netns del shca-other
run ip -n "$ns_a" link set dummy_x netns shca-other
run ip netns exec shca-other rdma link add shca_x type softhca netdev dummy_x
at_exit rdma link delete shca_x
run in_a softhca dev set shca_a path host peer shca_b
pair_goes host_and_auto packets
run in_b softhca dev set shca_b path host peer shca_x
pair_goes host_that_names_another packets
run in_b softhca dev set shca_b path host peer shca_x,shca_a
pair_goes host_and_host direct
run in_a softhca dev set shca_a path host peer shca_x
pair_goes host_no_longer_named packets
# a device, and not its name, is trusted
run in_a softhca dev set shca_a path host peer shca_b
run rdma link delete shca_b
add_device shca_b veth_b "$ns_b"
run wait_for 10 gid_index shca_b $ip4_b
run in_b softhca dev set shca_b path host peer shca_a
pair_goes another_of_that_name packets
run in_a softhca dev set shca_a path host peer shca_b
check host_uc goes direct pingpong between_pair ibv_uc_pingpong shca_b $ip4_b shca_a $ip4_a -n 100 -s 9000
check host_itself goes direct pingpong on_itself ibv_rc_pingpong shca_a $ip4_a shca_a $ip4_a -n 100
verbs host rc_errors -d shca_a -p shca_b -f 4
run in_a softhca dev set shca_a path wire
pair_goes wire_and_host packets

run in_a softhca dev set shca_a path auto
run in_b softhca dev set shca_b path auto

changes() {
	while :; do
		in_a softhca dev set shca_a path wire || return 1
		sleep 0.05
		in_a softhca dev set shca_a path auto || return 1
		sleep 0.05
	done
}
# changing HOW COMMAND... : COMMAND succeeds while HOW goes on
changing() {
	local pid status=0
	$1 &
	pid=$!
	shift
	"$@" || status=$?
	kill $pid
	wait $pid
	[ $? = 143 ] && return $status
}
check changing changing changes pingpong on_itself ibv_rc_pingpong shca_a $ip4_a shca_a $ip4_a -n 3000 -s 20000
check changing_reads changing changes on_itself \
	ib_read_bw -F -d shca_a -x "$(gid_index shca_a $ip4_a)" -s 65536 -n 1000 -- \
	ib_read_bw -F -d shca_a -x "$(gid_index shca_a $ip4_a)" -s 65536 -n 1000 ADDRESS
