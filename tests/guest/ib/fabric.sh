#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Four real ports behind softhca-fabric: two leaves and two spines in a process, a TAP for
# each port, a namespace for each host, OpenSM on the first one. Every transport, IPoIB and
# multicast between all pairs, ways as the counters of switches show them, simulated hosts
# beside the real ones, a capture; a cable that is cut, and the process killed and started
# again, under traffic.
#
# timeout: 900
# shellcheck disable=SC2086 # (numbers of hosts are single words)
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../scenario"
. "$(dirname "$0")/../subnet"

needs_fabric
modprobe ib_ipoib || skip "this kernel has no ib_ipoib"

helpers=$(dirname "$0")/../helpers
hosts="1 2 3 4"

# Port 5 of a leaf is a simulated host; ports 3 and 4 lead to the spines.
topology() {
	local leaf spine n
	for leaf in 1 2; do
		echo "Switch 8 \"S-leaf$leaf\" # \"leaf $leaf\" enhanced port 0"
		echo "[3] \"S-spine1\"[$leaf]"
		echo "[4] \"S-spine2\"[$leaf]"
		for n in 1 2; do echo "[$n] \"H-$((2 * leaf - 2 + n))\"[1]"; done
		echo "[5] \"H-simulated$leaf\"[1]"
	done
	for spine in 1 2; do echo "Switch 8 \"S-spine$spine\" # \"spine $spine\" enhanced port 0"; done
	for n in $hosts; do echo "Ca 1 \"H-$n\" # \"host $n\""; done
	for n in 1 2; do echo "Ca 1 \"H-simulated$n\" # \"simulated $n\""; done
}
topology >/tmp/fabric.topo

# start_fabric : says ready once the TAPs are there
start_fabric() {
	local taps=() n
	for n in $hosts; do taps+=(--tap "H-$n=shib_tap$n"); done
	softhca-fabric "${taps[@]}" /tmp/fabric.topo >/tmp/fabric.log 2>&1 &
	fabric=$!
	wait_for 20 grep -qx ready /tmp/fabric.log || { cat /tmp/fabric.log; return 1; }
}
for n in $hosts; do
	run ip tuntap add shib_tap$n mode tap
	at_exit ip link delete shib_tap$n
	run ip link set shib_tap$n mtu 4230 up
done
run start_fabric
at_exit kill -9 $fabric
for n in $hosts; do add_port shib$n shib_tap$n; done
patient_opensm
for n in $hosts; do check active.$n wait_for 60 has shib$n state ACTIVE; done

lid() { printf %d "$(attribute shib"$1" lid)"; }
check ibnetdiscover asks '"simulated 2"' ibnetdiscover -C shib1
check ibnetdiscover.nodes [ "$(grep -c '^Switch\|^Ca' /tmp/out)" = 10 ]
leaf2=$(sed -n 's/^Switch.*"leaf 2" enhanced port 0 lid \([0-9]*\).*/\1/p' /tmp/out)
check perfquery.simulated asks PortXmitPkts perfquery -C shib2 "$leaf2" 5
check iblinkinfo asks 'leaf 1' iblinkinfo -C shib4
check smpquery.simulated asks 'simulated 1' smpquery -C shib2 -D nodedesc 0,1,5

# ---- every transport, each pair
pairs() {
	local a b status=0
	for a in $hosts; do
		for b in $hosts; do
			[ "$a" = "$b" ] || between shib"$a" shib"$b" "$@" || { echo "host $a to host $b"; status=1; }
		done
	done
	return $status
}
# (ibv_rc_pingpong gives up after half a second, in which a busy machine may not run the process)
check pairs.rc pairs ib_send_lat -F -u 18 -n 20
for kind in uc ud xsrq; do
	check pairs.$kind pairs ibv_${kind}_pingpong -n 20
done
check write_bw between shib1 shib4 ib_write_bw -F -s 65536 -n 200
check read_bw between shib4 shib1 ib_read_bw -F -s 65536 -n 200
check send_bw between shib2 shib3 ib_send_bw -F -c UD -s 4096 -n 200

# ---- the way
# sent SWITCH PORT : packets that it has sent there
sent() { perfquery -C shib1 -x "$1" "$2" | sed -n 's/^PortXmitPkts:\.*//p'; }
way() {
	ibtracert -C shib1 "$(lid 1)" "$(lid 4)" | sed -n 's/^\[\([0-9]*\)\] -> .*lid \([0-9]*\)-[0-9]* .*/\1 \2/p' >/tmp/way
	[ "$(wc -l </tmp/way)" = 4 ]
}
check ibtracert way
# A hop's line has the port by which it leaves the switch of the line before.
grows() {
	local lid out next counts=() hop=0
	while read -r out next; do
		[ $hop = 0 ] || counts+=("$lid $out $(sent "$lid" "$out")")
		lid=$next hop=$((hop + 1))
	done </tmp/way
	between shib1 shib4 ib_write_bw -F -s 4096 -n 500 || return
	for row in "${counts[@]}"; do
		set -- $row
		[ $(($(sent "$1" "$2") - $3)) -ge 500 ] || { echo "switch $1 port $2 has sent less"; return 1; }
	done
}
check way_has_the_packets grows

