#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Which network devices carry a device: bridge, bond, macvlan, dummy, tap, tun, veth;
# and which are refused, with which words. A network device that is enslaved,
# renamed, or gets another MAC address below a device. The log stays silent.
#
# Takes 35 to 55 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

at_exit modprobe -r bonding
state_is() { grep -q "$1" "/sys/class/infiniband/shca_a/ports/1/state"; }
no_gid() { ! gid_index shca_a "$1" >/dev/null; }
# the netdev of a GID is told in its namespace only
netdev_of() { in_a cat "/sys/class/infiniband/shca_a/ports/1/gid_attrs/ndevs/$(gid_index shca_a "$1")"; }
netdev_of_is() { [ "$(netdev_of "$1")" = "$2" ]; }
# (a client of all devices, such as SMC, may say what it likes of ours)
silent_log() { ! kernel_log | grep -E '\] (softhca|infiniband)|speed is unknown|query_port'; }

pair() {
	between_pair ibv_rc_pingpong -c -n 30 -s 20000 -d shca_b -g "$(gid_index shca_b "$2")" -- \
		ibv_rc_pingpong -c -n 30 -s 20000 -d shca_a -g "$(gid_index shca_a "$1")" ADDRESS
}
itself() {
	local gid
	gid=$(gid_index shca_a "$1")
	on_itself ibv_rc_pingpong -c -n 30 -s 20000 -d shca_a -g "$gid" -- \
		ibv_rc_pingpong -c -n 30 -s 20000 -d shca_a -g "$gid" ADDRESS
}

# attach KIND NETDEV : a's addresses move to it, a device is attached before it
# is up
attach() {
	local kind=$1 netdev=$2
	run in_a ip addr flush dev veth_a
	run in_a ip addr add $ip4_a/24 dev "$netdev"
	run in_a ip -6 addr add $ip6_a/64 dev "$netdev" nodad
	at_exit rdma link delete shca_a
	check "$kind.attach" in_a rdma link add shca_a type softhca netdev "$netdev"
	check "$kind.down_at_first" state_is DOWN
	run in_a ip link set "$netdev" up
	check "$kind.active_when_up" wait_for 10 port_active shca_a
	check "$kind.gid_ipv4" wait_for 10 gid_index shca_a $ip4_a
	check "$kind.gid_ipv6" wait_for 10 gid_index shca_a $ip6_a
	check "$kind.gid_netdev" netdev_of_is $ip4_a "$netdev"
}
# carries KIND : traffic to b and to itself
carries() {
	# Linux takes up to 1 s to follow a carrier (linkwatch)
	run wait_for 10 in_a ping -q -c 1 -W 1 $ip6_b
	check "$1.pair_ipv4" pair $ip4_a $ip4_b
	check "$1.pair_ipv6" pair $ip6_a $ip6_b
	check "$1.itself" itself $ip4_a
}

# rename OLD NEW : kernels before 6.2 refuse it while the netdev is up
rename() {
	in_a ip link set "$1" name "$2" && return
	in_a sysctl -q net.ipv6.conf.all.keep_addr_on_down=1 && in_a ip link set "$1" down &&
		in_a ip link set "$1" name "$2" && in_a ip link set "$2" up
}

modprobe -a softhca dummy macvlan tun bonding || fail "a module is missing"
log_mark
make_namespaces 1500
add_device shca_b veth_b $ns_b
run wait_for 10 gid_index shca_b $ip4_b
run wait_for 10 gid_index shca_b $ip6_b

# ---- a bridge over a veth
run in_a ip link add br_a type bridge
run in_a ip link set veth_a master br_a
attach bridge br_a
carries bridge
run rdma link delete shca_a
run in_a ip link del br_a

# ---- a macvlan on a veth
run in_a ip link add mv_a link veth_a type macvlan mode bridge
attach macvlan mv_a
carries macvlan
run rdma link delete shca_a
run in_a ip link del mv_a

