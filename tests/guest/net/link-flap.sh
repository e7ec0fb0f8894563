#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A link that goes down and a network device that changes its MTU are loss, no
# more: queue pairs live through what their retries last for, and end with
# RETRY_EXC_ERR after that.
#
# Takes about 75 s. The sleeps are how long the link is down.
#
# timeout: 180
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

moving() { [ "$(counter shca_a tx_packets)" -gt $((before + 200)) ]; }

# blip NAMESPACE NETDEV SECONDS down | MTU : so long it is down or has this MTU.
# One process that has started: starting one takes longer than that here.
blip() {
	ip netns exec "$1" "$test_programs/guest/helpers/netdev-blip.py" "$2" "$3" "$4"
}

# perf_flap SECONDS OPTION... : so many messages that the flap comes amid them;
# all of them complete
perf_flap() {
	local seconds=$1 server client status=0
	shift
	before=$(counter shca_a tx_packets)
	ip netns exec $ns_b ib_write_bw -F -d shca_b -x "$gid_b" -s 65536 -n 8000 "$@" >/tmp/flap.b 2>&1 &
	server=$!
	wait_for 20 listening $ns_b 18515 || return
	ip netns exec $ns_a ib_write_bw -F -d shca_a -x "$gid_a" -s 65536 -n 8000 "$@" $ip4_b >/tmp/flap.a 2>&1 &
	client=$!
	wait_for 20 moving || status=1
	blip $ns_a veth_a "$seconds" down || status=1
	is_over $client && { echo "it was over before the link came back"; status=1; }
	wait_for 30 is_over $client || { kill $client; status=1; }
	wait_for 10 is_over $server || { kill $server; status=1; }
	wait $client || status=1
	wait $server || status=1
	cat /tmp/flap.a
	grep -qE '^ *65536 +8000 ' /tmp/flap.a && return $status
}

# lives NAME COMMAND... : COMMAND happens under the holder, which goes on
lives() {
	local name=$1
	shift
	alive "$name" && "$@" && alive "$name"
}
# stop NAME [MS] : it had no error, and was silent for so long once; less 50 ms, in
# which it may not have come to look at what came before
stop() {
	kill "${holder[$1]}"
	wait "${holder[$1]}"
	cat "/tmp/hold.$1"
	! grep -q ^ended: "/tmp/hold.$1" &&
		[ "$(sed -n 's/^longest silence \([0-9]*\) ms$/\1/p' "/tmp/hold.$1")" -ge $((${2-50} - 50)) ]
}

make_pair 1500
# IPv6 addresses go with the link otherwise
for ns in $ns_a $ns_b; do
	run ip netns exec "$ns" sysctl -q net.ipv6.conf.all.keep_addr_on_down=1
done
gid_a=$(gid_index shca_a $ip4_a)
gid_b=$(gid_index shca_b $ip4_b)
check perftest_defaults_0.3_s perf_flap 0.3
check perftest_timeout_18_2_s perf_flap 2 -u 18

# ---- either side, either family. Linux repeats a lost ARP request or neighbour
# solicitation after 1 s, more than timeout 14 leaves; so connections do without.
while read -r family timeout end ns netdev; do
	name=${end}_end_ipv$family
	# (0.3 s are longer on a slow machine, and a time-out is not)
	[ "$slow" -lt 3 ] || timeout=18
	# connecting does need the neighbour
	run wait_for 10 in_a ping -q -c 1 -W 1 $ip6_b
	hold "$name" -d shca_a -p shca_b -f "$family" -u "$timeout"
	run wait_for 20 said "$name" traffic
	check "$name.0.3_s" lives "$name" blip "$ns" "$netdev" 0.3 down
	check "$name.no_error" stop "$name" 300
done <<-END
	4 14 near $ns_a veth_a
	4 14 far $ns_b veth_b
	6 14 near $ns_a veth_a
	6 14 far $ns_b veth_b
END

# ---- for good: 8 times 67 ms at least, four times that at most (IBTA 9.7.6.1.3)
silent_between() {
	local ms
	ms=$(sed -n 's/^silent \([0-9]*\) ms$/\1/p' "/tmp/hold.$1")
	echo "RETRY_EXC_ERR $ms ms after the last success"
	[ "$ms" -ge "$2" ] && [ "$ms" -le "$3" ]
}
while read -r end ns netdev; do
	hold "short_$end" -d shca_a -p shca_b -f 4
	hold "long_$end" -d shca_a -p shca_b -f 4 -u 18
	for name in short long; do run wait_for 20 said "${name}_$end" traffic; done
	run ip -n "$ns" link set "$netdev" down
	sleep 2
	check "$end.two_seconds_end_timeout_14" wait_for 1 said "short_$end" 'ended: transport retry'
	check "$end.ended_in_time" silent_between "short_$end" 540 2200
	run ip -n "$ns" link set "$netdev" up
	check "$end.two_seconds_leave_timeout_18" alive "long_$end"
	check "$end.no_error_timeout_18" stop "long_$end" 2000
	kill "${holder[short_$end]}"
	wait "${holder[short_$end]}"
done <<-END
	near $ns_a veth_a
	far $ns_b veth_b
END

# ---- MTU
# (0.3 s are longer on a slow machine here, too)
timeout=14
[ "$slow" -lt 3 ] || timeout=18
hold mtu1024 -d shca_a -p shca_b
run wait_for 20 said mtu1024 traffic
run in_a ip link set veth_a mtu 1300
run in_b ip link set veth_b mtu 1300
check netdev_mtu_1300_path_mtu_1024 alive mtu1024
run in_a ip link set veth_a mtu 9000
run in_b ip link set veth_b mtu 9000
check netdev_mtu_9000_path_mtu_1024 alive mtu1024
check no_error_path_mtu_1024 stop mtu1024
mtu_is_4096() { ibv_devinfo -d "$1" | grep -q 'active_mtu:.*4096'; }
for device in shca_a shca_b; do run wait_for 5 mtu_is_4096 $device; done
# no_exception FAMILY : the host does not take the path for narrower than the link
no_exception() {
	ip -n $ns_a "-$1" route show cache
	! ip -n $ns_a "-$1" route show cache | grep -q -w mtu
}
for family in 4 6; do
	# Small packets still pass, and tell of the loss of large ones.
	hold mtu4096_ipv$family -d shca_a -p shca_b -f $family -u "$timeout"
	run wait_for 20 said mtu4096_ipv$family traffic
	# a's end refuses longer packets both ways
	check "netdev_mtu_1500_path_mtu_4096_ipv$family" lives mtu4096_ipv$family blip $ns_a veth_a 0.3 1500
	check "no_error_path_mtu_4096_ipv$family" stop mtu4096_ipv$family 300
	check "no_narrow_path_is_remembered_ipv$family" no_exception $family
done