# ---- IPoIB
for n in $hosts; do
	run ip netns add shib_ns$n
	at_exit ip netns delete shib_ns$n
	run ip -n shib_ns$n link set lo up
	enter shib_ns$n shib$n 10.79.0.$n
done
in_host() { ip netns exec shib_ns"$1" "${@:2}"; }
ping_pairs() {
	local a b
	for a in $hosts; do
		for b in $hosts; do
			[ "$a" = "$b" ] || wait_for 20 in_host "$a" ping -c 1 -W 2 10.79.0."$b" >/dev/null || { echo "$a to $b"; return 1; }
		done
	done
}
check ipoib ping_pairs
for n in 2 3 4; do
	: >/tmp/multicast$n
	in_host $n "$helpers/multicast.py" ip0 239.1.2.3 receive >/tmp/multicast$n 2>&1 &
	receiver[n]=$!
	run wait_for 20 test -s /tmp/multicast$n
done
# A member joins while the first datagrams pass: each is sent until all have one.
to_all() {
	local n
	in_host 1 "$helpers/multicast.py" ip0 239.1.2.3 send
	for n in 2 3 4; do is_over ${receiver[n]} || return 1; done
}
check multicast wait_for 20 to_all
for n in 2 3 4; do check multicast.$n wait ${receiver[n]}; done

# ---- nothing was lost, and OpenSM found nothing wrong
losses() {
	# (A port counts what it sends before it is Active.)
	ibqueryerrors -C shib1 --switch --suppress PortXmitWait >/tmp/out 2>&1
	! grep -E '\[[A-Z]' /tmp/out
}
check nothing_is_lost_and_no_link_went_down losses
no_errors() { ! opensm_errors "$@"; }
check opensm_has_no_errors no_errors

# ---- a capture of an edge
tcpdump --immediate-mode -U -w /tmp/frames.pcap -i shib_tap4 ether proto 0x88b5 2>/tmp/tcpdump &
tcpdump=$!
run wait_for 10 grep -q listening /tmp/tcpdump
check capture.traffic between shib1 shib4 ibv_rc_pingpong -n 20
dissect() {
	sleep 1
	kill $tcpdump
	wait $tcpdump
	"$helpers/ib-pcap.py" /tmp/frames.pcap /tmp/packets.pcap &&
		tshark -r /tmp/packets.pcap -T fields -E 'separator=;' -e infiniband.bth.opcode -e _ws.malformed \
			2>/dev/null >/tmp/fields
	[ "$(wc -l </tmp/fields)" -gt 20 ] && ! grep -v ';$' /tmp/fields
}
if command -v tshark >/dev/null; then check capture.tshark dissect; fi

# ---- traffic that has to go on, whatever happens
ib_write_bw -F -d shib4 -u 18 -D $((20 * slow)) >/tmp/server 2>&1 &
server=$!
wait_for 20 listening "" 18515
ib_write_bw -F -d shib1 -u 18 -D $((20 * slow)) 127.0.0.1 >/tmp/client 2>&1 &
client=$!
flows() { [ "$(counter shib4 rx_packets)" -gt $((before + 500)) ]; }
before=$(counter shib4 rx_packets)
check traffic wait_for 30 flows

# ---- the cable to one of the two spines is cut: OpenSM hears trap 128 and chooses the other one
check cut.way way
{ read -r _ leaf; read -r out spine; } </tmp/way
other_way() { way && [ "$(sed -n 2p /tmp/way)" != "$out $spine" ]; }
check cut ibportstate -C shib1 "$leaf" "$out" disable
check cut.other_way wait_for 30 other_way
before=$(counter shib4 rx_packets)
check cut.traffic wait_for 30 flows
check mended ibportstate -C shib1 "$leaf" "$out" enable
check mended.active wait_for 60 asks 'LinkState:\.*Active' smpquery -C shib1 portinfo "$leaf" "$out"

# ---- the process
for signal in 9 15; do
	kill -$signal $fabric
	check killed.$signal wait_for 10 has shib4 state DOWN
	run start_fabric
	for n in $hosts; do check killed.$signal.active.$n wait_for 60 has shib$n state ACTIVE; done
	before=$(counter shib4 rx_packets)
	check killed.$signal.traffic wait_for 60 flows
done
check client wait $client
check server wait $server
