#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Every carrier that RoCE is used on, with verified traffic, and what disturbs it: a bond
# and a team that fail over, a bridge that learns anew, macvlan, VRF, vxlan, IPsec, XDP.
# Then NAT, which changes addresses that the ICRC covers: packets are refused, and counted.
#
# CARRIER_SECONDS (make soak: 60, else 4) of each; CARRIERS="bond vrf": only these
# timeout: 400
# soak: yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

seconds=${CARRIER_SECONDS:-${SHCA_SOAK:+60}}
seconds=${seconds:-4}

# carrier NAME SETUP DISTURBANCE : a new pair of namespaces; SETUP makes netdev_a and
# netdev_b with the addresses
carrier() {
	local name=$1 end
	[[ " ${CARRIERS-$name} " == *" $name "* ]] || return
	$2 || { check "$name.setup" false; tear_down; return; }
	rdma link show >/tmp/links
	add_device shca_a "$netdev_a" $ns_a
	add_device shca_b "$netdev_b" $ns_b
	run wait_for 20 gid_index shca_a $ip4_a
	run wait_for 20 gid_index shca_b $ip4_b
	# shellcheck disable=SC2086 # several words, or none
	run wait_for 20 in_a ${in_vrf-} ping -q -c 1 -W 1 "$ip4_b"
	start_traffic "$name" shca_a shca_b -f 4 -u 18
	end=$((SECONDS + seconds))
	while [ $SECONDS -lt $end ] && traffic_is_alive "$name"; do
		$3 || { check "$name.disturbance" false; break; }
		sleep 0.5
	done
	check "$name" end_traffic "$name"
	check "$name.moved" grep -q 'rc: [1-9][0-9]* rounds verified' "/tmp/traffic.$name"
	tear_down
}
tear_down() {
	rdma link delete shca_a 2>/dev/null
	rdma link delete shca_b 2>/dev/null
	[ ! -e /run/teamd/team_a.pid ] || teamd --kill --team-dev team_a
	ip netns del $ns_a
	ip netns del $ns_b
	in_vrf=''
}
two_namespaces() {
	make_namespaces 1500
	netdev_a=veth_a netdev_b=veth_b
}
# the addresses of veth_$1 go to another netdev of that namespace
moves() {
	local end=$1 netdev=$2 ip4=ip4_$1
	ip -n "shca-$end" addr flush dev "veth_$end" scope global
	ip -n "shca-$end" addr add "${!ip4}/24" dev "$netdev"
	ip -n "shca-$end" link set "$netdev" up
	printf -v "netdev_$end" %s "$netdev"
}
nothing() { :; }

bridge() {
	two_namespaces
	in_a ip link add br_a type bridge && in_a ip link set veth_a master br_a && moves a br_a
}
bridge_forgets() { in_a bridge fdb flush dev br_a 2>/dev/null; in_a ip link set veth_a nomaster && in_a ip link set veth_a master br_a; }

# two cables, with a bridge at their other end
two_cables() {
	two_namespaces
	ip link add veth_a2 netns $ns_a type veth peer name veth_b2 netns $ns_b
	in_b ip link add br_b type bridge && in_b ip link set veth_b master br_b && in_b ip link set veth_b2 master br_b &&
		in_b ip link set veth_b2 up && moves b br_b
}

bond() {
	two_cables || return
	in_a ip link add bond_a type bond mode active-backup miimon 20
	in_a ip link set veth_a down
	in_a ip link set veth_a master bond_a && in_a ip link set veth_a2 master bond_a && moves a bond_a
}
bond_fails_over() {
	local slave
	slave=$(in_a cat /sys/class/net/bond_a/bonding/active_slave)
	in_a ip link set "$slave" down && sleep 0.2 && in_a ip link set "$slave" up
}

# (The kernel's part alone leaves a port its MAC address in this mode: teamd sets the team's.)
team() {
	two_cables || return
	in_a ip link set veth_a down
	in_a teamd --daemonize --team-dev team_a --config '{"runner": {"name": "activebackup"},
		"link_watch": {"name": "ethtool"}, "ports": {"veth_a": {}, "veth_a2": {}}}' &&
		moves a team_a
}
team_fails_over() {
	local port
	port=$(in_a teamdctl team_a state item get runner.active_port)
	in_a ip link set "$port" down && sleep 0.2 && in_a ip link set "$port" up
}

