#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Batches, which a netfilter hook takes in the place of UDP: from the system call of
# a firewall in user space (NFQUEUE), and where UDP would refuse their packets
# (IPsec policy, VRF). Each refusal is compared with that of packets that come one
# by one. Batches whose sender rewrites them; what they state as their size. About 40 s.
#
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"

make_pair 9000
rx_packets() { cat /sys/class/infiniband/shca_b/ports/1/hw_counters/rx_packets; }
# what UDP has given to sockets of b, of either family
udp_packets() {
	in_b cat /proc/net/snmp /proc/net/snmp6 |
		awk '/^Udp: [0-9]/ { n += $2 } /^Udp6InDatagrams/ { n += $2 } END { print n }'
}

# ---- in which context: 4 MiB and more of each operation, of which every byte is looked at
declare -A queue
# start_queue NAMESPACE RULE : what RULE says goes through a process
start_queue() {
	: >"/tmp/queue.$1"
	ip netns exec "$1" "$test_programs/nfqueue" 7 >"/tmp/queue.$1" &
	queue[$1]=$!
	at_exit kill $!
	run wait_for 10 grep -q ready "/tmp/queue.$1"
	run ip netns exec "$1" nft "add table inet own; add chain inet own in { type filter hook input priority 0; };
		add rule inet own in udp dport 4791 $2 queue num 7"
}
# end_queue NAMESPACE : there were batches in it
end_queue() {
	run ip netns exec "$1" nft delete table inet own
	kill "${queue[$1]}"
	wait "${queue[$1]}"
	cat "/tmp/queue.$1"
	grep -q 'batches [1-9][0-9]' "/tmp/queue.$1"
}
# queued NAME RULE
queued() {
	for ns in $ns_a $ns_b; do start_queue "$ns" "$2"; done
	check "nfqueue.$1.goes_on" eval 'alive queue && alive queue'
	for ns in $ns_a $ns_b; do check "nfqueue.$1.$ns" end_queue "$ns"; done
}
# (a timeout of 2 s: a process that is scheduled late delays each packet)
hold queue -d shca_a -p shca_b -f 4 -u 19
run wait_for 20 said queue traffic
# Responses take the same locks in softirq meanwhile, and packets of the same QPs.
queued batches 'meta length > 9000'
queued all ''
check nfqueue.still_goes_on alive queue
kill -TERM "${holder[queue]}"
check nfqueue.data_is_right wait "${holder[queue]}"

# ---- whether: between FAMILY [COMMAND...]
pair() {
	local a=ip$1_a b=ip$1_b
	between_pair ibv_rc_pingpong -c -n 20 -s 20000 -d shca_b -g "$(gid_index shca_b "${!b}")" -- \
		timeout $((20 * slow)) ibv_rc_pingpong -c -n 20 -s 20000 -d shca_a \
		-g "$(gid_index shca_a "${!a}")" ADDRESS
}
# as packets or batches
go_as() {
	local path=auto
	[ "$1" = batches ] || path=wire
	run in_a softhca dev set shca_a path $path
}
# passes NAME FAMILY : both do, and that what should be a batch is one
passes() {
	local kind rx udp
	for kind in batches packets; do
		go_as $kind
		rx=$(rx_packets) udp=$(udp_packets)
		check "$1.$kind.ipv$2.pass" pair "$2"
		rx=$(($(rx_packets) - rx)) udp=$(($(udp_packets) - udp))
		echo "received: $rx, by UDP: $udp"
		if [ $kind = batches ]; then
			check "$1.$kind.ipv$2.past_udp" [ $((2 * udp)) -lt $rx ]
		else
			check "$1.$kind.ipv$2.by_udp" [ "$udp" -ge $rx ]
		fi
	done
}
# nothing_comes FAMILY : what is sent does not reach the device
nothing_comes() {
	local before after
	before=$(rx_packets)
	! pair "$1" || return 1
	after=$(rx_packets)
	echo "received: $before, then $after"
	[ "$before" = "$after" ]
}
# refused NAME FAMILY
refused() {
	local kind
	for kind in batches packets; do
		go_as $kind
		check "$1.$kind.ipv$2.refused" nothing_comes "$2"
	done
}