# ---- a bond over two veths: one fails
run in_a ip link add veth_a2 type veth peer name veth_b2 netns $ns_b
run in_b ip link add br_b type bridge
run in_b ip link set veth_b master br_b
run in_b ip link set veth_b2 master br_b
# (but for its link-local address: Linux asks for a neighbour on its own, be it to see
# whether it is still there, from no other, so one that was heard of once would be
# lost for good 8 s later)
run in_b ip addr flush dev veth_b scope global
run in_b ip addr add $ip4_b/24 dev br_b
run in_b ip -6 addr add $ip6_b/64 dev br_b nodad
run in_b ip link set br_b up
run in_b ip link set veth_b2 up
run in_a ip link add bond_a type bond mode active-backup miimon 20
run in_a ip link set veth_a down
run in_a ip link set veth_a master bond_a
run in_a ip link set veth_a2 master bond_a
attach bond bond_a
# shca_b is on veth_b, which is in br_b now: the bridge's addresses are its GIDs
check enslaved.gid_ipv4 wait_for 10 gid_index shca_b $ip4_b
check enslaved.gid_ipv6 wait_for 10 gid_index shca_b $ip6_b
carries bond
hold failover -d shca_a -p shca_b
check bond.traffic wait_for 20 said failover traffic
active_slave() { in_a cat /sys/class/net/bond_a/bonding/active_slave; }
active_is_not() { [ "$(active_slave)" != "$1" ]; }
slave=$(active_slave)
run in_a ip link set "$slave" down
check bond.fails_over wait_for 10 active_is_not "$slave"
check bond.qp_lives alive failover
kill "${holder[failover]}"
wait "${holder[failover]}"
run rdma link delete shca_a
run in_a ip link del bond_a
run in_a ip link del veth_a2
run in_b ip link del br_b
run in_b ip addr add $ip4_b/24 dev veth_b
run in_b ip -6 addr add $ip6_b/64 dev veth_b nodad

# ---- a veth: renamed and with another MAC address below the device
run in_a ip link set veth_a down
attach veth veth_a
run wait_for 10 gid_index shca_b $ip4_b
run wait_for 10 gid_index shca_b $ip6_b
carries veth
run rename veth_a eth_a
check renamed.device_stays wait_for 5 state_is ACTIVE
check renamed.gid_netdev wait_for 5 netdev_of_is $ip4_a eth_a
check renamed.link_shows_it bash -c "ip netns exec $ns_a rdma link show shca_a/1 | grep -q 'netdev eth_a'"
run rename eth_a veth_a
# A real HCA's default GID is made of the MAC address: it goes and comes.
run in_a ip link set veth_a address 02:00:00:77:00:0a
check other_mac.default_gid wait_for 10 gid_index shca_a fe80::ff:fe77:a
check other_mac.gid_ipv4 wait_for 10 gid_index shca_a $ip4_a
check other_mac.gid_ipv6 wait_for 10 gid_index shca_a $ip6_a
run in_b ip neigh flush dev veth_b
check other_mac.pair_ipv4 pair $ip4_a $ip4_b
# What is built upon the netdev, to any height: a VLAN on a macvlan. Its address
# is a GID, rdma_cm's packets to it are taken, those from it leave by it.
run in_a ip link add mv_a link veth_a type macvlan mode bridge
run in_a ip link set mv_a up
run in_a ip link add link mv_a name mv_a.7 type vlan id 7
run in_b ip link add link veth_b name veth_b.7 type vlan id 7
run in_a ip addr add 10.78.7.1/24 dev mv_a.7
run in_b ip addr add 10.78.7.2/24 dev veth_b.7
run in_a ip link set mv_a.7 up
run in_b ip link set veth_b.7 up
check upper.gid wait_for 10 gid_index shca_a 10.78.7.1
run wait_for 10 gid_index shca_b 10.78.7.2
check upper.pair pair 10.78.7.1 10.78.7.2
to_upper() {
	local pid status=0
	ip netns exec $ns_a rping -s -V -C 3 -a 10.78.7.1 >/tmp/rping 2>&1 &
	pid=$!
	wait_for 10 eval "rdma resource show cm_id | grep -q 'state LISTEN.* pid $pid '" || status=1
	in_b timeout $((20 * slow)) rping -c -V -C 3 -a 10.78.7.1 || status=1
	[ $status = 0 ] || kill $pid
	wait $pid || status=1
	cat /tmp/rping
	return $status
}
check upper.rdma_cm to_upper
run in_a ip link del mv_a.7
run in_a ip link del mv_a
run in_b ip link del veth_b.7
run rdma link delete shca_a

# ---- a dummy
run in_a ip link add dummy_a type dummy
attach dummy dummy_a
check dummy.itself itself $ip4_a
check dummy.itself_ipv6 itself $ip6_a
run rdma link delete shca_a
run in_a ip link del dummy_a

# (the program's own lines would be counted as tests)
no_raw_packet() { in_a "$test_programs/personality" -d shca_a no_raw_packet no_flow | sed 's/^/  /'; return "${PIPESTATUS[0]}"; }