macvlan() {
	two_namespaces
	in_a ip link add mv_a link veth_a type macvlan mode bridge && moves a mv_a
}

vrf() {
	two_namespaces
	in_a ip link add vrf_a type vrf table 100 && in_a ip link set vrf_a up && in_a ip link set veth_a master vrf_a
	# (the port is a socket of no VRF)
	in_a sysctl -qw net.ipv4.udp_l3mdev_accept=1
	in_vrf='ip vrf exec vrf_a'
}

vxlan() {
	local end own other
	two_namespaces
	for end in a b; do
		own=10.70.0.1 other=10.70.0.2
		[ $end = a ] || own=10.70.0.2 other=10.70.0.1
		ip -n shca-$end link add vx_$end type vxlan id 5 remote $other dstport 4789 dev veth_$end || return
		moves $end vx_$end
		ip -n shca-$end addr add $own/24 dev veth_$end
	done
}

ipsec() {
	local end from to way spi dir
	local auth_key enc_key
	printf -v auth_key '0x%064d' 1
	printf -v enc_key '0x%032d' 2
	two_namespaces
	for end in a b; do
		for way in "$ip4_a $ip4_b 0x100" "$ip4_b $ip4_a 0x200"; do
			read -r from to spi <<<"$way"
			ip -n shca-$end xfrm state add src "$from" dst "$to" proto esp spi "$spi" mode transport \
				auth 'hmac(sha256)' "$auth_key" enc 'cbc(aes)' "$enc_key" || return
			dir=in
			case $end.$from in "a.$ip4_a" | "b.$ip4_b") dir=out ;; esac
			ip -n shca-$end xfrm policy add src "$from" dst "$to" dir "$dir" \
				tmpl src "$from" dst "$to" proto esp mode transport || return
		done
	done
}

xdp_program() { # two instructions: r0 = XDP_PASS; exit
	mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf || return
	[ -e /sys/fs/bpf/pass ] || "$test_programs/guest/helpers/xdp-pass.py" /sys/fs/bpf/pass
}
xdp() { two_namespaces; xdp_program; }
xdp_comes_and_goes() {
	# (ip itself mounts a file system of its own in a namespace)
	nsenter --net=/run/netns/$ns_a ip link set dev veth_a "${1-xdpdrv}" pinned /sys/fs/bpf/pass && sleep 0.3 &&
		in_a ip link set dev veth_a "${1-xdpdrv}" off
}
xdp_generic_comes_and_goes() { xdp_comes_and_goes xdpgeneric; }

modprobe -a softhca bonding team_mode_activebackup macvlan vrf vxlan esp4 xfrm_user dummy 2>/dev/null
carrier veth two_namespaces nothing
carrier bridge bridge bridge_forgets
carrier bond bond bond_fails_over
carrier team team team_fails_over
carrier macvlan macvlan nothing
carrier vrf vrf nothing
carrier vxlan vxlan nothing
carrier ipsec ipsec nothing
carrier xdp xdp xdp_comes_and_goes
carrier xdp_generic xdp xdp_generic_comes_and_goes

# ---- NAT: what arrives has another source than what was sent, and than the QP's peer
two_namespaces
add_device shca_a veth_a $ns_a
add_device shca_b veth_b $ns_b
run wait_for 20 gid_index shca_a $ip4_a
run wait_for 20 gid_index shca_b $ip4_b
before=$(counter shca_b rx_path_mismatch)
run in_a nft -f - <<-END
	table ip nat {
		chain post {
			type nat hook postrouting priority srcnat;
			udp dport 4791 snat to 10.77.0.77
		}
	}
END
run in_a ip addr add 10.77.0.77/24 dev veth_a
! "$test_programs/traffic" -d shca_a -p shca_b -f 4 -q rc -u 8 -n 5 >/tmp/traffic.nat 2>&1
check nat.ends_in_an_error grep -q 'transport retry counter exceeded' /tmp/traffic.nat
check nat.is_counted [ "$(counter shca_b rx_path_mismatch)" -gt "$before" ]
cat /tmp/traffic.nat
run in_a nft delete table ip nat
check nat.works_without "$test_programs/traffic" -d shca_a -p shca_b -f 4 -n 20