# ---- b's policy: only in ESP
# policy NAMESPACE in|out FROM TO
policy() {
	run ip -n "$1" xfrm policy add src "$3" dst "$4" proto udp dport 4791 dir "$2" \
		tmpl src "$3" dst "$4" proto esp mode transport
}
passes no_policy 4
policy $ns_b in $ip4_a $ip4_b
policy $ns_b in $ip6_a $ip6_b
refused policy 4
refused policy 6

# ---- and now it is in ESP
states() {
	local from to spi
	for ns in $ns_a $ns_b; do
		while read -r from to spi; do
			ip -n "$ns" xfrm state add src "$from" dst "$to" proto esp spi "$spi" mode transport \
				auth 'hmac(sha256)' 0x0123456789abcdef0123456789abcdef \
				enc 'cbc(aes)' 0x0123456789abcdef0123456789abcdef || return 1
		done <<-LIST
			$ip4_a $ip4_b 1
			$ip4_b $ip4_a 2
		LIST
	done
}
if states; then
	policy $ns_a out $ip4_a $ip4_b
	for kind in batches packets; do
		go_as $kind
		check policy.$kind.ipv4.pass_in_esp pair 4
	done
else
	echo "skip policy.pass_in_esp # the kernel has no ESP"
fi
for ns in $ns_a $ns_b; do
	run ip -n "$ns" xfrm policy flush
	run ip -n "$ns" xfrm state flush
done

# ---- b is in a VRF, whose packets UDP gives to the sockets in it only
run in_b sysctl -q net.ipv4.tcp_l3mdev_accept=1
run in_b ip link add vrf_b type vrf table 77
run in_b ip link set vrf_b up
run in_b ip link set veth_b master vrf_b
in_b ip -6 addr add $ip6_b/64 dev veth_b nodad
run wait_for 10 gid_index shca_b $ip4_b
run wait_for 10 gid_index shca_b $ip6_b
run wait_for 10 port_active shca_b
run wait_for 10 in_a ping -q -c 1 -W 1 $ip4_b
run wait_for 10 in_a ping -q -c 1 -W 1 $ip6_b
run in_b sysctl -q net.ipv4.udp_l3mdev_accept=0
refused vrf 4
refused vrf 6
run in_b sysctl -q net.ipv4.udp_l3mdev_accept=1
passes vrf 6

run in_b ip link set veth_b nomaster
in_b ip -6 addr add $ip6_b/64 dev veth_b nodad
run wait_for 10 gid_index shca_b $ip6_b
run wait_for 10 in_a ping -q -c 1 -W 1 $ip6_b

# ---- whose: pages of a batch that its sender rewrites
echo "+ in a: rewrite -d shca_a -p shca_b -f 6"
in_a "$test_programs/rewrite" -d shca_a -p shca_b -f 6 | sed -E 's/^(ok|not ok|skip) /&rewrite./'
[ "${PIPESTATUS[0]}" -le 1 ] || echo "not ok rewrite"

# ---- truesize: the pages of 32 KiB that a batch keeps, not the part that it fills
tracing=/sys/kernel/tracing
[ -e $tracing/events ] || mount -t tracefs tracefs $tracing
states_its_pages() {
	echo 1 >$tracing/events/net/netif_rx_entry/enable
	pair 4
	echo 0 >$tracing/events/net/netif_rx_entry/enable
	sed -n 's/.* data_len=\([0-9]*\) truesize=\([0-9]*\) .* nr_frags=\([0-9]*\) gso_size=\([1-9][0-9]*\) .*/\1 \2 \3/p' \
		$tracing/trace >/tmp/sizes
	echo >$tracing/trace
	awk '$3 { n++; if ($2 < $3 * 32768) { print "data, truesize, pages:", $0; bad = 1 } }
		END { print n + 0, "batches"; exit bad || !n }' /tmp/sizes
}
go_as batches
check truesize.batches_state_their_pages states_its_pages