# ---- two taps, then two of bare IP packets, and a program that carries frames from one to the other
for kind in tap tun; do
	"$test_programs/guest/helpers/tap-pair.py" ${kind}_a ${kind}_b &
	at_exit kill $!
	taps=$!
	run wait_for 10 test -e /sys/class/net/${kind}_b
	run ip link set ${kind}_a netns $ns_a
	run ip link set ${kind}_b netns $ns_b
	[ $kind = tun ] || run rdma link delete shca_b
	run in_b ip addr flush dev veth_b
	run in_b ip addr add $ip4_b/24 dev ${kind}_b
	run in_b ip -6 addr add $ip6_b/64 dev ${kind}_b nodad
	run in_b ip link set ${kind}_b up
	add_device shca_b ${kind}_b $ns_b
	attach $kind ${kind}_a
	run wait_for 10 gid_index shca_b $ip4_b
	run wait_for 10 gid_index shca_b $ip6_b
	carries $kind
	[ $kind = tap ] || check tun.no_raw_packet no_raw_packet
	[ $kind = tap ] || check tun.guid eval '! grep -qE "^(0000:|0200:00ff:fe00:)" /sys/class/infiniband/shca_a/node_guid'
	kill $taps
	check $kind.both_end_with_the_program wait_for 10 eval 'device_is_gone shca_a && device_is_gone shca_b'
done
check log_is_silent silent_log

# ---- refused: link_refused NETDEV HINT : EINVAL, and one line with the reason
link_refused() {
	log_mark
	! in_a rdma link add shca_x type softhca netdev "$1" >/tmp/refused 2>&1 || return
	cat /tmp/refused
	kernel_log
	grep -q 'Invalid argument' /tmp/refused && device_is_gone shca_x &&
		[ "$(kernel_log | grep -c .)" = 1 ] && kernel_log | grep -q "softhca: shca_x: .* $1: .*$2"
}
run in_a ip link add link veth_a name veth_a.5 type vlan id 5
check refused.vlan link_refused veth_a.5 "attach to its parent"
run in_a ip link add ipip_a type ipip local 10.1.1.1 remote 10.1.1.2
check refused.ipip link_refused ipip_a 'not an Ethernet device'
add_device shca_x veth_a $ns_a
same_name() {
	! in_a rdma link add shca_x type softhca netdev veth_a >/tmp/refused 2>&1 || return
	cat /tmp/refused
	grep -q 'File exists' /tmp/refused
}
check refused.name_taken same_name
run rdma link delete shca_x

# ---- netdevs without a speed, in each way of asking (K5)
quiet() {
	ibv_devinfo -v -d shca_a >/dev/null && cat /sys/class/infiniband/shca_a/ports/1/rate &&
		rdma link show shca_a/1 && silent_log
}
run in_a ip link add dummy_a type dummy
run in_a ip link add mv_a link dummy_a type macvlan
run in_a ip link add br_a type bridge
for netdev in dummy_a mv_a br_a lo; do
	log_mark
	run in_a ip link set $netdev up
	at_exit rdma link delete shca_a
	run in_a rdma link add shca_a type softhca netdev $netdev
	check "speed.$netdev" quiet
	run rdma link delete shca_a
done

# ---- netdevs that go while the core looks at their port (K6)
rounds=${SHCA_SOAK:+50}
rounds=${rounds:-5}
log_mark
gone() {
	local i
	for ((i = 0; i < rounds; i++)); do
		in_a ip link add dummy_g type dummy || return
		in_a rdma link add shca_g type softhca netdev dummy_g || return
		in_a ip link set dummy_g up
		wait_for 10 port_active shca_g || return
		in_a ip link del dummy_g	# its last event is of the port
		wait_for 10 device_is_gone shca_g || return
	done
}
check netdevs_go gone
check netdevs_go.log_is_silent silent_log

# ---- rdma_cm over 127.0.0.1 is refused by the RDMA core, at once and in words
add_device shca_a lo $ns_a
run wait_for 10 gid_index shca_a 127.0.0.1
refused_by_cm() {
	! in_a timeout $((10 * slow)) rping -c -C 1 -a 127.0.0.1 >/tmp/rping 2>&1 || return
	cat /tmp/rping
	grep -q 'Network is unreachable\|No such device' /tmp/rping
}
check lo_without_rdma_cm refused_by_cm
